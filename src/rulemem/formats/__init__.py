"""Conversations as people have them on disk or in hand, read into turns.

    source ──> source.py ──> sniff.py ──> one reader per format ──> assemble.py ──> Conversation
               bytes, JSON   by content   says what stands there    cleans, dates, keys, splits

Nothing in this folder knows the store or a model.
"""

from rulemem.formats.records import Conversation, Skip
from rulemem.formats.sniff import Source, read_conversations

__all__ = ["Conversation", "Skip", "Source", "read_conversations"]
