"""Head keys: lines of a model become keys of facts, or are refused and counted."""

from rulemem.bottom_up.head_keys import is_implication, propose_keys
from rulemem.errors import BudgetExceeded, ReplyRejected
from rulemem.testing import ScriptedText
from rulemem.types import Fact, Turn

TURNS = [
    Turn(id=1, conversation="c", key="1", speaker="Nora", text="I sprained my wrist at the gym."),
    Turn(id=2, conversation="c", key="2", speaker="Idris", text="My sister adopted a parrot."),
]
FACTS = {
    turn.id: [
        Fact(id=10 + turn.id, subject=turn.speaker, relation="r", object="o", text=text,
             speaker=turn.speaker, turn_ids=(turn.id,), extractor="test@1")
    ]
    for turn, text in zip(
        TURNS,
        ("Nora sprained Nora's wrist at the gym", "Idris's sister adopted a parrot"),
        strict=True,
    )
}  # fmt: skip


def test_a_line_becomes_a_key_of_the_turns_fact() -> None:
    """The rule is lifted, the key keeps the name and leads to fact and turn."""
    found = propose_keys(TURNS, FACTS, ScriptedText(["1 Nora may need rest and a doctor"]))
    (rule,) = found.rules
    assert rule.body == ("[Person] sprained [Person]'s wrist at the gym",)
    assert rule.head == "[Person] may need rest and a doctor"
    assert rule.keys[0].text == "Nora may need rest and a doctor"
    assert (rule.keys[0].fact_ids, rule.keys[0].turn_ids) == ((11,), (1,))
    assert is_implication(rule)
    assert rule.status == "candidate"


def test_lines_that_cannot_be_trusted_are_counted() -> None:
    """Another turn's number, another person's name, an echo of the example, mere prose."""
    reply = (
        "7 Nora may need a doctor soon\n1 Idris may need a doctor soon\n"
        "1 Omar works as a software developer\nHere are the lines\n1 Nora is\n"
    )
    found = propose_keys(TURNS, FACTS, ScriptedText([reply]))
    assert found.rules == ()
    assert dict(found.rejected) == {
        "unknown turn": 1, "about somebody else": 1, "echo of the example": 1,
        "not a numbered line": 2,
    }  # fmt: skip


def test_a_failed_reply_is_counted_and_its_turns_count_as_read() -> None:
    """One bad reply costs its window's keys, not the run."""
    found = propose_keys(TURNS, FACTS, ScriptedText([ReplyRejected("empty reply")]))
    assert (found.read_turns, dict(found.rejected)) == ((1, 2), {"empty reply": 1})


def test_a_cap_leaves_the_turns_unread() -> None:
    """The next `learn` reads them."""
    found = propose_keys(TURNS, FACTS, ScriptedText([BudgetExceeded("cap")]))
    assert (found.out_of_budget, found.read_turns) == (True, ())
