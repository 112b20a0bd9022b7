"""Path sampling: constrained random walks over the fact memory.

Nodes are entities, edges are facts. A walk of 2 to 4 facts keeps these constraints:

- consecutive facts share an entity, and the path says which;
- times do not decrease;
- no fact twice, and no relation more than twice;
- a step through a speaker (a hub: nearly every fact is about one) needs nearness in meaning too.

The next fact is drawn with weight exp(-decay * days) * cosine of the texts / log(2 + degree).
Candidates are sampled, so the cost is linear in the number of walks, not in the size of the
graph. Knows nothing of language models or stores.

Source: RuleMem, Reasoning Path Mining; constraints after TLogic. The weight is Assumption
ADR-0005.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rulemem.lexical import canonical, content_terms
from rulemem.types import Fact, Path

CANDIDATES = 12  # facts considered at a step
HUB_COSINE = 0.28  # a step through a speaker needs at least this nearness
STEP_COSINE = 0.1  # any other step
_LEAST_WORDS = 3
_STATES = frozenset({"be", "share picture of", "mean", "seem", "look", "sound"})
_TOLD = frozenset({"move to", "live in", "work at", "join", "marry", "adopt", "leave"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingConfig:
    """How many walks are drawn and how they prefer the near."""

    walks_per_fact: int = 4
    longest: int = 3  # facts in a path; 2 to 4
    decay: float = 0.02  # per day between two facts
    seed: int = 0


class FactGraph:
    """Facts by entity, in temporal order, with their vectors."""

    def __init__(self, facts: Sequence[Fact], vectors: NDArray[np.float32]) -> None:
        """Args: facts and the unit vectors of `neutral_text` of each, one row per fact."""
        order = sorted(range(len(facts)), key=lambda i: (facts[i].day, facts[i].id))
        self.facts = [facts[i] for i in order]
        self.vectors = vectors[order]
        self.days = [fact.day for fact in self.facts]
        self.hubs = {canonical(fact.speaker) for fact in self.facts}
        hub_words = {word for name in self.hubs for word in content_terms(name)}
        self.entities = [
            tuple(e for e in entities_of(fact) if e in self.hubs or e not in hub_words)
            for fact in self.facts
        ]
        self.by_entity: dict[str, list[int]] = defaultdict(list)
        for index, names in enumerate(self.entities):
            for name in names:
                self.by_entity[name].append(index)


def is_informative(fact: Fact) -> bool:
    """Whether a fact says enough to reason from.

    It has three words of content besides the names, tells something that happened or is done
    rather than how somebody is, and is not what one speaker says of the other: that is mostly
    praise. Pictures show no reason for anything.
    """
    praise = canonical(fact.subject) != canonical(fact.speaker) and " " not in fact.subject
    if fact.relation in _STATES or (praise and fact.relation not in _TOLD):
        return False
    names = content_terms(fact.subject) | content_terms(fact.speaker)
    words = content_terms(fact.text) - names
    return len(words) >= _LEAST_WORDS and bool(content_terms(fact.object) - names)


def neutral_text(fact: Fact) -> str:
    """The fact without names: two facts are near because of what happened, not to whom."""
    text = fact.text
    for name in sorted({fact.subject, fact.speaker}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "somebody", text)
    return text


def entities_of(fact: Fact) -> tuple[str, ...]:
    """Names that link a fact to others: its subject and the words of its object.

    >>> entities_of(Fact(subject="Ann", relation="run", object="the charity race",
    ...                  text="Ann ran the charity race", speaker="Ann", turn_ids=(1,),
    ...                  extractor="syntax@1"))
    ('ann', 'chariti', 'race')
    """
    subject = canonical(fact.subject)
    words = sorted(word for word in content_terms(fact.object) if len(word) > 2)
    return tuple(dict.fromkeys([subject, *words[:6]]))


def sample_paths(graph: FactGraph, config: SamplingConfig, starts: Sequence[int]) -> list[Path]:
    """Draw walks and return the distinct ones, most coherent first.

    Args:
        graph: the fact memory of one scope.
        config: number, length, decay and seed.
        starts: ids of the facts to start from; those that are new since the last time.
    """
    generator = random.Random(config.seed)
    index_of = {fact.id: i for i, fact in enumerate(graph.facts)}
    found: dict[tuple[int, ...], tuple[float, Path]] = {}
    for start in starts:
        if start not in index_of:
            continue
        for _ in range(config.walks_per_fact):
            length = generator.randint(2, config.longest)
            walk, links, weight = _walk(graph, index_of[start], length, config.decay, generator)
            if len(walk) < 2:
                continue
            path = Path(facts=tuple(graph.facts[i] for i in walk), links=tuple(links))
            score = weight ** (1 / len(links))
            key = tuple(sorted(walk))
            if key not in found or found[key][0] < score:
                found[key] = (score, path)
    ranked = sorted(found.values(), key=lambda pair: (-pair[0], pair[1].facts[0].id))
    return [path for _, path in ranked]


def relation_pattern(path: Path) -> tuple[str, ...]:
    """The relations of a path in order; paths with one pattern are lifted together."""
    return tuple(" ".join(content_terms(f.relation)) or f.relation for f in path.facts)


def _walk(
    graph: FactGraph, start: int, length: int, decay: float, generator: random.Random
) -> tuple[list[int], list[str], float]:
    walk, links, weight = [start], [], 1.0
    relations = Counter([graph.facts[start].relation])
    while len(walk) < length:
        step = _step(graph, walk, relations, decay, generator)
        if step is None:
            break
        index, link, step_weight = step
        walk.append(index)
        links.append(link)
        weight *= step_weight
        relations[graph.facts[index].relation] += 1
    return walk, links, weight


def _step(
    graph: FactGraph,
    walk: list[int],
    relations: Counter[str],
    decay: float,
    generator: random.Random,
) -> tuple[int, str, float] | None:
    """Draw the next fact, the entity that leads to it, and its weight."""
    here = walk[-1]
    choices: list[tuple[int, str, float]] = []
    for link in graph.entities[here]:
        neighbours = graph.by_entity[link]
        damping = math.log(2 + len(neighbours))
        hub = link in graph.hubs
        for index in _draw(neighbours, generator):
            fact = graph.facts[index]
            gap = graph.days[index] - graph.days[here]
            if index in walk or gap < 0 or relations[fact.relation] > 1:
                continue
            cosine = float(graph.vectors[here] @ graph.vectors[index])
            if cosine < (HUB_COSINE if hub else STEP_COSINE) or cosine > 0.95:
                continue
            choices.append((index, link, math.exp(-decay * gap) * cosine / damping))
    if not choices:
        return None
    return generator.choices(choices, weights=[weight for _, _, weight in choices])[0]


def _draw(neighbours: Sequence[int], generator: random.Random) -> Sequence[int]:
    if len(neighbours) <= CANDIDATES:
        return neighbours
    return generator.sample(neighbours, CANDIDATES)
