"""How far long work is: bars on a terminal, now and then a plain line elsewhere. To stderr.

Knows stages by their names only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from rulemem.cli.screen import Screen, printable

if TYPE_CHECKING:
    from rulemem.models.fetch import FetchProgress
    from rulemem.reports import Progress

_SECONDS_BETWEEN_LINES = 10.0
_MB = 1e6

Advance: TypeAlias = Callable[[str, int, int], None]
"""Told the name of a step, how much of it is done and how much there is."""


@contextmanager
def show_stages(screen: Screen) -> Iterator[Callable[[Progress], None]]:
    """Yield what a long call of `Memory` reports to."""
    with _advancing(screen, unit="") as advance:
        yield lambda progress: advance(progress.stage, progress.done, progress.total)


@contextmanager
def show_downloads(screen: Screen) -> Iterator[Callable[[FetchProgress], None]]:
    """Yield what a fetch of models reports to."""
    with _advancing(screen, unit=" MB") as advance:

        def report(progress: FetchProgress) -> None:
            done, total = round(progress.done_bytes / _MB), round(progress.total_bytes / _MB)
            advance(f"{progress.model} {progress.phase}", done, total)

        yield report


@contextmanager
def _advancing(screen: Screen, *, unit: str) -> Iterator[Advance]:
    if screen.quiet:
        yield lambda _step, _done, _total: None
    elif sys.stderr.isatty():
        with _bars(unit) as advance:
            yield advance
    else:
        yield _Lines(screen, unit)


@contextmanager
def _bars(unit: str) -> Iterator[Advance]:
    """One bar per step, on the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(f"{{task.completed:.0f}}/{{task.total:.0f}}{unit}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def advance(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(printable(step), total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield advance


class _Lines:
    """A line when a step begins, when it ends, and every few seconds between."""

    def __init__(self, screen: Screen, unit: str) -> None:
        self._screen = screen
        self._unit = unit
        self._last: tuple[str, int] = ("", -1)
        self._due = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        now = time.monotonic()
        known = step == self._last[0]
        if (known and now < self._due and done < total) or (step, done) == self._last:
            return
        self._last = step, done
        self._due = now + _SECONDS_BETWEEN_LINES
        self._screen.note(f"{step} {done}/{total}{self._unit}")
