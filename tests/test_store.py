"""Turns, and whatever names they bear: stored once, in order, edited in place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.store_records import (
    a_fact,
    a_key,
    a_rule,
    a_turn,
    add_turns,
    an_answer,
    commit_facts,
    commit_rules,
    index_all,
    sound_store,
    vectors_of,
)

from rulemem.errors import InputError, NotFound
from rulemem.stores.sqlite import SqliteStore
from rulemem.types import Cost, When

store = pytest.fixture(sound_store)


def test_a_turn_comes_back_as_it_was_given(store: SqliteStore) -> None:
    """All fields of a turn are kept."""
    turn = a_turn("Look at this", caption="a red bicycle", position=3, state="failed", reason="x")
    [id] = add_turns(store, "s", turn)
    assert store.turns("s") == [replace(turn, id=id)]


def test_adding_twice_changes_nothing(store: SqliteStore) -> None:
    """The second time every turn is unchanged and keeps its id and state."""
    turns = [a_turn(f"turn {i}", position=i) for i in range(5)]
    ids = add_turns(store, "s", *turns)
    store.mark_turns("s", ids, "extracted")
    again = store.add_turns("s", turns)
    assert [outcome.outcome for outcome in again] == ["unchanged"] * 5
    assert [outcome.id for outcome in again] == ids
    assert store.counts("s")["turns_extracted"] == 5


def test_a_repeat_within_one_call_is_unchanged(store: SqliteStore) -> None:
    """The same turn twice in one call is stored once."""
    outcomes = store.add_turns("s", [a_turn("hello"), a_turn("hello")])
    assert [outcome.outcome for outcome in outcomes] == ["new", "unchanged"]


def test_equal_keys_of_two_conversations_are_two_turns(store: SqliteStore) -> None:
    """The conversation is part of the identity of a turn."""
    one, two = (a_turn("hello", key="D1:1", conversation=name) for name in ("c1", "c2"))
    assert len(set(add_turns(store, "s", one, two))) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"text": "I sold the green bicycle"},
        {"caption": "a bicycle"},
        {"speaker": "Bob"},
        {"said_at": None},
        {"said_at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC)},
    ],
)
def test_any_change_of_content_is_an_edit(store: SqliteStore, change: dict[str, str]) -> None:
    """Another text, caption, speaker or time makes the turn pending again, under its id."""
    turn = a_turn("I sold the red bicycle", key="k")
    [id] = add_turns(store, "s", turn)
    store.mark_turns("s", [id], "failed", "empty reply")
    [outcome] = store.add_turns("s", [replace(turn, **change)])
    assert (outcome.id, outcome.outcome) == (id, "edited")
    assert store.turns("s") == [replace(turn, id=id, **change)]


def test_an_edit_removes_what_came_from_the_old_text(store: SqliteStore) -> None:
    """Facts, keys, answers, words and vectors of the old text go; other turns keep theirs."""
    turn = a_turn("I sold the zither", key="k")
    edited, other = add_turns(store, "s", turn, a_turn("I play chess", position=1))
    index_all(store, "s")
    lost, shared = commit_facts(
        store,
        "s",
        a_fact("Ann", "sold", "zither", edited),
        a_fact("Ann", "play", "chess", edited, other),
    )
    keys = (a_key("Ann may buy a lute", [lost], [edited]), a_key("Ann thinks", [shared], [other]))
    commit_rules(store, "s", a_rule("h1", keys[0]), a_rule("h2", keys[1]))
    stored = store.turns("s", ids=[edited])[0]
    saved = store.save_answer("s", an_answer(stored))

    store.add_turns("s", [replace(turn, text="I kept the cello")])

    assert [fact.id for fact in store.facts("s")] == [shared]
    assert store.facts("s")[0].turn_ids == (other,)
    assert [(rule.head, rule.status) for rule in store.rules("s")] == [
        ("h1", "retired"),
        ("h2", "admitted"),
    ]
    with pytest.raises(NotFound):
        store.answer("s", saved)
    assert store.match_text("s", "turn", "zither", 5) == []
    assert store.match_text("s", "window", "zither", 5) == []
    assert [hit.item for hit in store.match_text("s", "turn", "cello", 5)] == [edited]
    # The window of the next turn held the old words, so that it is to be embedded again.
    assert [turn.id for turn in store.turns_without_vectors("s")] == [edited, other]
    assert [hit.item for hit in store.nearest("s", "turn", vectors_of(["x"]), 9)[0]] == [other]


def test_turns_come_in_order_or_by_id(store: SqliteStore) -> None:
    """By conversation and position, or in the order of the ids; unknown ids are left out."""
    ids = add_turns(
        store,
        "s",
        a_turn("third", conversation="b", position=0),
        a_turn("second", conversation="a", position=9),
        a_turn("first", conversation="a", position=2),
    )
    assert [turn.text for turn in store.turns("s")] == ["first", "second", "third"]
    assert [turn.text for turn in store.turns("s", conversation="a")] == ["first", "second"]
    assert [turn.id for turn in store.turns("s", ids=[ids[1], 999, ids[0]])] == [ids[1], ids[0]]
    assert [turn.id for turn in store.turns("s", ids=ids, conversation="b")] == [ids[0]]


def test_states_are_set_and_asked_for(store: SqliteStore) -> None:
    """A failed turn says why; a state selects."""
    one, two, three = add_turns(store, "s", *(a_turn(text) for text in ("a", "b", "c")))
    store.mark_turns("s", [two], "failed", "timed out")
    store.mark_turns("s", [three], "extracted")
    assert [turn.id for turn in store.turns("s", state="pending")] == [one]
    assert [(t.id, t.reason) for t in store.turns("s", state="failed")] == [(two, "timed out")]
    assert store.turns("s", state="failed", conversation="other") == []


ZONES = [
    None,
    datetime(2023, 5, 8, 13, 56),
    datetime(2023, 5, 8, 13, 56, 1, 5, tzinfo=UTC),
    datetime(2023, 5, 8, 20, 0, tzinfo=timezone(timedelta(hours=9))),
    datetime(2023, 5, 8, 20, 0, tzinfo=timezone(-timedelta(hours=3, minutes=30, seconds=7))),
    datetime(2023, 7, 8, 20, 0, tzinfo=ZoneInfo("Europe/Oslo")),
    datetime.min,
    datetime.max,
]


@pytest.mark.parametrize("when", ZONES)
def test_times_are_kept_with_their_offset(store: SqliteStore, when: datetime | None) -> None:
    """A naive time stays naive, an aware one keeps its offset, an unknown one stays unknown."""
    [id] = add_turns(store, "s", a_turn(said_at=when))
    time = When(start=when, end=when, precision="day", raw="then")
    commit_facts(store, "s", a_fact("Ann", "rested", "", id, time=time, said_at=when))
    [turn], [fact] = store.turns("s"), store.facts("s")
    for found in (turn.said_at, fact.said_at, fact.time.start, fact.time.end):
        assert found == when
        if when is not None and found is not None:
            assert found.utcoffset() == when.utcoffset()


ODD = [
    "x'); DROP TABLE facts;--",
    "O'Brien",
    "%",
    "_",
    "../x",
    "a\x00b",
    "None",
    "🎉",
    "שרה",
    '"',
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_data(store: SqliteStore, name: str) -> None:
    """A scope, conversation, session, key, speaker or entity may be called anything."""
    turn = a_turn("hello", conversation=name, session=name, key=name, speaker=name)
    [id] = add_turns(store, name, turn)
    add_turns(store, "other", a_turn())
    commit_facts(store, name, a_fact(name, name, name, id))
    store.add_cost(name, name, Cost(calls=1))
    assert store.turns(name, conversation=name) == [replace(turn, id=id, state="extracted")]
    assert len(store.facts(name, entity=name)) == 1
    assert set(store.scopes()) == {name, "other"}
    assert store.forget(name, conversation=name, session=name).turns == 1
    assert store.scopes() == ["other"]


def test_what_cannot_be_stored_is_refused_whole(store: SqliteStore) -> None:
    """A lone surrogate or a number beyond 64 bits is an error; nothing of the call is stored."""
    with pytest.raises(InputError, match="surrogate"):
        store.add_turns("s", [a_turn("fine"), a_turn("bad \ud800")])
    with pytest.raises(InputError):
        store.turns("\ud800")
    with pytest.raises(InputError):
        store.answer("s", 2**70)
    assert store.scopes() == []


def test_numpy_ids_are_ids(store: SqliteStore) -> None:
    """Ids may come from an array."""
    ids = np.array(add_turns(store, "s", a_turn("a"), a_turn("b")))
    assert [turn.id for turn in store.turns("s", ids=list(ids[::-1]))] == [
        int(i) for i in ids[::-1]
    ]
