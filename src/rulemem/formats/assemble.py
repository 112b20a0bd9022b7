"""Drafts become conversations: text cleaned, dates read, keys given, long turns split.

What it promises, whatever the format: no turn without something to read in it, no two turns with
one key, the same keys when the same source is read again, and a note for everything that was left
out or not understood. It does not know any format.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, time

from rulemem.dates import parse_timestamp
from rulemem.formats.chunks import split_long
from rulemem.formats.clean import clean_name, clean_text, is_blank
from rulemem.formats.records import Conversation, Draft, Skip, Utterance, shown
from rulemem.types import Turn

_KEY_DIGITS = 16  # of the sha256 in hexadecimal: 64 bits
_LAST_EPOCH = 1e15  # a larger number is no time since 1970, in seconds or in milliseconds


def assemble(draft: Draft, id: str, *, format: str) -> Conversation:
    """Return the conversation that a draft stands for.

    Args:
        draft: What a reader found; its items are read once.
        id: Name of the conversation.
        format: Name of the format, kept for messages.
    """
    work = _Assembly(id)
    for item in draft.items:
        if isinstance(item, Skip):
            work.skipped.append(item)
        else:
            work.add(item)
    return Conversation(id=id, turns=tuple(work.turns), skipped=tuple(work.skipped), format=format)


class _Assembly:
    """The turns of one conversation in the making."""

    def __init__(self, id: str) -> None:
        self.turns: list[Turn] = []
        self.skipped: list[Skip] = []
        self._id = id
        self._repeats: Counter[str] = Counter()  # content hash -> how often it occurred
        self._given: dict[str, set[tuple[str, str]]] = {}  # external key -> (speaker, content)s
        self._taken: set[str] = set()  # keys of stored turns
        self._instants: dict[str, datetime | None] = {}  # text of a date -> its reading

    def add(self, said: Utterance) -> None:
        """Add one utterance, as one turn or as several parts."""
        text, caption = clean_text(said.text), clean_text(said.caption)
        if is_blank(text) and is_blank(caption):
            self.skipped.append(Skip(where=said.where, reason="empty: nothing to read in it"))
            return
        turn = Turn(
            conversation=self._id,
            session=" ".join(clean_text(said.session).split()),
            key="",
            speaker=clean_name(said.speaker),
            text="" if is_blank(text) else text,
            caption="" if is_blank(caption) else caption,
            said_at=self._instant(said),
        )
        key = self._key(turn, said)
        if key is None:
            return
        for part in split_long(replace(turn, key=key)):
            unique = self._unique(part.key)
            self.turns.append(replace(part, key=unique, position=len(self.turns)))

    def _key(self, turn: Turn, said: Utterance) -> str | None:
        """Return the key of a turn, or None if the source repeats it as it stands."""
        given = "" if said.key is None else " ".join(clean_text(said.key).split())
        if is_blank(given):
            digest = _content_hash(turn)
            self._repeats[digest] += 1
            return f"{digest}#{self._repeats[digest]}"
        content = (turn.speaker, turn.content)
        before = self._given.setdefault(given, set())
        if content in before:
            reason = f"repeats the turn with the id {shown(given)}"
            self.skipped.append(Skip(where=said.where, reason=reason))
            return None
        if before:
            reason = f"the id {shown(given)} belongs to an earlier turn too; numbered to keep both"
            self.skipped.append(Skip(where=said.where, reason=reason, kept=True))
        before.add(content)
        return given

    def _unique(self, key: str) -> str:
        """Return `key`, numbered if another turn has it, and take it."""
        unique, number = key, 1
        while unique in self._taken:
            number += 1
            unique = f"{key}#{number}"
        self._taken.add(unique)
        return unique

    def _instant(self, said: Utterance) -> datetime | None:
        """Read when something was said; what cannot be read is unknown, and noted."""
        value = said.said_at
        if isinstance(value, str):
            value = clean_text(value)
            if not value:
                return None
            if value not in self._instants:
                self._instants[value] = parse_timestamp(value)
            instant = self._instants[value]
        else:
            instant = _exact_instant(value)
        if instant is None and value is not None:
            reason = f"date not understood: {shown(value)}"
            self.skipped.append(Skip(where=said.where, reason=reason, kept=True))
        return instant


def _exact_instant(value: object) -> datetime | None:
    """Read a date that is not text: a datetime, a date, or seconds or milliseconds since 1970."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, int | float) and 0 < value < _LAST_EPOCH:
        return parse_timestamp(value)
    return None


def _content_hash(turn: Turn) -> str:
    """Return what identifies a turn that carries no id: who said what, when, in which session."""
    said_at = turn.said_at.isoformat() if turn.said_at else ""
    fields = (turn.session, turn.speaker, said_at, turn.content)
    return hashlib.sha256("\x1f".join(fields).encode()).hexdigest()[:_KEY_DIGITS]
