"""LongMemEval: one instance or a list of them, in the original form.

An instance is a haystack of dated chat sessions with one question about them. The conversation is
named by the question, sessions keep their ids and their order, and turn n of a session has the key
"<session id>:<n>", n from 1. It does not know questions and answers: they belong to the benchmark.

Source: Wu et al., "LongMemEval" (ICLR 2025).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rulemem.errors import InputError
from rulemem.formats.records import (
    Draft,
    Format,
    Item,
    Utterance,
    as_label,
    as_list,
    as_mapping,
    described,
)

_SHAPE = (
    '{"question_id": ..., "haystack_sessions": [[{"role", "content"}, ...], ...], '
    '"haystack_dates": [...], "haystack_session_ids": [...]}'
)


def _recognises(source: object) -> bool:
    return any("haystack_sessions" in (as_mapping(item) or {}) for item in _instances(source))


def _read(source: object) -> list[Draft]:
    drafts = []
    for index, instance in enumerate(_instances(source)):
        fields = as_mapping(instance) or {}
        sessions = as_list(fields.get("haystack_sessions"))
        if sessions is None:
            raise InputError(
                f"instance {index} is {described(instance)}.",
                hint=f"A LongMemEval instance is {_SHAPE}.",
            )
        name = as_label(fields.get("question_id"))
        drafts.append(Draft(id=name or None, items=_read_sessions(fields, sessions)))
    return drafts


def _instances(source: object) -> list[object]:
    items = as_list(source)
    return [source] if items is None else items


def _read_sessions(fields: Mapping[object, object], sessions: list[object]) -> Iterator[Item]:
    dates = as_list(fields.get("haystack_dates")) or []
    ids = as_list(fields.get("haystack_session_ids")) or []
    for index, session in enumerate(sessions):
        turns = as_list(session)
        if turns is None:
            raise InputError(
                f"haystack_sessions[{index}] is {described(session)}.",
                hint="A session is a list of turns.",
            )
        label = as_label(ids[index]) if index < len(ids) else ""
        label = label or f"session_{index + 1}"
        said_at = dates[index] if index < len(dates) else None
        for number, turn in enumerate(turns, start=1):
            yield _read_turn(turn, f"{label}:{number}", session=label, said_at=said_at)


def _read_turn(turn: object, key: str, *, session: str, said_at: object) -> Utterance:
    fields = as_mapping(turn) or {}
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(role, str) or not isinstance(content, str):
        raise InputError(
            f"turn {key} is {described(turn)}.", hint="A turn has a role and a content."
        )
    return Utterance(
        where=key, speaker=role, text=content, said_at=said_at, session=session, key=key
    )


LONGMEMEVAL = Format(name="LongMemEval", shape=_SHAPE, recognises=_recognises, read=_read)
