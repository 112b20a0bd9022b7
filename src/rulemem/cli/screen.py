"""The one place that prints: lines and columns for people, one JSON document for programs.

Results go to stdout, everything else to stderr. Whatever is printed is one line per line: control
characters, which could move the cursor or forge a line, are shown as escapes. Knows no records.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TypeAlias

from rulemem.cli.as_json import dump
from rulemem.errors import RuleMemError

_GAP = "  "
_NARROWEST = 24  # a last column with less room than this is left to the terminal
# Controls, line and paragraph separators, overrides of the writing direction, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Rows of cells under a header; the last column holds the longest text."""

    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]


Block: TypeAlias = str | Columns
"""One line, or columns."""


class Screen:
    """Where a command shows its result.

    Args:
        as_json: print the record as JSON instead of the blocks.
        quiet: print no progress, no notes, and nothing after a write that went well.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def show(self, record: object, blocks: Iterable[Block]) -> None:
        """Print what was asked for."""
        if self.as_json:
            _print([dump(record)], clean=False)
        else:
            _print(_lines(blocks))

    def report(self, record: object, blocks: Iterable[Block]) -> None:
        """Print what a write did; nothing when quiet."""
        if self.as_json or not self.quiet:
            self.show(record, blocks)

    def note(self, *lines: str) -> None:
        """Say something beside the result; nothing when quiet."""
        if not self.quiet:
            self.warn(*lines)

    def warn(self, *lines: str) -> None:
        """Say something beside the result that must be read."""
        _print(lines, to_stderr=True)

    def complain(self, error: RuleMemError) -> None:
        """Print an error of ours and what to do about it; as JSON too where that is wanted."""
        hints = error.hint.splitlines() if error.hint else []
        self.warn(f"error: {error.message}", *hints)
        if self.as_json:
            kind = type(error).__name__
            record = {"error": {"kind": kind, "message": error.message, "hint": error.hint}}
            _print([dump(record)], clean=False)


def make_streams_safe() -> None:
    """Let characters that a terminal's encoding lacks appear as escapes, never as a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    r"""Return a text as one line without control characters.

    >>> printable("a\nb\x1b[2J")
    'a b\\x1b[2J'
    """
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return " " if character.isspace() else ascii(character)[1:-1]


def _print(lines: Iterable[str], *, to_stderr: bool = False, clean: bool = True) -> None:
    """Write lines to a stream: the only function that does."""
    stream = sys.stderr if to_stderr else sys.stdout
    for line in lines:
        stream.write(f"{printable(line).rstrip() if clean else line}\n")
    stream.flush()


def _lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, str):
            yield block
        else:
            yield from _align(block)


def _align(columns: Columns) -> Iterator[str]:
    """Pad all columns but the last; on a terminal the last one is wrapped beside the others."""
    from rich.cells import cell_len

    rows = [[printable(cell) for cell in row] for row in (columns.header, *columns.rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*(row[:-1] for row in rows), strict=True)]
    indent = sum(widths) + len(_GAP) * len(widths)
    room = shutil.get_terminal_size().columns - indent if sys.stdout.isatty() else 0
    for *cells, last in rows:
        padded = (
            cell + " " * (width - cell_len(cell))
            for cell, width in zip(cells, widths, strict=True)
        )  # fmt: skip
        start = "".join(cell + _GAP for cell in padded)
        for line in _wrap(last, room) if room >= _NARROWEST else [last]:
            yield start + line
            start = " " * indent


def _wrap(text: str, room: int) -> list[str]:
    from rich.console import Console
    from rich.text import Text

    return [line.plain for line in Text(text).wrap(Console(), room)] or [""]
