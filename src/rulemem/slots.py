"""Single-valued relations: what a person has one of at a time, and how it is asked for.

A later fact of such a slot closes the earlier one, and a question about the slot wants the fact
that holds at the time asked about. Knows nothing of stores or models.

Source: method.md, stage 1 step 2 (Change); the list is Assumption ADR-0006.
"""

from __future__ import annotations

import re

from rulemem.lexical import canonical

_RELATIONS = {
    "home": ("live in", "move to", "move in", "move into", "relocate to", "settle in",
             "reside in", "be based in", "move back to"),
    "employer": ("work at", "work for", "join", "start at", "start work at"),
    "spouse": ("be married to", "marry"),
    "partner": ("date",),
}  # fmt: skip
_BY_RELATION = {relation: slot for slot, names in _RELATIONS.items() for relation in names}
_QUESTIONS = (
    ("home", re.compile(r"\b(?:live|lives|lived|living|reside|based)\b|\bhome ?town\b", re.I)),
    ("employer", re.compile(r"\b(?:where|which company|for whom)\b.*\bwork(?:s|ed|ing)?\b", re.I)),
    ("spouse", re.compile(r"\bmarried to\b|\b(?:husband|wife)'s name\b", re.I)),
    ("partner", re.compile(r"\bwho(?:m)?\b.*\bdat(?:e|ing)\b", re.I)),
)


def slot_of_relation(relation: str) -> str:
    """The slot that a relation fills, or "".

    >>> slot_of_relation("move to"), slot_of_relation("paint")
    ('home', '')
    """
    return _BY_RELATION.get(canonical(relation), "")


def slot_of_question(text: str) -> str:
    """The slot that a question asks for, or "".

    >>> slot_of_question("Where does Ann live now?")
    'home'
    """
    return next((slot for slot, pattern in _QUESTIONS if pattern.search(text)), "")
