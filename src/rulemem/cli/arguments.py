"""Dates and ids as people type them, and the parameters that several commands share."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import Annotated

import typer

_DATE_ONLY = 10  # characters of 2024-04-15
_ID = re.compile(r"[a-z]?(\d+)", re.IGNORECASE)


def parse_now(text: str) -> datetime:
    """Read a moment; a date alone is its beginning."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no date. Write it like 2024-04-15 or 2024-04-15T18:30."
        ) from error


def parse_as_of(text: str) -> datetime:
    """Read a moment; a date alone is its end, so that the day itself counts.

    >>> parse_as_of("2024-04-15").isoformat()
    '2024-04-15T23:59:59.999999'
    """
    moment = parse_now(text)
    return datetime.combine(moment, time.max) if len(text.strip()) <= _DATE_ONLY else moment


def parse_id(text: str) -> int:
    """Read an id as it is shown: "a3", or the number alone.

    >>> parse_id("a3"), parse_id("3")
    (3, 3)
    """
    match = _ID.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no id. Write it as it is shown, such as a3 or 3.")
    return int(match[1])


AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", metavar="DATE", parser=parse_as_of, help="Only what was said by then."),
]
Now = Annotated[
    datetime | None,
    typer.Option(
        "--now", metavar="DATE", parser=parse_now, help='The time of asking, for "last week".'
    ),
]
