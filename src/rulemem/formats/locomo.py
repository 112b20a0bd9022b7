"""LoCoMo: the official file, one sample of it, or only the `conversation` of a sample.

A sample holds `session_1`, `session_2`, ... with the date of each in `session_1_date_time`; all
turns of a session share its date, and their order is their position. Dates of sessions that do
not exist are ignored, images count by their `blip_caption`. It does not know the questions: they
belong to the benchmark.

Source: Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (2024).
"""

from __future__ import annotations

import re
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

_SESSION = re.compile(r"session_([0-9]{1,9})")
_SHAPE = '{"sample_id": ..., "conversation": {"session_1": [{"speaker", "dia_id", "text"}, ...]}}'


def _recognises(source: object) -> bool:
    items = as_list(source)
    return any(_sessions(item) for item in ([source] if items is None else items))


def _read(source: object) -> list[Draft]:
    items = as_list(source)
    drafts = []
    for index, sample in enumerate([source] if items is None else items):
        if not _sessions(sample):
            raise InputError(
                f"sample {index} is {described(sample)}.", hint=f"A LoCoMo sample is {_SHAPE}."
            )
        name = as_label((as_mapping(sample) or {}).get("sample_id"))
        drafts.append(Draft(id=name or None, items=_read_sessions(sample)))
    return drafts


def _conversation(sample: object) -> Mapping[object, object]:
    """Return the mapping that holds the sessions."""
    fields = as_mapping(sample) or {}
    return as_mapping(fields.get("conversation")) or fields


def _sessions(sample: object) -> list[tuple[int, str]]:
    """Return number and key of each session, in the order of the numbers."""
    keys = [key for key in _conversation(sample) if isinstance(key, str)]
    matches = [match for match in map(_SESSION.fullmatch, keys) if match]
    return sorted((int(match[1]), match[0]) for match in matches)


def _read_sessions(sample: object) -> Iterator[Item]:
    conversation = _conversation(sample)
    for _, session in _sessions(sample):
        turns = as_list(conversation[session])
        if turns is None:
            raise InputError(
                f"{session} is {described(conversation[session])}.",
                hint=f"A LoCoMo sample is {_SHAPE}.",
            )
        said_at = conversation.get(f"{session}_date_time")
        for index, turn in enumerate(turns):
            yield _read_turn(turn, f"{session}[{index}]", session=session, said_at=said_at)


def _read_turn(turn: object, where: str, *, session: str, said_at: object) -> Utterance:
    fields = as_mapping(turn) or {}
    text, speaker = fields.get("text"), fields.get("speaker")
    caption, key = fields.get("blip_caption"), fields.get("dia_id")
    if not isinstance(text, str) or not isinstance(speaker, str):
        raise InputError(
            f"{where} is {described(turn)}.", hint="A turn has a speaker, a dia_id and a text."
        )
    return Utterance(
        where=key if isinstance(key, str) else where,
        speaker=speaker,
        text=text,
        caption=caption if isinstance(caption, str) else "",
        said_at=said_at,
        session=session,
        key=key if isinstance(key, str) else None,
    )


LOCOMO = Format(name="LoCoMo", shape=_SHAPE, recognises=_recognises, read=_read)
