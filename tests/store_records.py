"""Records and vectors for the tests of the store: short to write, valid by default."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulemem.stores.sqlite import SqliteStore
from rulemem.types import (
    Activation,
    Answer,
    Cost,
    Fact,
    HeadKey,
    Premise,
    Quote,
    Rule,
    Turn,
    Verdict,
)

DIMENSION = 16
NAME = "hash@1"


def open_store(path: str | PathLike[str] = ":memory:") -> SqliteStore:
    """Open a store as all tests do."""
    return SqliteStore(path, embedder_name=NAME, dimension=DIMENSION)


def sound_store() -> Iterator[SqliteStore]:
    """A store in memory that must be sound at the end, whatever was done to it."""
    opened = open_store()
    yield opened
    assert opened.check() == []
    opened.close()


def vector_of(text: str, dimension: int = DIMENSION, salt: str = "") -> NDArray[np.float32]:
    """Return the unit vector of a text: equal texts, equal vectors."""
    seed = int.from_bytes(hashlib.blake2b((salt + text).encode(), digest_size=8).digest(), "big")
    row = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    unit: NDArray[np.float32] = (row / np.linalg.norm(row)).astype(np.float32)
    return unit


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return one unit vector per text."""
    return np.array([vector_of(text) for text in texts], np.float32).reshape(-1, DIMENSION)


class HashEmbedder:
    """An embedder without a model; `break_after` texts it gives up."""

    def __init__(self, name: str, dimension: int, break_after: int | None = None) -> None:
        self.name = name
        self.dimension = dimension
        self.left = break_after
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text."""
        if self.left is not None:
            self.left -= len(texts)
            if self.left < 0:
                raise ConnectionError("the embedder went away")
        self.texts.extend(texts)
        rows = [vector_of(text, self.dimension, self.name) for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.dimension)


def a_turn(text: str = "I repaired the blue kettle", **changes: Any) -> Turn:
    """Return a turn whose key is its text."""
    given: dict[str, Any] = {
        "conversation": "c1",
        "session": "s1",
        "key": text,
        "speaker": "Ann",
        "said_at": datetime(2023, 5, 8, 13, 56),
    }
    return Turn(text=text, **{**given, **changes})


def a_fact(subject: str, relation: str, object: str, *turn_ids: int, **changes: Any) -> Fact:
    """Return a fact verbalised as its quadruple."""
    given: dict[str, Any] = {
        "text": f"{subject} {relation} {object}",
        "speaker": "Ann",
        "said_at": datetime(2023, 5, 8, 13, 56),
        "extractor": "syntax@1",
    }
    return Fact(
        subject=subject,
        relation=relation,
        object=object,
        turn_ids=turn_ids,
        **{**given, **changes},
    )


def a_key(text: str, facts: Sequence[int], turns: Sequence[int]) -> HeadKey:
    """Return a head key that is not stored yet."""
    return HeadKey(text=text, fact_ids=tuple(facts), turn_ids=tuple(turns))


def a_rule(head: str, *keys: HeadKey, **changes: Any) -> Rule:
    """Return an admitted rule."""
    given: dict[str, Any] = {
        "body": ("[Person] is injured during [Event]",),
        "status": "admitted",
        "inducer": "induce_rule@1/test",
    }
    return Rule(head=head, keys=keys, **{**given, **changes})


def a_verdict(*evidence: int, score: float = 0.7) -> Verdict:
    """Return a verdict that admits."""
    return Verdict(
        nll_empty=3.5,
        nll_body=2.25,
        nll_evidence=1.125,
        score=score,
        alpha=0.4,
        tau=0.5,
        form="paper",
        admitted=True,
        reason="score above tau",
        evidence_ids=evidence,
        self_supported=not evidence,
        model="table@1",
    )


def an_answer(
    turn: Turn, *facts: Fact, activations: Sequence[Activation] = (), **changes: Any
) -> Answer:
    """Return an answer that quotes a turn and leans on facts."""
    given: dict[str, Any] = {
        "question": "What did Ann repair?",
        "text": "the kettle",
        "answerable": True,
        "reason": "grounded",
        "cost": Cost(calls=1, prompt_tokens=200, completion_tokens=9, seconds=1.5),
        "answerer": "answer@1/test",
    }
    quote = Quote(turn_id=turn.id, speaker=turn.speaker, said_at=turn.said_at, text=turn.text)
    ids = tuple(fact.id for fact in facts)
    premise = Premise(text="Ann repaired it", fact_ids=ids, turn_ids=(turn.id,), entity="Ann")
    return Answer(
        activations=tuple(activations),
        premises=(premise,),
        facts=facts,
        quotes=(quote,),
        **{**given, **changes},
    )


def add_turns(store: SqliteStore, scope: str, *turns: Turn) -> list[int]:
    """Store turns and return their ids."""
    return [outcome.id for outcome in store.add_turns(scope, turns)]


def index_all(store: SqliteStore, scope: str) -> None:
    """Embed what is not embedded, as `ingest.py` does: each turn alone and with the one before."""
    waiting = store.turns_without_vectors(scope)
    before: dict[int, Turn] = {}
    for conversation in {turn.conversation for turn in waiting}:
        turns = store.turns(scope, conversation=conversation)
        before.update(zip((t.id for t in turns[1:]), turns, strict=False))
    alone = [f"{turn.speaker}: {turn.content}" for turn in waiting]
    windows = [
        f"{before[t.id].speaker}: {before[t.id].content}\n{text}" if t.id in before else text
        for t, text in zip(waiting, alone, strict=True)
    ]
    ids = [turn.id for turn in waiting]
    store.index_turns(scope, ids, windows, vectors_of(alone), vectors_of(windows))


def commit_facts(store: SqliteStore, scope: str, *facts: Fact) -> list[int]:
    """Store facts, mark their turns extracted and return their ids."""
    turns = sorted({id for fact in facts for id in fact.turn_ids})
    outcomes = store.commit_facts(scope, facts, vectors_of([f.text for f in facts]), turns)
    return [outcome.id for outcome in outcomes]


def commit_rules(store: SqliteStore, scope: str, *rules: Rule, **changes: Any) -> list[int]:
    """Store rules with the vectors of their new keys and heads."""
    keys = [key.text for rule in rules for key in rule.keys if key.id == 0]
    heads = vectors_of([rule.head for rule in rules])
    return store.commit_rules(scope, rules, vectors_of(keys), heads, **changes)


def fill(store: SqliteStore, scope: str, word: str, conversation: str = "c1") -> dict[str, Any]:
    """Put one of everything into a scope, each thing with a word in it that nothing else has."""
    speaker, tool = f"{word}ann", f"{word}kettle"
    first, second = add_turns(
        store,
        scope,
        a_turn(f"I repaired the {tool}", conversation=conversation, speaker=speaker),
        a_turn(f"Why the {tool}?", conversation=conversation, position=1, caption=f"{word}photo"),
    )
    index_all(store, scope)
    old, new = commit_facts(
        store,
        scope,
        a_fact(speaker, "repaired", tool, first, second),
        a_fact(speaker, "sold", tool, second),
    )
    store.close_facts(scope, [(old, new, datetime(2023, 6, 1))])
    key = a_key(f"{speaker} may repair more than the {tool}", [old], [first])
    rule = a_rule(f"[Person] may repair things {word}", key, verdict=a_verdict(new))
    [rule_id] = commit_rules(store, scope, rule, task="rules", learned_facts=[old])
    stored = store.rules(scope, ids=[rule_id])[0]
    turn = store.turns(scope, ids=[first])[0]
    facts = store.facts(scope, ids=[old])
    activations = [Activation(rule=stored, similarity=0.5, bindings=(("[Person]", speaker),))]
    answer = store.save_answer(scope, an_answer(turn, *facts, activations=activations))
    store.add_cost(scope, f"{word}stage", Cost(calls=1, prompt_tokens=2))
    return {
        "turns": [first, second],
        "facts": [old, new],
        "rule": rule_id,
        "key": stored.keys[0].id,
        "answer": answer,
    }
