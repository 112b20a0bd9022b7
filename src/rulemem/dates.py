"""Turn the time expressions of a dialogue into intervals, and intervals into words.

What the words say is resolved against the timestamp of the turn that says them, never against the
clock of the machine; where that is unknown a relative time stays unknown. The precision is that
of the words: "three weeks ago" is a week, "ten years ago" a year, "a few days ago" a span.

Candidates are found by our own table (`times.rules`); free search with the library takes "may"
and "sun" for dates. Then:

- `dateparser` reads dates with a month name ("12 May 2021", "May 12th": the year that is not said
  included), times of day ("8:30 p.m.") and counted offsets ("twenty-three days ago", "in two
  weeks", "1 year and 2 months ago"), and with them the counts of all our own rules.
- Our rules read what it cannot, or reads as a point: weeks, weekends, months, seasons, years,
  weekdays ("last Friday", "the Friday before last"), vague counts ("a few weeks back"), windows
  ("the past two months"), "since", "until", "for three years now", early, mid and late, "the week
  of", "the week before", "the first weekend of", parts of days, ranges, holidays, decades.

Where words leave a choice, these were made. All of them are assumptions.

- "last Friday" is the latest one before today, "next Friday" the first one after today; "next
  weekend" is the one after "this weekend", "next summer" the first that has not begun.
- A bare "Friday", "June" or "3 May" is the latest one, unless the nearest verb speaks of the
  future; "the summer" without any tense is no time, and neither is what is usually done then.
- Weeks begin on Monday; "last week" said on a Sunday is the week that ends with it.
- "the week before 9 June" is "last week" as of that day, "the Friday before" likewise.
- "a few" is 2 to 6, "the other day" one of the last fourteen days (`times.relative`); parts of
  days, thirds of months and years, seasons: see `times.spans`.
- "until 2019" includes 2019; "before 2019" does not.
- A bare time of day belongs to the only day named in its sentence, else to the day of the turn.
- "12/5" without a year is unknown; "12/5/2023" is 12 May.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rulemem.times import spans
from rulemem.times.finding import find_expressions
from rulemem.times.spans import MONTH_NAMES
from rulemem.times.stamps import parse_timestamp
from rulemem.types import When

__all__ = [
    "MONTH_NAMES",
    "TimeMention",
    "find_times",
    "overlaps",
    "parse_timestamp",
    "render_when",
    "resolve_query_times",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """A time expression in a text."""

    start: int  # offset of its first character
    end: int  # offset after its last character
    when: When


def find_times(text: str, said_at: datetime | None) -> list[TimeMention]:
    """Find the time expressions of an utterance.

    Args:
        text: What was said.
        said_at: When it was said. With None, relative times have precision "unknown".

    Returns:
        Mentions in order, none overlapping; `when.raw` holds their words. Results carry the
        offset of `said_at`. A time that is not on the calendar ("in my twenties") and a date that
        does not exist have precision "unknown".

    >>> [mention] = find_times("We met last Friday.", datetime(2023, 5, 8, 13, 56))
    >>> render_when(mention.when)
    '5 May 2023'
    """
    return [
        TimeMention(
            start=found.start,
            end=found.end,
            when=replace(found.when, raw=text[found.start : found.end]),
        )
        for found in find_expressions(text, said_at)
    ]


def resolve_query_times(question: str, now: datetime | None) -> list[When]:
    """The times that a question asks about; a relative one without `now` is unknown.

    An unknown time must be said to be unknown: it never means all time.
    """
    return [mention.when for mention in find_times(question, now)]


def overlaps(a: When, b: When) -> bool | None:
    """Whether two intervals share an instant; None where either is unknown.

    A naive time and one with an offset are compared by their wall clocks.
    """
    if _is_unknown(a) or _is_unknown(b):
        return None
    return _precedes(a.start, b.end) and _precedes(b.start, a.end)


def _is_unknown(when: When) -> bool:
    return when.precision == "unknown" or (when.start is None and when.end is None)


def _precedes(start: datetime | None, end: datetime | None) -> bool:
    if start is None or end is None:
        return True
    if (start.tzinfo is None) != (end.tzinfo is None):
        return _wall(start) < _wall(end)
    return start < end


def _wall(at: datetime) -> datetime:
    return at.replace(tzinfo=None, fold=0)


def render_when(when: When) -> str:
    """State a time at its precision; its own words if it is unknown.

    >>> render_when(When(start=datetime(2016, 1, 1), precision="year"))
    'since 2016'
    """
    if _is_unknown(when):
        return when.raw
    start = None if when.start is None else _wall(when.start)
    end = None if when.end is None else _wall(when.end)
    try:
        if start is None:
            return f"until {_last_unit(end, when)}" if end else when.raw
        if end is None:
            return f"since {_name(start, when)}"
        return _between(start, end) if when.precision == "span" else _name(start, when)
    except (OverflowError, ValueError):  # at the very ends of the calendar
        return when.raw


def _name(start: datetime, when: When) -> str:
    """Name the unit that begins at `start`."""
    if when.precision == "minute":
        return f"{_clock(start)} on {_date(start)}"
    if when.precision == "day":
        part = spans.part_name(start, when)
        return f"the {part} of {_date(start)}" if part else _date(start)
    if when.precision == "week":
        return f"the week of {_date(start)}"
    if when.precision == "month":
        return f"{MONTH_NAMES[start.month - 1]} {start.year}"
    if when.precision == "season":
        return f"{spans.season_name(start)} {start.year}".strip()
    if when.precision == "year":
        return str(start.year)
    return _aligned(start, start)


def _last_unit(end: datetime, when: When) -> str:
    """Name the unit that ends at `end`."""
    if when.precision == "span":
        last = end - timedelta(days=1)
        return _date(last) if _is_midnight(end) else f"{_clock(end)} on {_date(end)}"
    count, unit = (3, "month") if when.precision == "season" else (1, when.precision)
    return _name(spans.shift(end, -count, unit), when)


def _between(start: datetime, end: datetime) -> str:
    if not (_is_midnight(start) and _is_midnight(end)):
        if start.date() == end.date():
            return f"between {_clock(start)} and {_clock(end)} on {_date(start)}"
        first, last = (f"{_clock(at)} on {_date(at)}" for at in (start, end))
        return f"between {first} and {last}"
    if start.weekday() == 5 and end - start == timedelta(days=2):
        return f"the weekend of {_date(start)}"
    if end - start <= timedelta(days=1):
        return _date(start)
    return _aligned(start, end)


def _aligned(start: datetime, end: datetime) -> str:
    """Both ends in years or months where the interval is made of them, else in days."""
    last = end - timedelta(days=1) if end > start else start
    whole_months = start.day == 1 and (end.day == 1 or end == start)
    if whole_months and start.month == 1 and (end.month == 1 or end == start):
        names = [str(start.year), str(last.year)]
    elif whole_months:
        names = [f"{MONTH_NAMES[at.month - 1]} {at.year}" for at in (start, last)]
    else:
        names = [_date(start), _date(last)]
    first, second = (name.split(" ") for name in names)
    if first == second:
        return names[0]
    while len(first) > 1 and first[-1] == second[len(first) - 1]:
        first.pop()
    return f"between {' '.join(first)} and {names[1]}"


def _is_midnight(at: datetime) -> bool:
    return at.hour == at.minute == at.second == at.microsecond == 0


def _date(at: datetime) -> str:
    return f"{at.day} {MONTH_NAMES[at.month - 1]} {at.year}"


def _clock(at: datetime) -> str:
    hour, half = at.hour % 12 or 12, "am" if at.hour < 12 else "pm"
    return f"{hour}:{at.minute:02} {half}" if at.minute else f"{hour} {half}"
