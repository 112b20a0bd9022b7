"""What stands around a time and changes it: "since", "the week of", "in the evening", "from … to".

An operator is a pattern that ends where the time begins (or begins where it ends) and a function
that makes the new interval of the old one. Operators stack: "since the end of last month".

Knows nothing of how the inner time was read. Open intervals take no operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from rulemem.times import spans
from rulemem.times.relative import Frame, bounds_of, group, moved, series_of
from rulemem.times.spans import UNKNOWN
from rulemem.times.words import (
    COUNT,
    FEW,
    ORDINAL,
    PART_OF_DAY,
    SEASON,
    WEEKDAY,
    digits_for,
    weekday_number,
)
from rulemem.types import When

Match = re.Match[str]
Change = Callable[[Match, When, datetime], When | None]  # the datetime is the start of the time
_END = re.compile(r"\s*(?:the\s+)?(?:very\s+)?end\b", re.IGNORECASE)
REACH = 48  # characters before a time that an operator may span


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Words next to a time that change it."""

    pattern: re.Pattern[str]
    apply: Change
    bound: bool = False  # a bound in time, which "after last week" and "before today" are not


def _frame(start: datetime) -> Frame:
    return Frame(base=start, zone=start.tzinfo, tense="")


def _thing_of(match: Match, when: When, start: datetime) -> When | None:
    """ "the week of 23 August", "the weekend of 5 June", "the Friday of that week"."""
    thing = group(match, "thing")
    if (weekday := weekday_number(thing)) is not None:
        return spans.weekly(weekday, start)(0) if when.precision == "week" else None
    if when.precision not in ("day", "span"):
        return None
    return spans.weekend(start) if thing == "weekend" else spans.week(start)


def _thing_beside(match: Match, when: When, start: datetime) -> When | None:
    """ "the week before 9 June" is "last week" as of that day; "the Friday after" likewise."""
    before, thing = group(match, "side") not in ("after", "following"), group(match, "thing")
    if thing in ("day", "night", "morning", "evening", "afternoon"):
        edge = start if before else (when.end or start) - timedelta(days=1)
        found = spans.day(spans.shift(edge, -1 if before else 1, "day"))
        return found if thing == "day" else spans.part_of_day(found, thing)
    series = series_of(thing, _frame(start))
    if before:
        return series(-1)
    first = series(0)
    begun = first.start is not None and first.start <= spans.midnight(start)
    return series(1) if begun else first


def _counted_beside(match: Match, when: When, start: datetime) -> When | None:
    """ "two weeks before 9 June", "a few days after 3 May 2021"."""
    before = group(match, "side") in ("before", "prior to")
    count, unit = match["n"].lower().rsplit(None, 1)
    unit = unit.rstrip("s")
    if size := bounds_of(count):
        low, high = (-size[1], -size[0]) if before else size
        return spans.spread(start, low, high, unit)
    at = moved(match["n"], _frame(start), back=before)
    return spans.UNITS[unit](at) if at and unit in spans.UNITS else None


def _nth_of(match: Match, when: When, start: datetime) -> When | None:
    """ "the first week of May" (days 1-7), "the last Friday of June", "the second half of 2020"."""
    end, word, thing = when.end, group(match, "nth"), group(match, "thing")
    if end is None or when.precision not in ("month", "season", "year"):
        return None
    nth = 0 if word == "last" else int(digits_for(word) or 0)
    if thing == "half":
        halfway = {"month": start.replace(day=16), "year": spans.shift(start, 6, "month")}
        middle = halfway.get(when.precision) or spans.midnight(start + (end - start) / 2)
        half = (start, middle) if nth == 1 else (middle, end)
        return When(start=half[0], end=half[1], precision="span") if nth <= 2 else None
    if thing == "week":
        first = end - timedelta(days=7) if nth == 0 else start + timedelta(days=7 * (nth - 1))
        found = When(start=first, end=first + timedelta(days=7), precision="span")
    elif thing == "weekend":
        series = spans.repeat("weekend", start if nth else end - timedelta(days=7))
        found = series(max(nth - 1, 0))
    else:
        weekday = weekday_number(thing) or 0
        base = start if nth else end - timedelta(days=7)
        found = spans.weekly(weekday, base)(max(nth - 1, 0))
    return found if found.start is not None and found.start < end else UNKNOWN


def _part_of(match: Match, when: When, start: datetime) -> When | None:
    words = group(match, "part")
    if words.startswith(("start", "begin", "early")):
        return spans.third(when, "early")
    return spans.third(when, "mid" if words.startswith("mid") else "late")


def _part_of_day(match: Match, when: When, start: datetime) -> When | None:
    return spans.part_of_day(when, group(match, "part")) if when.precision == "day" else None


def _weeks_from(match: Match, when: When, start: datetime) -> When | None:
    """ "a week from Friday", "two weeks from tomorrow"."""
    at = moved(match["n"], _frame(start), back=False)
    return spans.day(at) if at and when.precision == "day" else None


def _around(match: Match, when: When, start: datetime) -> When | None:
    return spans.around(when)


def _since(match: Match, when: When, start: datetime) -> When | None:
    return spans.since(when)


def _until(match: Match, when: When, start: datetime) -> When | None:
    return spans.until(when)


def _after(match: Match, when: When, start: datetime) -> When | None:
    return When(start=when.end, precision=when.precision)


def _before(match: Match, when: When, start: datetime) -> When | None:
    within = _END.match(match.string, match.end())  # "before the end of the year"
    return When(end=when.end if within else when.start, precision=when.precision)


def _op(pattern: str, apply: Change, *, bound: bool = False) -> Operator:
    whole = re.compile(rf"(?<!\w){pattern}\s*$", re.IGNORECASE)
    return Operator(pattern=whole, apply=apply, bound=bound)


_SIDE = r"(?P<side>before|after|prior\s+to|following)"
_BESIDE = rf"(?:week|weekend|month|year|day|{PART_OF_DAY}|{WEEKDAY}|{SEASON})"

PREFIXES: tuple[Operator, ...] = (
    _op(rf"(?P<n>(?:{COUNT}|{FEW})\s+(?:day|week|month|year)s)\s+{_SIDE}", _counted_beside),
    _op(rf"(?:the\s+|last\s+|an?\s+)?(?P<thing>{_BESIDE})\s+{_SIDE}", _thing_beside),
    _op(r"(?:the\s+)?(?P<thing>week|weekend)\s+(?:of|starting|beginning)(?:\s+on)?", _thing_of),
    _op(rf"(?:the\s+)?(?P<thing>{WEEKDAY})\s+(?:of|in)", _thing_of),
    _op(
        rf"(?:the\s+)?(?P<nth>{ORDINAL}|last|[1-5](?:st|nd|rd|th))\s+"
        rf"(?P<thing>week|weekend|half|{WEEKDAY})\s+(?:of|in)",
        _nth_of,
    ),
    _op(
        r"(?:the\s+)?(?:very\s+)?(?P<part>early|mid|late|start|beginning|middle|end)"
        r"(?:\s+(?:part\s+)?of|\s+in|\s*-)?(?:\s+the)?",
        _part_of,
    ),
    _op(rf"(?:the\s+)?(?P<part>{PART_OF_DAY})\s+of", _part_of_day),
    _op(rf"(?P<n>(?:{COUNT})\s+weeks?)\s+from", _weeks_from),
    _op(r"around(?:\s+the)?", _around),
    _op(r"(?:ever\s+)?since(?:\s+the)?", _since),
    _op(r"(?:until|till|up\s+to)(?:\s+the)?", _until),
    _op(r"after(?:\s+the)?", _after, bound=True),
    _op(r"(?:before|prior\s+to)(?:\s+the)?", _before, bound=True),
)

SUFFIXES: tuple[Operator, ...] = (
    Operator(
        pattern=re.compile(
            rf"\s+(?:in\s+the\s+|at\s+)?(?P<part>{PART_OF_DAY})\b(?!\s+(?:shift|lights|live))",
            re.IGNORECASE,
        ),
        apply=_part_of_day,
    ),
)

NEAR = re.compile(
    r"(?:the\s+)?(?:last|this|past|yesterday|today|tonight|tomorrow)\b", re.IGNORECASE
)
"""Times near the speaker, of which "after" and "before" make no bound."""
RANGE = re.compile(r"\s*(?:-|–|—|to|through|until|till|(?P<and>and))\s*(?:the\s+)?", re.IGNORECASE)
"""Between the two ends of a range."""
RANGE_START = re.compile(r"\b(?:(?P<between>between)|from)\s+(?:the\s+)?$", re.IGNORECASE)
"""Before the first end of a range."""
CLOCK_GAP = re.compile(r"[\s,]*(?:\b(?:at|on|around|about|by|in)\b)?\s*(?:the\s+)?", re.IGNORECASE)
"""Between a time of day and its day, in either order."""
