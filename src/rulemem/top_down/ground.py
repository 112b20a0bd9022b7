"""Grounding: whom and when a question is about, and placeholders bound to that.

Names are matched against those of the speakers, never guessed by a model. Times in a question are
resolved against `now`, never against the machine's clock. Knows nothing of ranking.

Source: Assumption ADR-0007 (binding [Person] to the person asked about).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rulemem.clauses import PLACEHOLDER, bind
from rulemem.dates import resolve_query_times
from rulemem.lexical import canonical, content_terms
from rulemem.slots import slot_of_question
from rulemem.types import Rule, When

_PAST = re.compile(
    r"\b(used to|previous|previously|former|formerly|before (?:that|moving|then)|originally|"
    r"in the past|back then|at first|earlier)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"^\s*(when|what (?:date|day|month|year|time)|which (?:day|month|year|week|date)|"
    r"how long ago|since when|in (?:what|which) (?:month|year))\b",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"\b(why|how come|for what reason|what (?:made|led|caused|drove)|which \w+ (?:made|led))\b",
    re.IGNORECASE,
)
_PERSON_TYPES = ("Person", "Friend", "Speaker", "Someone", "Individual", "User")
_FIRST = re.compile(r"\b(i|me|my|mine|myself)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with what code could read off it."""

    text: str
    people: tuple[str, ...] = ()  # all whom the memory knows, asked about or not
    persons: tuple[str, ...] = ()  # known names in it, in order of appearance
    times: tuple[When, ...] = ()
    terms: frozenset[str] = frozenset()  # content terms without the names
    about_past: bool = False  # closed facts are wanted too
    asks_when: bool = False
    asks_why: bool = False  # wants the premises of a conclusion that it names
    slot: str = ""  # the single-valued relation asked for, such as "home"
    as_of: datetime | None = None  # only what was said by then counts

    @property
    def person(self) -> str:
        """The one person it is about, or "" where there is none or more than one."""
        return self.persons[0] if len(self.persons) == 1 else ""


def read_question(
    text: str,
    names: Sequence[str],
    *,
    now: datetime | None = None,
    as_of: datetime | None = None,
    asker: str = "",
) -> Question:
    """Read a question.

    Args:
        text: the question.
        names: names of the speakers and other persons of the scope.
        now: the time at which it is asked; "last week" needs it.
        as_of: answer for this moment.
        asker: speaker that "I" and "my" stand for, where there is one.
    """
    found: dict[str, int] = {}
    for name in names:
        for form in dict.fromkeys([name, *_short_forms(name, names)]):
            match = re.search(rf"(?<!\w){re.escape(form)}(?:'s|s')?(?!\w)", text, re.IGNORECASE)
            if match:
                found[name] = min(match.start(), found.get(name, len(text)))
    if asker and not found and _FIRST.search(text):
        found[asker] = 0
    persons = tuple(sorted(found, key=lambda name: found[name]))
    named = {term for name in persons for term in content_terms(name)}
    return Question(
        text=text,
        people=tuple(names),
        persons=persons,
        times=tuple(resolve_query_times(text, now)),
        terms=frozenset(content_terms(text) - named),
        about_past=bool(_PAST.search(text)) or as_of is not None,
        asks_when=bool(_WHEN.search(text)),
        asks_why=bool(_WHY.search(text)),
        slot=slot_of_question(text),
        as_of=as_of,
    )


def ground_rule(rule: Rule, question: Question) -> tuple[tuple[str, str], ...]:
    """Bind the rule's person placeholder to the person asked about.

    Other placeholders stay open: what they may be is for the facts to say.
    """
    if not question.person:
        return ()
    for placeholder in PLACEHOLDER.findall(" ".join((*rule.body, rule.head))):
        if placeholder in _PERSON_TYPES:
            return ((f"[{placeholder}]", question.person),)
    return ()


def bind_atoms(rule: Rule, bindings: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The body with its bindings in place, as search queries."""
    names = {placeholder.strip("[]"): name for placeholder, name in bindings}
    return tuple(bind(atom, names) for atom in rule.body)


def _short_forms(name: str, names: Sequence[str]) -> list[str]:
    """First name of a full name, where it is nobody else's."""
    first = name.split()[0] if name.split() else name
    if first == name:
        return []
    clash = any(canonical(other.split()[0]) == canonical(first) for other in names if other != name
                and other.split())  # fmt: skip
    return [] if clash else [first]
