"""How far a run is: bars with the time left on a terminal, plain lines elsewhere. To stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rulemem.bench.run import Advance


@contextmanager
def show_progress() -> Iterator[Advance]:
    """Yield what a run reports to."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield _Lines(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeLeft(compact=True, elapsed_when_finished=True),
    )
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def advance(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield advance


class _Lines:
    """Says when a step begins and when it is done."""

    def __init__(self, console: Any) -> None:
        self._console = console
        self._label = ""

    def __call__(self, label: str, done: int, total: int) -> None:
        if label != self._label or done == total:
            self._label = label
            self._console.print(f"{label} {done}/{total}", markup=False, highlight=False)
