"""Very long turns, cut so that the embedding model sees every part of them.

all-MiniLM-L6-v2 reads 256 word pieces and ignores the rest. Word pieces cannot be counted without
its tokenizer, which this module does not know; it estimates instead: in English prose a piece is
about four characters, while a digit is half a piece and punctuation or a letter of another script
is one. A length is therefore stated in characters of plain prose, of which a Chinese character
counts four. Assumption: the estimate errs on the long side for prose; dense program code and
random strings can exceed the window by up to a third, and full-text search covers them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from rulemem.errors import ConfigError
from rulemem.types import Turn

MAX_CHARS = 1000  # characters of plain prose; leaves room for a speaker's name in 256 pieces

_DENSE = 4  # one word piece
_DIGIT = 2
_UNBROKEN = 3  # a letter or digit far inside a run that is not a word
_WORD = 12  # letters; longer runs are identifiers, hashes, compounds
_CAPTION_FRAME = 16  # what "[image: ...]" adds

# Where to cut, best first: after a paragraph, a line, a sentence, a clause, a word.
_BOUNDARIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n\s*\n",
        r"\n",
        r"[.!?…؟।][\"'”’»)\]]*\s|[。！？][”’」』）]*",
        r"[;:,،]\s|[，、；：]",
        r"\s",
    )
)
_EARLIEST = (0.5, 0.5, 0.3, 0.6, 0.0)  # least share of the window that a cut must leave filled
_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER = 16  # characters; how far a hard cut moves back to keep an emoji whole


def split_long(turn: Turn, *, max_chars: int = MAX_CHARS) -> list[Turn]:
    """Split a turn that is longer than the embedding model reads.

    Args:
        turn: Any turn; one that fits comes back alone and unchanged.
        max_chars: Length of a part in characters of plain prose (see the module header).

    Returns:
        Parts in order, with keys "<key>/1", "<key>/2", ... and all else as in `turn`. Their texts
        joined are the text of the turn up to white space at the cuts. A caption goes with the last
        part if it fits there, else into parts of its own.
    """
    if max_chars < 2 * _DENSE:
        raise ConfigError(f"max_chars must be at least {2 * _DENSE}, got {max_chars}")
    texts = list(_cut(turn.text, max_chars)) if turn.text else []
    captions = list(_cut(turn.caption, max_chars)) if turn.caption else []
    parts = [(text, "") for text in texts]
    if len(captions) == 1 and parts and _fits(texts[-1], captions[0], max_chars):
        parts[-1] = (texts[-1], captions.pop())
    parts += [("", caption) for caption in captions]
    if len(parts) <= 1:
        return [turn]
    return [
        replace(turn, key=f"{turn.key}/{number}", text=text, caption=caption)
        for number, (text, caption) in enumerate(parts, start=1)
    ]


def _fits(text: str, caption: str, max_chars: int) -> bool:
    """Whether a text and its caption fit into one part."""
    limit = max_chars - _CAPTION_FRAME
    return _reach(text + caption, 0, limit) == len(text) + len(caption)


def _cut(text: str, max_chars: int) -> Iterator[str]:
    """Yield the parts of a text, each within `max_chars` and without white space at its ends."""
    if len(text) * _DENSE <= max_chars:  # the usual case: fits whatever it is made of
        yield text
        return
    start = 0
    while start < len(text):
        end = _reach(text, start, max_chars)
        if end < len(text):
            end = _boundary(text, start, end)
        part = text[start:end].strip() if start or end < len(text) else text
        if part:
            yield part
        start = end


def _reach(text: str, start: int, max_chars: int) -> int:
    """Return how far from `start` a part of `max_chars` reaches; at least one character."""
    used = run = 0
    for index in range(start, len(text)):
        character = text[index]
        run = run + 1 if character.isalnum() else 0
        used += _length(character, run)
        if used > max_chars and index > start:
            return index
    return len(text)


def _length(character: str, run: int) -> int:
    """Return what a character counts, in characters of plain prose."""
    if not character.isascii():
        return _DENSE
    if run > _WORD:
        return _UNBROKEN
    if character.isdigit():
        return _DIGIT
    return 1 if character.isalpha() or character.isspace() else _DENSE


def _boundary(text: str, start: int, end: int) -> int:
    """Return the best place to cut in `text[start:end]`, after its first character."""
    for pattern, share in zip(_BOUNDARIES, _EARLIEST, strict=True):
        earliest = start + max(1, int((end - start) * share))
        # One character more than the window: a boundary may be the space right after it.
        cuts = [m.end() for m in pattern.finditer(text, start, min(end + 1, len(text)))]
        inside = [cut for cut in cuts if earliest <= cut <= end + 1]
        if inside:
            return inside[-1]
    return _hard_cut(text, start, end)


def _hard_cut(text: str, start: int, end: int) -> int:
    """Return a cut at or shortly before `end` that does not fall inside one visible character."""
    for cut in range(end, max(start, end - _LONGEST_CLUSTER), -1):
        if not _continues(text[cut]) and text[cut - 1] != _ZERO_WIDTH_JOINER:
            return cut
    return end


def _continues(character: str) -> bool:
    """Whether a character attaches to the one before: accent, joiner, skin tone, selector."""
    return (
        unicodedata.category(character) in ("Mn", "Mc", "Me")
        or character == _ZERO_WIDTH_JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
