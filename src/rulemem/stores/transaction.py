"""What the rooms of a store ask of a database: named queries inside one transaction.

A room (`turns.py`, `facts.py`, ...) gets a `Scoped` transaction and nothing else, and every
query that it runs carries that scope. So no room can read or write another scope, whatever it
does. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Parameter = str | int | float | bytes | None | Sequence[int] | Sequence[str]
"""A bound value. A sequence travels as one parameter."""


class Row(Protocol):
    """One row, read by column name or unpacked in order."""

    def __getitem__(self, key: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """An open transaction of an engine."""

    def rows(self, query: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        """Run a named query and return all rows."""
        ...

    def run(self, query: str, parameters: Mapping[str, Parameter]) -> int:
        """Run a named statement and return how many rows it changed."""
        ...

    def run_many(self, query: str, parameters: Iterable[Mapping[str, Parameter]]) -> None:
        """Run a named statement once per set of parameters."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoped:
    """A transaction tied to one scope; scope 0 is one that holds nothing."""

    transaction: Transaction
    scope: int

    def rows(self, query: str, **parameters: Parameter) -> list[Row]:
        """Return all rows of a named query."""
        return self.transaction.rows(query, {**parameters, "scope": self.scope})

    def row(self, query: str, **parameters: Parameter) -> Row | None:
        """Return the first row, or None when there is none."""
        found = self.rows(query, **parameters)
        return found[0] if found else None

    def values(self, query: str, **parameters: Parameter) -> list[int]:
        """Return the first column of all rows: ids."""
        return [next(iter(row)) for row in self.rows(query, **parameters)]

    def value(self, query: str, **parameters: Parameter) -> int | None:
        """Return the first column of the first row: an id or a count."""
        found = self.values(query, **parameters)
        return found[0] if found else None

    def run(self, query: str, **parameters: Parameter) -> int:
        """Run a named statement and return how many rows it changed."""
        return self.transaction.run(query, {**parameters, "scope": self.scope})

    def run_many(self, query: str, parameters: Iterable[Mapping[str, Parameter]]) -> None:
        """Run a named statement once per set of parameters."""
        rows = ({**row, "scope": self.scope} for row in parameters)
        self.transaction.run_many(query, rows)

    def next_id(self, sequence: str) -> int:
        """Take an id that was never given before."""
        taken = self.value("next_id", name=sequence)
        assert taken is not None, f"no sequence {sequence!r}"
        return taken


class Transactions(Protocol):
    """Opens transactions. Leaving one by an exception undoes all that it did."""

    def reading(self, scope: str | None) -> AbstractContextManager[Scoped]:
        """A consistent view of one scope; None: of what lies across scopes."""
        ...

    def writing(self, scope: str | None, *, create: bool = True) -> AbstractContextManager[Scoped]:
        """The one writer; `create` makes a scope that does not exist yet."""
        ...
