"""Conversations from any source: recognised by content, never by file name.

The order of the formats matters only where one shape contains another: a LongMemEval turn is also
a chat message. Unknown shapes raise, and so does an unknown conversation; nothing is guessed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from rulemem.errors import InputError
from rulemem.formats.assemble import assemble
from rulemem.formats.chatgpt_export import CHATGPT_EXPORT
from rulemem.formats.clean import clean_text, is_blank
from rulemem.formats.locomo import LOCOMO
from rulemem.formats.longmemeval import LONGMEMEVAL
from rulemem.formats.openai_messages import OPENAI_MESSAGES
from rulemem.formats.records import Conversation, Draft, Format, Skip, described, shown
from rulemem.formats.source import Opened, open_source
from rulemem.formats.transcript import TRANSCRIPT
from rulemem.formats.turn_records import TURN_RECORDS
from rulemem.types import Turn

Source: TypeAlias = str | os.PathLike[str] | Turn | Mapping[str, Any] | Iterable[Any]
"""A path; text (a transcript, JSON, or one turn of the user); or data, such as messages."""

DEFAULT_CONVERSATION = "default"  # where neither the source nor the caller names one

FORMATS = (LOCOMO, LONGMEMEVAL, CHATGPT_EXPORT, OPENAI_MESSAGES, TURN_RECORDS, TRANSCRIPT)

_MOST_NAMES = 12  # shown in an error


def read_conversations(source: Source, *, conversation: str | None = None) -> list[Conversation]:
    """Read all conversations of a source, or one of them. Nothing is written.

    Args:
        source: A path, text, messages, turns, strings, or parsed JSON of a known format.
        conversation: The one to select from a source that names its conversations; the name to
            give where the source names none.

    Returns:
        Conversations in the order of the source; without turns where nobody says anything.

    Raises:
        InputError: The source cannot be read, or has no such conversation.
    """
    wanted = None if conversation is None else " ".join(clean_text(conversation).split())
    if wanted is not None and is_blank(wanted):
        raise InputError(f"the conversation is {shown(conversation)}.", hint="Give it a name.")
    opened = open_source(source)
    if _is_empty(opened.value):
        nothing = Skip(where=opened.name, reason="empty: nobody says anything")
        return [Conversation(id=wanted or DEFAULT_CONVERSATION, turns=(), skipped=(nothing,))]
    form, value = _recognise(opened)
    drafts = form.read(value)
    ids = _ids(drafts, wanted)
    chosen = [n for n, id in enumerate(ids) if wanted in (None, id)]
    chosen = chosen or [n for n, draft in enumerate(drafts) if wanted == draft.title]
    if not chosen:
        raise _unknown(wanted or "", drafts, ids, opened.name)
    read = []
    for number in chosen:
        found = assemble(drafts[number], ids[number], format=form.name)
        notes = opened.notes + _renamed(drafts[number], ids[number])
        read.append(replace(found, skipped=notes + found.skipped) if notes else found)
    return read


def _is_empty(value: object) -> bool:
    """Whether a source holds nothing at all, which is no error."""
    if isinstance(value, str):
        return is_blank(value)
    return isinstance(value, list | tuple) and not value


def _recognise(opened: Opened) -> tuple[Format, object]:
    """Return the format of a source, and the source as that format reads it."""
    for form in FORMATS:
        if form.recognises(opened.value):
            return form, opened.value
    if opened.said is not None:
        return TURN_RECORDS, [opened.said]  # one turn of the user
    shapes = "\n".join(f"  {form.name}: {form.shape}" for form in FORMATS)
    raise InputError(
        f"{opened.name} is of no known format: it is {described(opened.value)}.",
        hint=f"Known formats, recognised by content:\n{shapes}",
    )


def _ids(drafts: Sequence[Draft], wanted: str | None) -> list[str]:
    """Return a name for each draft, no two alike."""
    fallback = wanted if wanted and len(drafts) == 1 else DEFAULT_CONVERSATION
    ids: dict[str, None] = {}
    for draft in drafts:
        name = id = _clean_id(draft) or fallback
        number = 1
        while id in ids:
            number += 1
            id = f"{name}#{number}"
        ids[id] = None
    return list(ids)


def _clean_id(draft: Draft) -> str:
    id = " ".join(clean_text(draft.id or "").split())
    return "" if is_blank(id) else id


def _renamed(draft: Draft, id: str) -> tuple[Skip, ...]:
    """Note that a conversation has a number because the source holds its name twice."""
    name = _clean_id(draft)
    if not name or name == id:
        return ()
    reason = f"a conversation named {shown(name)} precedes it; this one is {shown(id)}"
    return (Skip(where=shown(name), reason=reason, kept=True),)


def _unknown(wanted: str, drafts: Sequence[Draft], ids: Sequence[str], name: str) -> InputError:
    """Return the error for a conversation that a source does not have."""
    labels = [
        f"{id} ({draft.title})" if draft.title and draft.title != id else id
        for id, draft in zip(ids, drafts, strict=True)
    ]
    titles = [draft.title for draft in drafts if draft.title]
    near = difflib.get_close_matches(wanted, [*ids, *titles], n=1)
    more = f" and {len(labels) - _MOST_NAMES} more" if len(labels) > _MOST_NAMES else ""
    hint = f"Is {near[0]!r} meant? " if near else ""
    return InputError(
        f"{name} has no conversation {shown(wanted)}.",
        hint=f"{hint}It has {', '.join(labels[:_MOST_NAMES])}{more}.",
    )
