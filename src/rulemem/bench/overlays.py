"""Control arms: a store seen through one change, while its file stays as it is.

An overlay passes every call on to the store but the few that it changes, so that all arms of an
experiment share one memory and differ in one thing only. The product has no such switch.
What each method owes is said in `ports.Store`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulemem.bottom_up.head_keys import is_implication
from rulemem.ports import Store
from rulemem.types import HeadKey, Hit, Rule, RuleStatus

_VALIDATED: tuple[RuleStatus, ...] = ("admitted", "rejected", "candidate")
_ALL = 1_000_000


class Overlay:
    """A store with something changed."""

    def __init__(self, store: Store, scope: str, seed: int) -> None:
        self._store = store
        self._scope = scope
        self._seed = seed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class RandomKeys(Overlay):
    """Each head key points to random turns of the speaker whose turns it came from."""

    def __init__(self, store: Store, scope: str, seed: int) -> None:
        super().__init__(store, scope, seed)
        self._speaker: dict[int, str] = {}
        self._said: dict[str, list[int]] = {}
        for turn in store.turns(scope):
            self._speaker[turn.id] = turn.speaker
            self._said.setdefault(turn.speaker, []).append(turn.id)

    def keys(self, scope: str, ids: Sequence[int]) -> list[HeadKey]:
        return [self._moved(key) for key in self._store.keys(scope, ids)]

    def _moved(self, key: HeadKey) -> HeadKey:
        dice = random.Random(f"{self._seed}:{key.id}")
        turns = [dice.choice(self._said[self._speaker[id]]) for id in key.turn_ids]
        return replace(key, turn_ids=tuple(dict.fromkeys(turns)))


class RandomRules(Overlay):
    """Whatever is asked, random admitted rules answer, as strongly as the right ones would."""

    def nearest_heads(
        self, scope: str, vector: NDArray[np.float32], limit: int, status: RuleStatus
    ) -> list[Hit]:
        right = self._store.nearest_heads(scope, vector, _ALL, status)
        dice = random.Random(f"{self._seed}:{vector.tobytes().hex()}")
        drawn = dice.sample([hit.item for hit in right], min(limit, len(right)))
        return [Hit(item=item, score=hit.score) for item, hit in zip(drawn, right, strict=False)]


class WithoutValidation(Overlay):
    """Every induced rule counts as admitted, whatever its score: the paper's "w/o RPC"."""

    def __init__(self, store: Store, scope: str, seed: int) -> None:
        super().__init__(store, scope, seed)
        self._induced = {
            rule.id
            for status in _VALIDATED
            for rule in store.rules(scope, status=status)
            if not is_implication(rule)
        }

    def nearest_heads(
        self, scope: str, vector: NDArray[np.float32], limit: int, status: RuleStatus
    ) -> list[Hit]:
        if status != "admitted":
            return self._store.nearest_heads(scope, vector, limit, status)
        hits = [
            hit
            for one in _VALIDATED
            for hit in self._store.nearest_heads(scope, vector, _ALL, one)
            if hit.item in self._induced
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.item))[:limit]

    def rules(
        self,
        scope: str,
        *,
        ids: Sequence[int] | None = None,
        status: RuleStatus | None = None,
    ) -> list[Rule]:
        rules = [
            replace(rule, status="admitted") if rule.id in self._induced else rule
            for rule in self._store.rules(scope, ids=ids)
        ]
        return [rule for rule in rules if status in (None, rule.status)]
