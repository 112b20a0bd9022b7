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
_POSSESSIVE = re.compile(r"\[(\w+)['’]s?((?: [^\]]*)?)\]")
_CALENDAR = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|april|june|july|"
    r"august|september|october|november|december)\b",
    re.IGNORECASE,
)
_TIME_WORDS = re.compile(
    r"\s*\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this) (?:week|month|year|weekend|"
    r"summer|winter|spring|night|time)|(?:a|two|three|few|some) (?:days?|weeks?|months?|years?) "
    r"ago|ago|right now|now|recently|lately)\b",
    re.IGNORECASE,
)
# Words that a head may add without saying anything new.
_EMPTY_WORDS = frozenset(content_terms("may have has need want feel get be become like go"))
_VAGUE_WORDS = frozenset(
    content_terms(
        "happy proud grateful thankful sad good great better friend excited inspired inspire "
        "creative person people others difference life keep share support supportive kind mother "
        "parent passion passionate interest interested enjoy love strong positive impact may"
    )
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
    match = _CLAUSE.search(_without_constants(text.split("\n\n")[0], names))
    if match is None:
        raise MalformedRule(f"not a clause: {text[:80]!r} has no IF and THEN.")
    atoms = tuple(_tidy(atom) for atom in _AND.split(match["body"]) if _tidy(atom))
    head = _bound(atoms, _tidy(match["head"].split("\n")[0]))
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
    said = {word for atom in body for word in content_terms(atom)}
    if content_terms(head) - _EMPTY_WORDS <= said:
        raise MalformedRule(f"circular: the head {head!r} says only what the body says.")
    if content_terms(PLACEHOLDER.sub(" ", head)) - _EMPTY_WORDS <= _VAGUE_WORDS:
        raise MalformedRule(f"vague: the head {head!r} fits anybody.")
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


def _bound(body: Sequence[str], head: str) -> str:
    """A head whose placeholders that the body does not bind are plain words."""
    known = {name for atom in body for name in PLACEHOLDER.findall(atom)}
    return PLACEHOLDER.sub(lambda m: m[0] if m[1] in known else m[1].lower(), head)


def _without_constants(text: str, names: Iterable[str]) -> str:
    """A clause with people's names as placeholders and without words of time.

    A small model leaves them in now and then; which word is a name is known here. The first
    person becomes [Person], a second one [Friend]; "[Person's knee]" becomes "[Person]'s knee".
    """
    text = _POSSESSIVE.sub(lambda m: f"[{m[1]}]'s{m[2]}", text)
    people = sorted(
        {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)},
        key=text.find,
    )
    for name, placeholder in zip(people, ("[Person]", "[Friend]"), strict=False):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", placeholder, text)
    return _TIME_WORDS.sub("", text)


def _tidy(text: str) -> str:
    return " ".join(text.strip(" .,;:\n\t-").split())
