"""Horn clauses in natural language: how one is written, read, checked and bound.

A clause is a body of one to three atoms and a head, over typed placeholders such as [Person]. It
is range-restricted (each placeholder of the head occurs in the body), holds no constant from a
dialogue and does not conclude what it assumes. Knows nothing of models, stores or scores.

Source: RuleMem, Bottom-Up Rule Memory Construction (the Horn clause). No constants: method.md,
"reusable across users and safe to share".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rulemem.errors import MalformedRule
from rulemem.lexical import content_terms

PLACEHOLDER = re.compile(r"\[([A-Z][A-Za-z ]{1,30})\]")
_CLAUSE = re.compile(r"\bIF\b(?P<body>.+?)\bTHEN\b(?P<head>.+)", re.IGNORECASE | re.DOTALL)
_AND = re.compile(r"\s+(?:AND|∧)\s+")
_CALENDAR = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|april|june|july|"
    r"august|september|october|november|december)\b",
    re.IGNORECASE,
)
LONGEST_BODY = 3


def read_clause(text: str, names: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Read "IF ... AND ... THEN ..." into body and head and check that it is a usable clause.

    Args:
        text: a model's reply.
        names: names and words of the dialogue that may not stand in a rule.

    Raises:
        MalformedRule: with the reason, which comes before the first colon.

    >>> read_clause("IF [Person] is hurt in [Sport] THEN [Person] may rest.", ["Ann"])
    (('[Person] is hurt in [Sport]',), '[Person] may rest')
    """
    if text.strip().upper().startswith("NONE"):
        raise MalformedRule("no rule found: the model saw no connection.")
    match = _CLAUSE.search(text.split("\n\n")[0])
    if match is None:
        raise MalformedRule(f"not a clause: {text[:80]!r} has no IF and THEN.")
    atoms = tuple(_tidy(atom) for atom in _AND.split(match["body"]) if _tidy(atom))
    head = _tidy(match["head"].split("\n")[0])
    check_clause(atoms, head, names)
    return atoms, head


def check_clause(body: Sequence[str], head: str, names: Iterable[str] = ()) -> None:
    """Check that a clause is a range-restricted Horn clause without constants.

    Raises:
        MalformedRule: with the reason, which comes before the first colon.
    """
    if not 1 <= len(body) <= LONGEST_BODY:
        raise MalformedRule(f"body length: {len(body)} atoms, 1 to {LONGEST_BODY} are allowed.")
    for part in (*body, head):
        if not 2 <= len(part.split()) <= 24:
            raise MalformedRule(f"atom length: {part!r} must have 2 to 24 words.")
    bound = {name for atom in body for name in PLACEHOLDER.findall(atom)}
    if not bound:
        raise MalformedRule(f"no placeholder: {body!r} speaks of nobody.")
    free = set(PLACEHOLDER.findall(head)) - bound
    if free:
        raise MalformedRule(f"not range-restricted: {sorted(free)} do not occur in the body.")
    if not PLACEHOLDER.search(head):
        raise MalformedRule(f"no placeholder in the head: {head!r}.")
    if any(content_terms(head) == content_terms(atom) for atom in body):
        raise MalformedRule(f"circular: the head {head!r} is an atom of the body.")
    plain = PLACEHOLDER.sub(" ", " ; ".join((*body, head)))
    found = _CALENDAR.search(plain)
    words = set(re.findall(r"\w+", plain.casefold()))
    private = sorted(w for name in names for w in re.findall(r"\w+", name.casefold()) if w in words)
    capitals = re.findall(r"(?<![;.!?]\s)(?<!^)\b[A-Z][a-z]{2,}\b", plain)
    if found or private or capitals or "[" in plain or "]" in plain:
        culprit = found.group() if found else (private or capitals or ["["])[0]
        raise MalformedRule(f"constant in the rule: {culprit!r}; use a placeholder instead.")


def bind(text: str, bindings: Mapping[str, str]) -> str:
    """Put names in the place of placeholders; unbound ones become plain words.

    >>> bind("[Person] may skip [Family Event]", {"Person": "Ann"})
    'Ann may skip family event'
    """
    return PLACEHOLDER.sub(lambda m: bindings.get(m[1], m[1].lower()), text)


def _tidy(text: str) -> str:
    return " ".join(text.strip(" .,;:\n\t-").split())
