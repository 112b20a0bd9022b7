"""RuleMem under test: the product as it is, its ablations, and the controls.

An arm is a preset of `RecallConfig`, over the same memory, and for controls a change of what the
memory says (`overlays.py`). What is left out has weight 0; all else keeps its default.
What each method owes is said in `systems.MemorySystem`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from rulemem.bench.baselines import show_turn
from rulemem.bench.locomo import base_key
from rulemem.bench.overlays import Overlay, RandomKeys, RandomRules, WithoutValidation
from rulemem.bench.shared_store import SCOPE, SharedStores
from rulemem.bench.systems import Ingested, Passage, Reply
from rulemem.errors import ConfigError
from rulemem.memory import Memory
from rulemem.models.choose import Models
from rulemem.ports import Store
from rulemem.top_down.ground import Question
from rulemem.top_down.guided_recall import RecallConfig, Recalled
from rulemem.types import Evidence, Turn

NAME = "rulemem"
_WITHOUT_SIGNAL = f"{NAME}-minus-"
# signals by what their names begin with, so that one that is added belongs to its kind
_TURNS = ("turn_", "window_", "next_")
_KEYS, _BODIES = "keys", "bodies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to run RuleMem."""

    name: str
    about: str
    recall: RecallConfig = field(default_factory=RecallConfig)
    overlay: type[Overlay] | None = None


def list_arms() -> dict[str, Arm]:
    """All arms by name: the product, the ablations, the controls, each signal left out."""
    default = RecallConfig()
    no_rules = _set(default, _list_signals(_KEYS, _BODIES), 0.0)
    strength = max(default.bodies, default.bodies_of_why) or 1.0
    arms = [
        Arm(name=NAME, about="the product as it is"),
        Arm(name=f"{NAME}-no-rules", about="neither head keys nor bodies", recall=no_rules),
        Arm(
            name=f"{NAME}-bodies",
            about="rules by their bodies only, whatever is asked, as in the paper",
            recall=_set(no_rules, _list_signals(_BODIES), strength),
        ),
        Arm(
            name=f"{NAME}-no-rpc",
            about="every induced rule admitted",
            overlay=WithoutValidation,
        ),
        Arm(
            name=f"{NAME}-facts-only",
            about="only facts vote for turns",
            recall=_set(no_rules, _list_signals(*_TURNS), 0.0),
        ),
        Arm(
            name=f"{NAME}-random-keys",
            about="control: head keys point to random turns of the same speaker",
            overlay=RandomKeys,
        ),
        Arm(
            name=f"{NAME}-random-rules",
            about="control: random admitted rules are activated",
            overlay=RandomRules,
        ),
    ]
    arms += [
        Arm(
            name=f"{_WITHOUT_SIGNAL}{signal}",
            about=f"{signal} left out",
            recall=_set(default, [signal], 0.0),
        )
        for signal in _list_signals("")
        if getattr(default, signal)
    ]
    return {arm.name: arm for arm in arms}


def _set(config: RecallConfig, signals: Iterable[str], weight: float) -> RecallConfig:
    changed: dict[str, Any] = dict.fromkeys(signals, weight)
    return replace(config, **changed)


def _list_signals(*beginnings: str) -> list[str]:
    """Names of the signals that begin so; whole numbers of a config are limits, no weights."""
    config = RecallConfig()
    names = [f.name for f in fields(config) if isinstance(getattr(config, f.name), float)]
    return [name for name in names if name.startswith(beginnings)]


class RuleMemSystem:
    """An arm behind the benchmark's protocol.

    Args:
        arm: which one.
        stores: where the memories are.
        seed: of the controls.
    """

    ranked = True

    def __init__(self, arm: Arm, stores: SharedStores, seed: int) -> None:
        self.name = arm.name
        self.settings: Mapping[str, Any] = {
            "about": arm.about,
            "recall": asdict(arm.recall),
            "overlay": arm.overlay.__name__ if arm.overlay else "",
        }
        self._arm = arm
        self._stores = stores
        self._seed = seed
        self._conversation = ""
        self._memory: _ArmMemory | None = None

    def open(self, conversation: str, folder: Path) -> None:
        self._conversation = conversation

    def ingest(self, turns: Sequence[Turn]) -> Ingested:
        ingested = self._stores.build(self._conversation, turns)
        overlay = self._arm.overlay
        self._memory = _ArmMemory(
            self._stores.path(self._conversation),
            models=self._stores.models,
            recall_config=self._arm.recall,
            overlay=(lambda store: overlay(store, SCOPE, self._seed)) if overlay else None,
        )
        return ingested

    def retrieve(self, query: str, k: int) -> list[Passage]:
        memory = self._opened()
        found = memory.search(query, scope=SCOPE, limit=k)
        return [_passage(item, memory.last) for item in found]

    def render(self, passages: Sequence[Passage]) -> str:
        return "\n".join(passage.text for passage in passages)

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        """Ask the product, which recalls for itself and has its own rules in its prompt.

        Raises:
            ConfigError: a preamble, which the product has no place for.
        """
        if preamble:
            raise ConfigError(f"{self.name!r} takes no preamble: its prompt has its own rules.")
        answer = self._opened().ask(question, scope=SCOPE)
        turns = {turn.id: turn.key for turn in self._opened().turns(scope=SCOPE)}
        return Reply(
            text=answer.text,
            refused=not answer.answerable,
            cost=answer.cost,
            rules=tuple(activation.rule.id for activation in answer.activations),
            cited=tuple(base_key(turns[quote.turn_id]) for quote in answer.quotes),
        )

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _opened(self) -> _ArmMemory:
        assert self._memory is not None  # the runner ingests before it asks
        return self._memory


class _ArmMemory(Memory):
    """The product's memory, seen through an overlay, with its last recall kept."""

    def __init__(
        self,
        path: Path,
        *,
        models: Models,
        recall_config: RecallConfig,
        overlay: Callable[[Store], Overlay] | None,
    ) -> None:
        super().__init__(path, models=models, recall_config=recall_config)
        self.last = Recalled(evidence=())
        if overlay is not None:
            self._store = cast(Store, overlay(self._store))

    def _recall(
        self, scope: str, question: Question, limit: int, premises: Sequence[str] = ()
    ) -> Recalled:
        self.last = super()._recall(scope, question, limit, premises)
        return self.last


def _passage(item: Evidence, recalled: Recalled) -> Passage:
    """An item of a search; the head keys that led to it are named."""
    keys = [f"key:{hit.key.id}" for hit in recalled.keys if item.turn.id in hit.key.turn_ids]
    routes = [route for route in item.routes if route != "key"]
    return Passage(
        text=show_turn(item.turn),
        turns=(base_key(item.turn.key),),
        score=item.score,
        routes=(*routes, *keys),
    )
