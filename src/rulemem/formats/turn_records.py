"""Turns as this package has them: `Turn` records, the same fields as JSON, or bare strings.

Conversations, sessions, keys, captions and dates are kept; ids and extraction states belong to
the store that a turn came from and are not. Strings in a list are turns of the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rulemem.errors import InputError
from rulemem.formats.records import Draft, Format, Item, Utterance, as_list, as_mapping, described
from rulemem.types import Turn

USER = "user"  # the speaker of a bare string

_SHAPE = '{"speaker": "Ann", "text": "..."}'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """The fields of a turn that are read."""

    conversation: str = ""
    session: str = ""
    key: str = ""
    speaker: str
    text: str
    caption: str = ""
    said_at: object = None


def _recognises(source: object) -> bool:
    if isinstance(source, str):
        return False  # a transcript, perhaps
    items = _items(source)
    if items and all(isinstance(item, str) for item in items):
        return True
    return any(isinstance(item, Turn) or "speaker" in (as_mapping(item) or {}) for item in items)


def _read(source: object) -> list[Draft]:
    by_name: dict[str, list[tuple[str, _Record]]] = {}
    for index, item in enumerate(_items(source)):
        where = f"turns[{index}]"
        record = _record(item, where)
        by_name.setdefault(record.conversation, []).append((where, record))
    return [Draft(id=name or None, items=_utterances(said)) for name, said in by_name.items()]


def _items(source: object) -> list[object]:
    items = as_list(source)
    return [source] if items is None else items


def _utterances(records: Sequence[tuple[str, _Record]]) -> Iterator[Item]:
    for where, record in records:
        yield Utterance(
            where=where,
            speaker=record.speaker,
            text=record.text,
            caption=record.caption,
            said_at=record.said_at,
            session=record.session,
            key=record.key or None,
        )


def _record(item: object, where: str) -> _Record:
    """Read one item of any of the three kinds."""
    if isinstance(item, str):
        return _Record(speaker=USER, text=item)
    mapping = asdict(item) if isinstance(item, Turn) else as_mapping(item)
    if mapping is None or "text" not in mapping or "speaker" not in mapping:
        raise InputError(f"{where} is {described(item)}.", hint=f"A turn is {_SHAPE}.")
    return _Record(
        conversation=_text(mapping, "conversation", where),
        session=_text(mapping, "session", where),
        key=_text(mapping, "key", where),
        speaker=_text(mapping, "speaker", where),
        text=_text(mapping, "text", where),
        caption=_text(mapping, "caption", where),
        said_at=mapping.get("said_at"),
    )


def _text(fields: Mapping[object, object] | Mapping[str, object], name: str, where: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{name!r} of {where} is {described(value)}.", hint=f"{name!r} is text.")
    return value


TURN_RECORDS = Format(
    name="turn records",
    shape=f"[{_SHAPE}, ...], with session, key, caption, said_at where known",
    recognises=_recognises,
    read=_read,
)
