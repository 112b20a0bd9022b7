"""What readers of formats hand over, and what callers get.

A reader turns one format into drafts: what the source says, in its order, uncleaned. `assemble`
turns drafts into conversations. Adding a format means one more file with a `Format` in it and one
more line in `sniff.py`; nothing here knows any format.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rulemem.types import Turn

_LARGEST_ID = 10**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Something that did not become (part of) a turn, or not as it was written."""

    where: str  # place in the source: "messages[3]", "line 12", "D3:7"
    reason: str
    kept: bool = False  # True: a note about a turn that was kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as it can be stored: clean turns in order, and what was left out."""

    id: str
    turns: tuple[Turn, ...]
    skipped: tuple[Skip, ...] = ()
    format: str = ""  # name of the format that was recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One turn as the source has it."""

    where: str  # place in the source, for messages
    speaker: str
    text: str
    caption: str = ""  # description of an attached image
    said_at: object = None  # text, seconds or milliseconds since 1970, datetime, date, or None
    session: str = ""
    key: str | None = None  # identity within the conversation, where the format has one


Item: TypeAlias = Utterance | Skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One conversation of a source. `items` may be lazy: unselected ones are never read."""

    id: str | None  # None: the source does not name it
    items: Iterable[Item]
    title: str = ""  # a second name by which it can be selected


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A way in which conversations are written down."""

    name: str  # as shown to users
    shape: str  # one phrase that shows how it looks, for the error of an unknown shape
    recognises: Callable[[object], bool]  # by content; cheap, never raises
    read: Callable[[object], list[Draft]]  # raises InputError


def as_mapping(value: object) -> Mapping[object, object] | None:
    """Return a JSON object, or a model of a client library, as a mapping; else None."""
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        dumped = dump()
        return dumped if isinstance(dumped, Mapping) else None
    return None


def as_list(value: object) -> list[object] | None:
    """Return a list or tuple as a list; else None."""
    return list(value) if isinstance(value, list | tuple) else None


def as_label(value: object) -> str:
    """Return an id or a name that is text or a whole number as text; else ""."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < _LARGEST_ID else ""
    return value if isinstance(value, str) else ""


def shown(value: object, *, width: int = 60) -> str:
    """Return a short printable form of an offending value, however deep or long it is."""
    short = reprlib.Repr()
    short.maxlevel = 2
    short.maxstring = short.maxother = width
    try:
        return short.repr(value)
    except ValueError:  # an integer with thousands of digits
        return f"a very large {type(value).__name__}"


def described(value: object) -> str:
    """Say what a value of unknown shape is, without showing all of it."""
    if isinstance(value, list | tuple):
        if not value or isinstance(value[0], list | tuple):
            return f"a list of {len(value)}" + (" lists" if value else "")
        return f"a list of {len(value)} whose first item is {described(value[0])}"
    if isinstance(value, Mapping):
        keys = ", ".join(shown(key) for key in list(value)[:8])
        return f"an object with the keys {keys}" if keys else "an object without keys"
    if isinstance(value, str):
        return f"text that begins {shown(value[:60])}"
    return f"of type {type(value).__name__}: {shown(value)}"
