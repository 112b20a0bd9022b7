"""Chat messages in the manner of OpenAI: {"role": ..., "content": ...}.

A list of messages, one message, a request body {"messages": [...]}, or JSON lines of either.
`name` is the speaker, else the role. Read besides: `id`, `session`, and the date in `timestamp`,
`created_at` or `date`. Instructions and tool traffic are not dialogue: skipped, with a reason.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from rulemem.errors import InputError
from rulemem.formats.content_parts import Content, read_content
from rulemem.formats.records import (
    Draft,
    Format,
    Item,
    Skip,
    Utterance,
    as_label,
    as_list,
    as_mapping,
    described,
    shown,
)

_SPEAKING = ("user", "assistant")
_NOT_DIALOGUE = ("system", "developer", "tool", "function")
_DATE_KEYS = ("timestamp", "created_at", "date")
_NAME_KEYS = ("id", "conversation_id", "conversation")  # of a body that holds messages
_CALLS = ("tool_calls", "function_call", "refusal", "audio")  # stand in for the content
_SHAPE = '{"role": "user" | "assistant", "content": "..."}'


def _recognises(source: object) -> bool:
    items = as_list(source)
    if items is None:
        items = [source]
    return any(
        "role" in fields or as_list(fields.get("messages")) is not None
        for fields in map(as_mapping, items)
        if fields is not None
    )


def _read(source: object) -> list[Draft]:
    items = as_list(source)
    if items is None:
        items = [source]
    bodies = [as_mapping(item) for item in items]
    if not any(body is not None and "messages" in body for body in bodies):
        return [Draft(id=None, items=_read_messages(items, "messages"))]
    drafts = []
    for number, body in enumerate(bodies):
        place = f"bodies[{number}].messages" if len(bodies) > 1 else "messages"
        messages = as_list(body.get("messages")) if body is not None else None
        if body is None or messages is None:
            raise InputError(
                f"item {number} is {described(items[number])}.",
                hint='Other items are {"messages": [...]}: give each conversation that way.',
            )
        fallback = f"conversation-{number + 1}" if len(bodies) > 1 else None
        drafts.append(Draft(id=_body_name(body) or fallback, items=_read_messages(messages, place)))
    return drafts


def _body_name(body: Mapping[object, object]) -> str | None:
    """Return the name that a body gives its conversation."""
    names = (as_label(body.get(key)) for key in _NAME_KEYS)
    return next((name for name in names if name.strip()), None)


def _read_messages(messages: Sequence[object], place: str) -> Iterator[Item]:
    for index, message in enumerate(messages):
        where = f"{place}[{index}]"
        fields = as_mapping(message)
        if fields is None:
            raise InputError(f"{where} is {described(message)}.", hint=f"A message is {_SHAPE}.")
        yield from _read_message(fields, where)


def _read_message(fields: Mapping[object, object], where: str) -> Iterator[Item]:
    """Yield the turn of one message, or why there is none."""
    role = _role(fields, where)
    if role in _NOT_DIALOGUE:
        yield Skip(where=where, reason=f"role {role!r} is not dialogue")
        return
    content = _content(fields, where)
    for kind in content.left_out:
        yield Skip(where=where, reason=f"part of type {kind!r}: nothing to read in it", kept=True)
    if not content.text and not content.caption and _calls(fields):
        yield Skip(where=where, reason=f"no text, only {_calls(fields)}")
        return
    yield Utterance(
        where=where,
        speaker=_string(fields, "name", where) or role,
        text=content.text,
        caption=content.caption,
        said_at=next((fields[key] for key in _DATE_KEYS if fields.get(key) is not None), None),
        session=_string(fields, "session", where, numbers=True),
        key=_string(fields, "id", where, numbers=True) or None,
    )


def _role(fields: Mapping[object, object], where: str) -> str:
    role = fields.get("role")
    normal = role.strip().lower() if isinstance(role, str) else ""
    if normal in _SPEAKING or normal in _NOT_DIALOGUE:
        return normal
    raise InputError(
        f"the role of {where} is {shown(role)}.",
        hint=f"Roles are {', '.join(_SPEAKING + _NOT_DIALOGUE)}. "
        'A person who is neither has a name: {"role": "user", "name": "Ann", "content": "..."}.',
    )


def _content(fields: Mapping[object, object], where: str) -> Content:
    """Read the content, or what stands in for it when a model refuses, speaks or calls a tool."""
    if "content" not in fields and not _calls(fields):
        named = [key for key in fields if isinstance(key, str)]
        near = difflib.get_close_matches("content", named, n=1)
        hint = f"Rename {near[0]!r} to 'content'." if near else f"A message is {_SHAPE}."
        raise InputError(
            f"{where} has no 'content', only {', '.join(map(shown, named))}.", hint=hint
        )
    content = read_content(fields.get("content"), where=where)
    if content.text or content.caption:
        return content
    spoken: object = fields.get("refusal")
    audio = as_mapping(fields.get("audio"))
    if not isinstance(spoken, str) and audio is not None:
        spoken = audio.get("transcript")
    return Content(text=spoken, left_out=content.left_out) if isinstance(spoken, str) else content


def _calls(fields: Mapping[object, object]) -> str:
    """Name what a message carries instead of content, or return ""."""
    return next((key for key in _CALLS if fields.get(key)), "")


def _string(fields: Mapping[object, object], key: str, where: str, *, numbers: bool = False) -> str:
    """Return an optional text field, "" if absent; a number counts as text where it is a label."""
    value = fields.get(key)
    if value is None:
        return ""
    if isinstance(value, str) or (numbers and as_label(value)):
        return as_label(value)
    raise InputError(f"{key!r} of {where} is {described(value)}.", hint=f"{key!r} is text.")


OPENAI_MESSAGES = Format(
    name="OpenAI messages",
    shape=f"[{_SHAPE}, ...], also as JSON lines",
    recognises=_recognises,
    read=_read,
)
