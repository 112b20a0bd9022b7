"""RuleMem: a memory for conversational agents that learns rules and shows its proof."""

from typing import TYPE_CHECKING

from rulemem.errors import (
    BudgetExceeded,
    ConfigError,
    InputError,
    LogprobsUnavailable,
    MalformedRule,
    ModelError,
    ModelUnavailable,
    NotFound,
    RateLimited,
    ReplyRejected,
    RuleMemError,
    SchemaMismatch,
    StoreError,
)
from rulemem.types import Answer, Cost, Evidence, Fact, Receipt, Rule, Turn, When

if TYPE_CHECKING:
    from rulemem.memory import Memory

__all__ = [
    "Answer",
    "BudgetExceeded",
    "ConfigError",
    "Cost",
    "Evidence",
    "Fact",
    "InputError",
    "LogprobsUnavailable",
    "MalformedRule",
    "Memory",
    "ModelError",
    "ModelUnavailable",
    "NotFound",
    "RateLimited",
    "Receipt",
    "ReplyRejected",
    "Rule",
    "RuleMemError",
    "SchemaMismatch",
    "StoreError",
    "Turn",
    "When",
]


def __getattr__(name: str) -> object:
    """Load `Memory`, and with it numpy and all stages, when it is first asked for."""
    if name == "Memory":
        from rulemem.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
