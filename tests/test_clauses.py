"""Horn clauses: what is read, what is mended, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulemem.clauses import PLACEHOLDER, bind, check_clause, read_clause
from rulemem.errors import MalformedRule

BODY = "[Person] sprains a wrist at [Place]"


def test_a_clause_with_two_premises() -> None:
    """IF, AND and THEN part a reply into atoms and a head, without their full stops."""
    text = "IF [Person] is hurt during [Sport] AND [Person] stops THEN [Person] may try chess."
    expected = (("[Person] is hurt during [Sport]", "[Person] stops"), "[Person] may try chess")
    assert expected == read_clause(text, ["Nora"])


def test_names_left_in_become_placeholders() -> None:
    """The first person named is [Person], a second one [Friend]."""
    text = "IF Nora visits Idris in hospital THEN Nora may bring Idris books"
    body, head = read_clause(text, ["Idris", "Nora"])
    assert body == ("[Person] visits [Friend] in hospital",)
    assert head == "[Person] may bring [Friend] books"


def test_possessive_placeholders_are_mended() -> None:
    """ "[Person's knee]" names the person and keeps the knee."""
    body, _ = read_clause("IF [Person] hurts [Person's knee] THEN [Person] may rest", [])
    assert body == ("[Person] hurts [Person]'s knee",)


def test_an_unbound_placeholder_of_the_head_becomes_plain_words() -> None:
    """The head keeps only placeholders that the body binds."""
    _, head = read_clause(f"IF {BODY} THEN [Person] may give up [Hard Activity]", [])
    assert head == "[Person] may give up hard activity"


def test_words_of_time_are_left_out() -> None:
    """A rule does not hold only yesterday."""
    body, _ = read_clause("IF [Person] ran a race yesterday THEN [Person] may be sore", [])
    assert body == ("[Person] ran a race",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NONE", "no rule found"),
        ("They are friends.", "not a clause"),
        (f"IF {BODY} THEN [Person] may stay in Lisbon", "constant in the rule"),
        ("IF [Person] moves on 3 May THEN [Person] may be tired", "constant in the rule"),
        (f"IF {BODY} THEN [Person] may sprain a wrist", "circular"),
        ("IF somebody is hurt THEN somebody may rest", "no placeholder"),
        (f"IF {BODY} THEN rest", "atom length"),
        (f"IF {BODY} THEN everybody may rest a lot", "no placeholder in the head"),
        (
            "IF [Person] eats well AND [Person] sleeps well AND [Person] walks far "
            "AND [Person] reads much THEN [Person] may be healthy",
            "body length",
        ),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    """A refusal names its reason before the first colon."""
    with pytest.raises(MalformedRule) as caught:
        read_clause(text, ["Nora"])
    assert reason == caught.value.message.split(":")[0]


def test_a_name_in_a_clause_given_by_hand_is_refused() -> None:
    """Packs and edits are not mended but refused."""
    with pytest.raises(MalformedRule, match="constant"):
        check_clause(("[Person] visits nora",), "[Person] may bring flowers", ["Nora"])


@given(st.text(max_size=200))
def test_any_text_is_a_clause_or_malformed(text: str) -> None:
    """No reply of a model raises anything else."""
    try:
        body, head = read_clause(text, ["Nora"])
    except MalformedRule:
        return
    assert set(PLACEHOLDER.findall(head)) <= {p for a in body for p in PLACEHOLDER.findall(a)}


@given(st.sampled_from(["[Person] may rest", "[Person] sees [Friend] at [Place]"]))
def test_binding_leaves_no_bracket(text: str) -> None:
    """Bound or not, a clause reads as plain words afterwards."""
    assert "[" not in bind(text, {"Person": "Nora"})
