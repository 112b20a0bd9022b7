"""No connection crosses a fork: SQLite keeps its locks per process, and a child that inherits an
open file believes to hold locks that it does not. Even opening the file anew in the child then
corrupts it, so that connections are closed before every fork and opened again on both sides.

The one piece of module state in the package, because a fork concerns the whole process.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What holds files that must not be open while the process forks."""

    def before_fork(self) -> None:
        """Close everything, and let nothing be opened until `after_fork`."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """Go on."""
        ...


_watched: WeakSet[Forkable] = WeakSet()
_forking: list[Forkable] = []


def watch(store: Forkable) -> None:
    """Call a store before and after every fork for as long as it lives."""
    _hook_into_forks()
    _watched.add(store)


@cache  # once per process; hooks cannot be taken back
def _hook_into_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before,
            after_in_parent=lambda: _after(in_child=False),
            after_in_child=lambda: _after(in_child=True),
        )


def _before() -> None:
    _forking[:] = sorted(_watched, key=id)  # one order, so that two forks at once do not deadlock
    for store in _forking:
        store.before_fork()


def _after(*, in_child: bool) -> None:
    while _forking:
        _forking.pop().after_fork(in_child=in_child)
