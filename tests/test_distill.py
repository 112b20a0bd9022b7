"""Distillation keeps only arguments over facts of the walk."""

import pytest

from rulemem.bottom_up.distill import distill_paths
from rulemem.testing import ScriptedText
from rulemem.types import Fact, Path


def fact(id: int, object: str) -> Fact:
    """A fact of Nora."""
    return Fact(id=id, subject="Nora", relation="r", object=object, text=f"Nora {object}",
                speaker="Nora", turn_ids=(id,), extractor="test@1")  # fmt: skip


WALK = Path(
    facts=(fact(1, "wrist gym"), fact(2, "gym break"), fact(3, "break chess")),
    links=("gym", "break"),
)


def test_a_kept_walk_is_restated_as_premises_and_conclusion() -> None:
    """The facts stand in the order of the argument and share an entity each."""
    (path,) = distill_paths([WALK], {}, ScriptedText(["KEEP 1,2 => 3"])).paths
    assert [f.id for f in path.facts] == [1, 2, 3]
    assert len(path.links) == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("DROP: only the word", "judged illogical"),
        ("KEEP 1 => 9", "cites facts that do not exist"),
        ("KEEP 2 => 2", "cites facts that do not exist"),
        ("Certainly, here you are", "unreadable reply"),
    ],
)
def test_what_is_dropped(reply: str, reason: str) -> None:
    """Each dropped walk is counted under its reason."""
    result = distill_paths([WALK], {}, ScriptedText([reply]))
    assert ((), {reason: 1}) == (result.paths, dict(result.dropped))


def test_facts_that_share_nothing_are_no_path() -> None:
    """The model may not join what does not belong together."""
    stranger = Fact(id=4, subject="Idris", relation="r", object="parrot", text="Idris has a parrot",
                    speaker="Idris", turn_ids=(4,), extractor="test@1")  # fmt: skip
    walk = Path(facts=(fact(1, "wrist gym"), stranger), links=("x",))
    result = distill_paths([walk], {}, ScriptedText(["KEEP 1 => 2"]))
    assert dict(result.dropped) == {"facts share no entity": 1}
