"""Change: a newer fact of a single-valued relation closes the older one, and only that."""

from datetime import datetime

from rulemem.bottom_up.change import find_closings
from rulemem.slots import slot_of_question
from rulemem.types import Fact, When


def fact(id: int, relation: str, object: str, day: int, **fields: object) -> Fact:
    """A fact about Nora, said in May 2024."""
    return Fact(
        id=id, subject="Nora", relation=relation, object=object, text=f"Nora {relation} {object}",
        said_at=datetime(2024, 5, day), speaker="Nora", turn_ids=(id,), extractor="test@1",
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_move_closes_the_old_home() -> None:
    """ "I live in Oslo" ends when "I moved to Lima" begins."""
    old, new = fact(1, "live in", "Oslo", 1), fact(2, "move to", "Lima", 9)
    assert [(1, 2, datetime(2024, 5, 9))] == find_closings([new], [old, new])


def test_the_end_is_when_the_new_fact_began() -> None:
    """A move "last week" ends the old home then, not when it was told."""
    began = When(start=datetime(2024, 5, 3), end=datetime(2024, 5, 4), precision="day")
    old, new = fact(1, "live in", "Oslo", 1), fact(2, "move to", "Lima", 9, time=began)
    assert [(1, 2, datetime(2024, 5, 3))] == find_closings([new], [old, new])


def test_back_dated_news_does_not_become_current() -> None:
    """Told later but true earlier: nothing is closed."""
    long_ago = When(start=datetime(2019, 1, 1), end=datetime(2020, 1, 1), precision="year")
    old, new = fact(1, "live in", "Oslo", 1), fact(2, "move to", "Lima", 9, time=long_ago)
    assert find_closings([new], [old, new]) == []


def test_unrelated_facts_of_the_same_person_stay_open() -> None:
    """A new hobby closes neither a home nor another hobby."""
    home, hobby, new = (
        fact(1, "live in", "Oslo", 1), fact(2, "play", "chess", 2), fact(3, "play", "tennis", 9)
    )  # fmt: skip
    assert find_closings([new], [home, hobby, new]) == []


def test_the_same_again_closes_nothing() -> None:
    """Living in Oslo is no reason to stop living in Oslo."""
    old, new = fact(1, "live in", "Oslo", 1), fact(2, "live in", "Oslo", 9)
    assert find_closings([new], [old, new]) == []


def test_a_denial_closes_what_it_denies() -> None:
    """ "I don't play tennis any more" ends "I play tennis"."""
    old, new = fact(1, "play", "tennis", 1), fact(2, "play", "tennis", 9, negated=True)
    assert [(1, 2, datetime(2024, 5, 9))] == find_closings([new], [old, new])


def test_somebody_else_moving_closes_nothing() -> None:
    """Slots are filled per person."""
    old = fact(1, "live in", "Oslo", 1)
    other = Fact(
        id=2, subject="Idris", relation="move to", object="Lima", text="Idris moved to Lima",
        said_at=datetime(2024, 5, 9), speaker="Nora", turn_ids=(2,), extractor="test@1",
    )  # fmt: skip
    assert find_closings([other], [old, other]) == []


def test_questions_for_a_slot() -> None:
    """Homes and employers are recognised, hobbies are not."""
    assert slot_of_question("In which city did Nora live in May?") == "home"
    assert slot_of_question("Where does Nora work now?") == "employer"
    assert slot_of_question("Where did Nora play chess?") == ""
