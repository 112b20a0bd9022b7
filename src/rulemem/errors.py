"""Every error that RuleMem raises on purpose.

    RuleMemError
    ├── ConfigError (ValueError)       a setting, keyword or option that cannot work
    ├── InputError (ValueError)        what the caller gave cannot be read; nothing was written
    │   └── MalformedRule              a clause that is not a Horn clause over placeholders
    ├── NotFound (KeyError)            no such turn, fact, rule or answer in this scope
    ├── StoreError                     the store cannot do what was asked
    │   └── SchemaMismatch             the file was made by another version or embedder
    └── ModelError                     a model could not be used
        ├── ModelUnavailable           not installed, not reachable, wrong checksum, timed out
        ├── RateLimited                the server asked for a pause longer than we wait
        ├── ReplyRejected              an empty, truncated or unreadable reply, after one retry
        ├── LogprobsUnavailable        the model cannot score given text
        └── BudgetExceeded             max_calls or max_tokens reached; the work can be resumed

A message says what failed, with the offending value, and `hint` what to do next. The cause is
always chained.
"""

from __future__ import annotations


class RuleMemError(Exception):
    """Base of all errors of this package."""

    retryable: bool = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigError(RuleMemError, ValueError):
    """A setting, keyword or option that cannot work."""


class InputError(RuleMemError, ValueError):
    """Input that cannot be read; nothing was written."""


class MalformedRule(InputError):
    """A clause that is not a range-restricted Horn clause over placeholders."""


class NotFound(RuleMemError, KeyError):
    """No such item in this scope."""


class StoreError(RuleMemError):
    """The store cannot do what was asked."""


class SchemaMismatch(StoreError):
    """The file was made by another schema version or another embedder."""


class ModelError(RuleMemError):
    """A model could not be used."""


class ModelUnavailable(ModelError):
    """Not installed, not reachable, wrong checksum, or timed out."""

    retryable = True


class RateLimited(ModelError):
    """The server asks for a longer pause than we are willing to wait."""

    retryable = True


class ReplyRejected(ModelError):
    """An empty, truncated or unreadable reply, after one retry."""

    retryable = True


class LogprobsUnavailable(ModelError):
    """The model cannot return log-probabilities of given text."""


class BudgetExceeded(ModelError):
    """`max_calls` or `max_tokens` is reached; finished work is stored, the rest can be resumed."""
