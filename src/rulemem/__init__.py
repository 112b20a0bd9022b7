"""RuleMem: a memory for conversational agents that learns rules and shows its proof."""

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
from rulemem.memory import Memory
from rulemem.types import Answer, Cost, Evidence, Fact, Receipt, Rule, Turn, When

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
