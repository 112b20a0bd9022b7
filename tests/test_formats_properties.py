"""What holds for any input: it is read soundly, the same twice, or refused as InputError."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rulemem.errors import InputError
from rulemem.formats import Conversation, read_conversations

_ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=12)  # surrogates and NUL too
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT
_KEYS = st.sampled_from(
    [
        "role",
        "content",
        "name",
        "timestamp",
        "session",
        "id",
        "tool_calls",
        "refusal",
        "audio",
        "type",
        "text",
        "image_url",
        "alt",
        "speaker",
        "key",
        "conversation",
        "messages",
        "mapping",
        "current_node",
        "session_1",
        "session_1_date_time",
        "haystack_sessions",
        "haystack_dates",
    ]
)
_ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
_FLAT = st.dictionaries(_KEYS, _SCALARS | _ROLES, max_size=3)
_VALUES = _SCALARS | _ROLES | _FLAT | st.lists(_SCALARS | _FLAT, max_size=2)
_ODD = st.dictionaries(_KEYS, _VALUES, max_size=4)  # any fields with any values
_MESSAGES = st.lists(
    _ODD | _ODD.map(lambda odd: {"role": "user", "content": "hi", **odd}), max_size=3
)


def _check(conversations: list[Conversation]) -> None:
    """Assert what holds of any result."""
    assert conversations
    assert len({found.id for found in conversations}) == len(conversations)
    for found in conversations:
        assert len({turn.key for turn in found.turns}) == len(found.turns)
        assert [turn.position for turn in found.turns] == list(range(len(found.turns)))
        for turn in found.turns:
            assert turn.conversation == found.id
            assert turn.content.strip()
            assert turn.key
            assert turn.speaker
            f"{turn.key}{turn.speaker}{turn.session}{turn.content}".encode()  # no surrogates


@settings(deadline=None, max_examples=200)
@given(_MESSAGES | _ODD | _VALUES)
def test_any_data_is_read_or_refused(source: Any) -> None:
    """Any data yields sound conversations, the same twice, or an InputError; nothing else."""
    try:
        found = read_conversations(source)
    except InputError:
        return
    _check(found)
    assert read_conversations(source) == found


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant"]), "content": _ANY_TEXT | st.none()},
            optional={"name": _ANY_TEXT, "id": _ANY_TEXT, "session": _ANY_TEXT},
        ),
        max_size=6,
    )
)
def test_well_formed_messages_are_all_accounted_for(messages: list[dict[str, Any]]) -> None:
    """Every message of a known shape is a turn or is reported as skipped; none raises."""
    (found,) = read_conversations(messages)
    _check([found])
    skipped = [skip for skip in found.skipped if not skip.kept]
    assert len(found.turns) + len(skipped) == max(1, len(messages))


@settings(deadline=None, max_examples=200)
@given(
    st.text(
        st.sampled_from('Ann:Bob \n\r#-[](){}"0123456789,./\u200f年é😀\x00') | st.characters(),
        max_size=200,
    )
)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text yields sound conversations, the same twice, or an InputError; nothing else."""
    try:
        found = read_conversations(text)
    except InputError:
        return
    _check(found)
    assert read_conversations(text) == found
