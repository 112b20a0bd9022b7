"""Rule induction: reasoning paths -> natural-language Horn clauses.

Paths with similar relation patterns form a group; a language model lifts each group into one
clause "IF B_1 AND ... AND B_n THEN H" over typed placeholders. What comes back is untrusted: a
clause must be range-restricted, hold no constant from the dialogue and not conclude what it
assumes. A rejected clause is asked for once more, with the reason. Clauses that say the same are
one rule with more support. Knows nothing of scores: every rule leaves here as a candidate.

Source: RuleMem, Bottom-Up Rule Memory Construction (the Horn clause).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rulemem.bottom_up.paths import relation_pattern
from rulemem.clauses import PLACEHOLDER, bind, read_clause
from rulemem.errors import BudgetExceeded, MalformedRule, ModelError
from rulemem.ports import Embedder, TextModel, TextRequest
from rulemem.prompts import Prompt, load_prompt
from rulemem.types import HeadKey, Path, Rule

GROUP_PATHS = 3  # paths that one call may see
SAME_RULE = 0.9  # cosine of two clauses from which they are one rule
SAME_PATTERN = 0.6  # cosine of two paths from which they are lifted together


@dataclass(frozen=True, slots=True, kw_only=True)
class Induction:
    """What came of the groups that were lifted."""

    rules: tuple[Rule, ...]
    rejected: Counter[str]  # reason -> groups
    out_of_budget: bool = False


def group_paths(paths: Sequence[Path], embedder: Embedder) -> list[list[Path]]:
    """Put paths of the same or a similar relation pattern together, best path first.

    Two paths are similar when they have equal patterns or their texts without names are near.
    A group holds at most GROUP_PATHS paths; a fact occurs in one path of a group.
    """
    if not paths:
        return []
    vectors = embedder.embed([_anonymous(path) for path in paths])
    groups: list[list[int]] = []
    for index, path in enumerate(paths):
        home = _home(index, path, paths, groups, vectors)
        if home is None:
            groups.append([index])
        elif len(home) < GROUP_PATHS and not _overlaps(path, [paths[i] for i in home]):
            home.append(index)
    return [[paths[i] for i in group] for group in groups]


def induce_rules(
    groups: Sequence[Sequence[Path]], hints: Mapping[int, str], model: TextModel
) -> Induction:
    """Lift each group into one clause.

    Args:
        groups: paths that go together; see `group_paths`.
        hints: what a fact suggests, by fact id: its head key, where it has one.
        model: the text model that lifts.

    Returns:
        Candidate rules with one key per path as support, and what was rejected and why.
    """
    prompt = load_prompt("induce_rule")
    inducer = f"{prompt.tag}/{model.name}"
    requests = [_request(prompt, group, hints) for group in groups]
    rules: list[Rule] = []
    rejected: Counter[str] = Counter()
    for group, request, reply in zip(groups, requests, model.complete(requests), strict=True):
        if isinstance(reply, BudgetExceeded):
            return Induction(rules=tuple(rules), rejected=rejected, out_of_budget=True)
        if isinstance(reply, ModelError):
            rejected[reply.message] += 1
            continue
        try:
            body, head = read_clause(reply.text, _names(group))
        except MalformedRule as error:
            clause = _ask_again(model, request, error, _names(group))
            if clause is None:
                rejected[error.message.split(":")[0]] += 1
                continue
            body, head = clause
        keys = tuple(_key(head, path) for path in group)
        rules.append(Rule(body=body, head=head, keys=keys, inducer=inducer))
    return Induction(rules=tuple(rules), rejected=rejected)


def merge_equal(rules: Sequence[Rule], known: Sequence[Rule], embedder: Embedder) -> list[Rule]:
    """Join rules that say the same, with one another and with known ones.

    Returns:
        Known rules that gained keys, and new ones, each once.
    """
    everything = [*known, *rules]
    if not rules:
        return []
    vectors = embedder.embed([_neutral(rule) for rule in everything])
    merged: dict[int, Rule] = dict(enumerate(known))
    touched: set[int] = set()
    for index in range(len(known), len(everything)):
        rule = everything[index]
        twin = next((i for i in merged if float(vectors[i] @ vectors[index]) >= SAME_RULE), None)
        if twin is None:
            merged[index] = rule
            touched.add(index)
            continue
        seen = {key.fact_ids for key in merged[twin].keys}
        fresh = tuple(key for key in rule.keys if key.fact_ids not in seen)
        if fresh:
            bound = tuple(replace(k, text=bind_key(merged[twin].head, k, rule.head)) for k in fresh)
            merged[twin] = replace(merged[twin], keys=(*merged[twin].keys, *bound))
            touched.add(twin)
    return [merged[index] for index in sorted(touched)]


def bind_key(head: str, key: HeadKey, original: str) -> str:
    """The head of a merged rule bound as the key of its twin was."""
    person = _bound_person(original, key.text)
    return bind(head, {"Person": person}) if person else key.text


def _bound_person(original: str, text: str) -> str:
    pattern = re.escape(original).replace(re.escape("[Person]"), "(.+?)", 1)
    match = re.match(PLACEHOLDER.sub(".+?", pattern.replace("\\[", "[").replace("\\]", "]")), text)
    return match[1] if match and match.groups() else ""


def _home(
    index: int,
    path: Path,
    paths: Sequence[Path],
    groups: Sequence[list[int]],
    vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> list[int] | None:
    """The first group that a path belongs to."""
    for group in groups:
        first = group[0]
        same = relation_pattern(paths[first]) == relation_pattern(path)
        if len(paths[first].facts) != len(path.facts):
            continue
        if same or float(vectors[first] @ vectors[index]) >= SAME_PATTERN:
            return group
    return None


def _overlaps(path: Path, group: Sequence[Path]) -> bool:
    """Whether a path runs over facts of the group, and so brings nothing new."""
    used = {fact.id for member in group for fact in member.facts}
    return any(fact.id in used for fact in path.facts)


def _request(prompt: Prompt, group: Sequence[Path], hints: Mapping[int, str]) -> TextRequest:
    lines = [
        f"- {fact.text} (suggests: {hints[fact.id]})" if fact.id in hints else f"- {fact.text}"
        for path in group
        for fact in path.facts
    ]
    return TextRequest(
        stage="induce",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(facts="\n".join(dict.fromkeys(lines))),
        max_tokens=70,
        stop=("\n\n", "\nFacts"),
    )


def _ask_again(
    model: TextModel, request: TextRequest, error: MalformedRule, names: set[str]
) -> tuple[tuple[str, ...], str] | None:
    """One more try with the reason; a NONE is not asked again."""
    if error.message.startswith("no rule found"):
        return None
    second = replace(
        request, user=f"{request.user}\n\n(Your rule was refused, {error.message} Write it again.)"
    )
    reply = model.complete([second])[0]
    if isinstance(reply, ModelError):
        return None
    try:
        return read_clause(reply.text, names)
    except MalformedRule:
        return None


def _names(group: Sequence[Path]) -> set[str]:
    people = {
        name for path in group for fact in path.facts for name in (fact.subject, fact.speaker)
    }
    return {word for name in people for word in name.split() if word[:1].isupper()}


def _key(head: str, path: Path) -> HeadKey:
    people = Counter(fact.owner or fact.speaker for fact in path.facts)
    person = people.most_common(1)[0][0]
    return HeadKey(
        text=bind(head, {"Person": person}),
        fact_ids=tuple(fact.id for fact in path.facts),
        turn_ids=tuple(dict.fromkeys(t for fact in path.facts for t in fact.turn_ids)),
    )


def _anonymous(path: Path) -> str:
    text = " ; ".join(fact.text for fact in path.facts)
    for name in sorted({f.speaker for f in path.facts} | {f.subject for f in path.facts}, key=len):
        text = re.sub(rf"\b{re.escape(name)}\b", "person", text)
    return text


def _neutral(rule: Rule) -> str:
    return PLACEHOLDER.sub(lambda m: m[1].lower(), f"{' and '.join(rule.body)} then {rule.head}")
