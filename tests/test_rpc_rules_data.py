"""The labelled rules in benchmarks/data hold what their README promises.

It knows the file only, no scorer: what is checked is that the set is well-formed, that its splits
do not leak, and that a scorer can't win on length or shared words alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "benchmarks" / "data" / "rpc_rules.jsonl"
BAD_KINDS = ("reversed", "over-general", "nonsense", "contradicted")
DERIVED = ("reversed", "contradicted")
FIELDS = {"id", "label", "kind", "split", "source", "body", "head", "evidence"}
PLACEHOLDER = re.compile(r"\[[A-Z][a-z]+(?: [A-Z][a-z]+)*\]")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
STEM = 5  # letters that stand for a word's stem

Row = dict[str, Any]


def _load() -> list[Row]:
    with DATA.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ROWS = _load()
BY_ID = {row["id"]: row for row in ROWS}


def _of_label(label: str) -> list[Row]:
    return [row for row in ROWS if row["label"] == label]


def _of_kind(kind: str) -> list[Row]:
    return [row for row in ROWS if row["kind"] == kind]


def _words(text: str) -> int:
    """Count words; a placeholder is one."""
    return len(PLACEHOLDER.sub("X", text).split())


def _clause(row: Row) -> tuple[tuple[str, ...], str]:
    return tuple(row["body"]), row["head"]


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in re.findall(r"[a-z]{3,}", PLACEHOLDER.sub("", text).lower())}


def _gap(measure: str) -> float:
    """Return the difference of the class means of a length, in words or items."""
    lengths = {
        "head words": lambda row: _words(row["head"]),
        "body words": lambda row: sum(map(_words, row["body"])),
        "atoms": lambda row: len(row["body"]),
        "evidence words": lambda row: sum(map(_words, row["evidence"])),
        "facts": lambda row: len(row["evidence"]),
    }
    length = lengths[measure]
    return abs(mean(map(length, _of_label("sensible"))) - mean(map(length, _of_label("bad"))))


def test_counts() -> None:
    """There are at least 80 sensible and 80 bad rules, at least 20 of each bad kind."""
    assert len(_of_label("sensible")) >= 80
    assert len(_of_label("bad")) >= 80
    assert {row["kind"] for row in _of_label("sensible")} == {"sensible"}
    kinds = Counter(row["kind"] for row in _of_label("bad"))
    assert set(kinds) == set(BAD_KINDS)
    assert min(kinds.values()) >= 20


def test_ids_are_unique_and_name_the_kind() -> None:
    """Each id occurs once and is the kind with a number."""
    assert len(BY_ID) == len(ROWS)
    for row in ROWS:
        assert re.fullmatch(rf"{row['kind']}-\d\d", row["id"]), row["id"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_rule_is_well_formed(row: Row) -> None:
    """A rule has the fields, 1-3 atoms, a range-restricted head of 5-14 words and dated facts."""
    assert set(row) == FIELDS
    assert 1 <= len(row["body"]) <= 3
    assert 5 <= _words(row["head"]) <= 14
    bound = {name for atom in row["body"] for name in PLACEHOLDER.findall(atom)}
    used = set(PLACEHOLDER.findall(row["head"]))
    assert used and used <= bound
    assert row["head"] not in row["body"]
    assert len(set(row["body"])) == len(row["body"])
    assert 2 <= len(row["evidence"]) <= 4
    for fact in row["evidence"]:
        assert YEAR.search(fact) and fact.endswith("."), fact


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_rule_holds_no_constant(row: Row) -> None:
    """Outside of placeholders a rule holds no digit, bracket or capital letter: no name or date."""
    for atom in (*row["body"], row["head"]):
        rest = PLACEHOLDER.sub("", atom)
        assert not re.search(r"[0-9\[\]]", rest), atom
        assert rest == rest.lower(), atom


@pytest.mark.parametrize("kind", ["sensible", *BAD_KINDS])
def test_each_kind_is_split_in_halves(kind: str) -> None:
    """Of each kind, as many rules are for fitting as for testing."""
    splits = Counter(row["split"] for row in _of_kind(kind))
    assert set(splits) == {"fit", "test"}
    assert abs(splits["fit"] - splits["test"]) <= 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_split_is_deterministic(row: Row) -> None:
    """A rule's split follows from its number, a derived rule's from the number of its source."""
    decides = row["source"] if row["kind"] in DERIVED else row["id"]
    assert row["split"] == ("fit" if int(decides[-2:]) % 2 else "test")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_source(row: Row) -> None:
    """Derived rules, and only they, name a sensible rule of the same split as their source."""
    if row["kind"] not in DERIVED:
        assert row["source"] is None
        return
    source = BY_ID[row["source"]]
    assert source["kind"] == "sensible"
    assert source["split"] == row["split"]
    if row["kind"] == "reversed":
        assert _clause(row) != _clause(source)
        assert row["evidence"] == source["evidence"]
    else:  # same clause with other facts, or another head with the same facts
        assert row["body"] == source["body"]
        same_head = row["head"] == source["head"]
        assert same_head != (row["evidence"] == source["evidence"])


def test_no_clause_is_labelled_twice() -> None:
    """A clause occurs once, but for the contradicted ones that differ from a source by facts."""
    clauses = Counter(_clause(row) for row in ROWS if row["kind"] != "contradicted")
    assert clauses.most_common(1)[0][1] == 1


def test_splits_share_no_evidence() -> None:
    """No fact that is used for fitting occurs in the test half."""
    facts = {
        split: {fact for row in ROWS if row["split"] == split for fact in row["evidence"]}
        for split in ("fit", "test")
    }
    assert not facts["fit"] & facts["test"]


@pytest.mark.parametrize(
    ("measure", "limit"),
    [
        ("head words", 1.0),
        ("body words", 1.0),
        ("atoms", 0.25),
        ("evidence words", 2.0),
        ("facts", 0.25),
    ],
)
def test_length_does_not_tell_the_classes_apart(measure: str, limit: float) -> None:
    """The mean lengths of heads, bodies and evidence are nearly equal in both classes."""
    assert _gap(measure) <= limit


def test_may_does_not_tell_the_classes_apart() -> None:
    """Heads with "may" are about as frequent in both classes."""
    share = {
        label: mean(" may " in row["head"] for row in _of_label(label))
        for label in ("sensible", "bad")
    }
    assert share["sensible"] > 0.5
    assert abs(share["sensible"] - share["bad"]) <= 0.1


def test_shared_words_do_not_tell_the_classes_apart() -> None:
    """Ranking rules by the words that head and evidence share is as good as guessing."""
    shared = {
        label: [
            len(_stems(row["head"]) & _stems(" ".join(row["evidence"]))) for row in _of_label(label)
        ]
        for label in ("sensible", "bad")
    }
    pairs = list(product(shared["sensible"], shared["bad"]))
    auc = mean((good > bad) + 0.5 * (good == bad) for good, bad in pairs)
    assert 0.4 <= auc <= 0.6
