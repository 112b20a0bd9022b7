"""`learn`: facts -> head keys, and facts -> paths -> rules -> verdicts, over what is new.

Stages 1 and 2 of the paper in their order. Each batch is committed with the mark of what it has
seen, so that an interrupted run continues and nothing is learned twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rulemem.bottom_up.distill import Distillation, distill_paths
from rulemem.bottom_up.head_keys import WINDOW, is_implication, propose_keys
from rulemem.bottom_up.paths import (
    FactGraph,
    SamplingConfig,
    is_informative,
    neutral_text,
    sample_paths,
)
from rulemem.bottom_up.rules import group_paths, induce_rules, merge_equal
from rulemem.consistency.evidence import gather_evidence
from rulemem.consistency.score import ConsistencyConfig
from rulemem.consistency.verdict import judge_rules
from rulemem.packs import is_by_hand
from rulemem.ports import Embedder, LikelihoodModel, Store, TextModel
from rulemem.reports import LearnReport, OnProgress, Progress
from rulemem.types import Fact, Path, Rule

_WINDOWS_PER_BATCH = 6
_FACTS_PER_PATH = 2  # one sampled path is read for so many new facts


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnConfig:
    """What learning may spend."""

    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    consistency: ConsistencyConfig = field(default_factory=ConsistencyConfig)
    head_keys: bool = True
    distill: bool = True  # let the model judge each path; see ADR-0005 for when it pays
    most_paths: int = 240  # paths that are read in one run


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """The models and the store that learning works with."""

    store: Store
    embedder: Embedder
    text: TextModel
    likelihood: LikelihoodModel | None
    config: LearnConfig
    report: OnProgress
    rest: Callable[[], None]  # frees the generator for the scorer, and the scorer afterwards

    def learn(self, scope: str) -> LearnReport:
        """Learn from what is new in a scope."""
        keys = self._learn_keys(scope) if self.config.head_keys else LearnReport()
        if keys.unfinished:
            return keys
        return _join(keys, self._learn_rules(scope))

    def _learn_keys(self, scope: str) -> LearnReport:
        """Stage 1, step 6: what each new fact implies."""
        facts = self.store.facts_to_learn(scope, "head_keys")
        by_turn = _facts_by_turn(facts)
        turns = [t for t in self.store.turns(scope, ids=sorted(by_turn)) if t.text]
        turns.sort(key=lambda turn: (turn.conversation, turn.position))
        written, rejected, done = 0, Counter[str](), 0
        size = WINDOW * _WINDOWS_PER_BATCH
        for start in range(0, len(turns), size):
            found = propose_keys(turns[start : start + size], by_turn, self.text)
            seen = [f.id for id in found.read_turns for f in by_turn[id]]
            self._commit(scope, found.rules, "head_keys", seen)
            written += len(found.rules)
            rejected.update(found.rejected)
            done += len(found.read_turns)
            self.report(Progress(stage="head_keys", done=done, total=len(turns)))
            if found.out_of_budget:
                return LearnReport(
                    head_keys=written, lines_rejected=dict(rejected), unfinished="cap reached"
                )
        return LearnReport(head_keys=written, lines_rejected=dict(rejected))

    def _learn_rules(self, scope: str) -> LearnReport:
        """Stage 1, steps 3 to 5, and stage 2."""
        fresh = self.store.facts_to_learn(scope, "rules")
        if not fresh:
            return LearnReport(note="Nothing new to learn from.")
        paths = self._sample(scope, fresh)
        distilled = self._distill(scope, paths)
        groups = group_paths(distilled.paths, self.embedder)
        self.report(Progress(stage="induce", done=0, total=len(groups)))
        everything = self.store.rules(scope)
        induced = induce_rules(groups, _hints(everything), self.text)
        known = [rule for rule in everything if not is_implication(rule)]
        rules = merge_equal(induced.rules, known, self.embedder)
        self.report(Progress(stage="validate", done=0, total=len(rules)))
        judged = self._judge(scope, rules)
        stopped = distilled.out_of_budget or induced.out_of_budget
        seen = [] if stopped else [fact.id for fact in fresh]
        self._commit(scope, judged, "rules", seen)
        statuses = Counter(rule.status for rule in judged)
        return LearnReport(
            facts_read=len(fresh),
            paths_sampled=len(paths),
            paths_kept=len(distilled.paths),
            paths_dropped=dict(distilled.dropped),
            clauses_rejected=dict(induced.rejected),
            rules_admitted=statuses["admitted"],
            rules_rejected=statuses["rejected"],
            unfinished="cap reached" if stopped else "",
        )

    def _sample(self, scope: str, fresh: Sequence[Fact]) -> list[Path]:
        facts = [fact for fact in self.store.facts(scope) if is_informative(fact)]
        graph = FactGraph(facts, self.embedder.embed([neutral_text(fact) for fact in facts]))
        starts = [fact.id for fact in fresh]
        paths = sample_paths(graph, self.config.sampling, starts)
        most = min(self.config.most_paths, max(4, len(fresh) // _FACTS_PER_PATH))
        return _spread(paths, most)

    def _distill(self, scope: str, paths: Sequence[Path]) -> Distillation:
        """Stage 1, step 4; switched off, every path is kept."""
        if not self.config.distill:
            return Distillation(paths=tuple(paths), dropped=Counter())
        self.report(Progress(stage="distill", done=0, total=len(paths)))
        ids = {id for path in paths for fact in path.facts for id in fact.turn_ids}
        turns = {turn.id: turn for turn in self.store.turns(scope, ids=sorted(ids))}
        return distill_paths(paths, turns, self.text)

    def _judge(self, scope: str, rules: Sequence[Rule]) -> list[Rule]:
        """Stage 2: evidence, likelihoods, verdict; without a scorer rules stay candidates.

        Rules of a pack were admitted by hand, and no verdict takes that back.
        """
        by_hand = [rule for rule in rules if is_by_hand(rule)]
        rules = [rule for rule in rules if not is_by_hand(rule)]
        if self.likelihood is None or not rules:
            return [*by_hand, *rules]

        def search(texts: Sequence[str], limit: int) -> list[list[tuple[Fact, float]]]:
            found = self.store.nearest(scope, "fact", self.embedder.embed(texts), limit)
            ids = sorted({hit.item for hits in found for hit in hits})
            facts = {fact.id: fact for fact in self.store.facts(scope, ids=ids)}
            return [[(facts[h.item], h.score) for h in hits] for hits in found]

        def own(rule: Rule) -> list[Fact]:
            return self.store.facts(scope, ids=[i for key in rule.keys for i in key.fact_ids])

        evidence = gather_evidence(rules, search, own)
        self.rest()
        verdicts = judge_rules(
            rules, evidence, self.likelihood, self.embedder, self.config.consistency
        )
        self.rest()
        judged = [
            replace(rule, verdict=v, status="admitted" if v.admitted else "rejected")
            for rule, v in zip(rules, verdicts, strict=True)
        ]
        return [*by_hand, *judged]

    def _commit(self, scope: str, rules: Sequence[Rule], task: str, learned: Sequence[int]) -> None:
        texts = [key.text for rule in rules for key in rule.keys if key.id == 0]
        self.store.commit_rules(
            scope,
            rules,
            self.embedder.embed(texts),
            self.embedder.embed([rule.head for rule in rules]),
            task=task,
            learned_facts=learned,
        )


def _hints(rules: Sequence[Rule]) -> dict[int, str]:
    """What each fact suggests: the text of its first head key."""
    hints: dict[int, str] = {}
    for rule in rules:
        if is_implication(rule):
            for key in rule.keys:
                hints.setdefault(key.fact_ids[0], key.text)
    return hints


def _facts_by_turn(facts: Sequence[Fact]) -> dict[int, list[Fact]]:
    found: dict[int, list[Fact]] = {}
    for fact in facts:
        for id in fact.turn_ids:
            found.setdefault(id, []).append(fact)
    return found


def _spread(paths: Sequence[Path], most: int) -> list[Path]:
    """The best paths, no fact in more than two of them."""
    uses: Counter[int] = Counter()
    kept: list[Path] = []
    for path in paths:
        if len(kept) == most:
            break
        if all(uses[fact.id] < 2 for fact in path.facts):
            kept.append(path)
            uses.update(fact.id for fact in path.facts)
    return kept


def _join(keys: LearnReport, rules: LearnReport) -> LearnReport:
    return replace(rules, head_keys=keys.head_keys, lines_rejected=keys.lines_rejected)
