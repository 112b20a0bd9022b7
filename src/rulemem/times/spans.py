"""Calendar intervals: days, weeks, seasons, parts of them, and recurring ones.

Knows `When` and datetimes; reads no words and no clock. Arithmetic is on wall-clock time, so an
offset is carried along as it is and daylight saving never moves a result.

Conventions, all of them assumptions: a week begins on Monday and a weekend is its Saturday and
Sunday; seasons are the northern meteorological ones, and winter belongs to the year of its
December; a part of a day lies within that day (night from 18:00 to midnight); early, mid and late
are the thirds of a month (days 1-10, 11-20, the rest), season or year.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Literal

from rulemem.types import Precision, When

Part = Literal["early", "mid", "late"]
Tense = Literal["past", "future", "habit", ""]
Series = Callable[[int], When]
"""A recurring interval: 0 is the first that ends after today began, -1 the one before it."""

UNKNOWN = When()
MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)  # own names: those of the standard library follow the locale
SEASONS = {"winter": 12, "spring": 3, "summer": 6, "autumn": 9, "fall": 9}  # first month
_PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}
_THIRDS = {"early": 0, "mid": 1, "late": 2}
_WEEK_CUTS = (0, 2, 4, 7)  # Monday-Tuesday, Wednesday-Thursday, Friday-Sunday


def midnight(at: datetime) -> datetime:
    """The first instant of the day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def date_at(year: int, month: int, day: int, zone: tzinfo | None) -> datetime:
    """Midnight of a date in the zone of the speaker."""
    return datetime(year, month, day, tzinfo=zone)


def shift(at: datetime, count: int, unit: str) -> datetime:
    """Move by whole units; a day that the target month lacks becomes its last day."""
    if unit in ("minute", "hour", "day", "week"):
        return at + timedelta(**{f"{unit}s": count})
    months = count * {"month": 1, "year": 12, "decade": 120}[unit]
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    day = min(at.day, calendar.monthrange(year, month + 1)[1])
    return at.replace(year=year, month=month + 1, day=day, fold=0)


def _from(start: datetime, count: int, unit: str, precision: Precision) -> When:
    return When(start=start, end=shift(start, count, unit), precision=precision)


def minute(at: datetime) -> When:
    """The minute that holds the instant."""
    return _from(at.replace(second=0, microsecond=0, fold=0), 1, "minute", "minute")


def day(at: datetime) -> When:
    """The day that holds the instant."""
    return _from(midnight(at), 1, "day", "day")


def week(at: datetime) -> When:
    """The week, from Monday, that holds the instant."""
    return _from(midnight(at) - timedelta(days=at.weekday()), 1, "week", "week")


def weekend(at: datetime) -> When:
    """Saturday and Sunday of the week that holds the instant."""
    monday = midnight(at) - timedelta(days=at.weekday())
    return _from(monday + timedelta(days=5), 2, "day", "span")


def month(at: datetime) -> When:
    """The calendar month that holds the instant."""
    return _from(midnight(at).replace(day=1), 1, "month", "month")


def season(name: str, year: int, zone: tzinfo | None) -> When:
    """The season that begins in the year."""
    return _from(date_at(year, SEASONS[name], 1, zone), 3, "month", "season")


def year(at: datetime) -> When:
    """The calendar year that holds the instant."""
    return _from(midnight(at).replace(month=1, day=1), 1, "year", "year")


def hour(at: datetime) -> When:
    """Half an hour either side: hours are said by people who round."""
    return When(start=at - timedelta(minutes=30), end=at + timedelta(minutes=30), precision="span")


def decade(at: datetime) -> When:
    """A year either side of the year of the instant."""
    return union(year(shift(at, -1, "year")), year(shift(at, 1, "year")))


UNITS: dict[str, Callable[[datetime], When]] = {
    "minute": minute,
    "hour": hour,
    "day": day,
    "week": week,
    "weekend": weekend,
    "month": month,
    "year": year,
    "decade": decade,
}


def union(first: When, last: When) -> When:
    """From the start of one interval to the end of another; a time of day is an end itself."""
    end = last.start if last.precision == "minute" else last.end
    return When(start=first.start, end=end, precision="span")


def since(when: When) -> When:
    """Open towards the future, from the start of the interval."""
    return replace(when, end=None)


def until(when: When) -> When:
    """Open towards the past, up to and with the interval."""
    return replace(when, start=None)


def part_of_day(when: When, name: str) -> When:
    """Morning, afternoon, evening or night of a day; other intervals stay as they are."""
    if when.start is None or when.precision != "day":
        return when
    first, last = _PARTS_OF_DAY[name]
    start = midnight(when.start)
    return replace(when, start=start + timedelta(hours=first), end=start + timedelta(hours=last))


def part_name(start: datetime, when: When) -> str:
    """The name of the part of a day that an interval is; "" for a whole day."""
    if start.hour == 0 or when.end is None:
        return ""
    return {5: "morning", 12: "afternoon", 18: "evening"}.get(start.hour, "")


def season_name(start: datetime) -> str:
    """The season that begins in this month; "" for another month."""
    return next((name for name, first in SEASONS.items() if first == start.month), "")


def third(when: When, part: Part) -> When | None:
    """The early, middle or late third; None for what is too short to have one."""
    start, end, index = when.start, when.end, _THIRDS[part]
    if start is None or end is None:
        return None
    if when.precision == "week":
        cuts = [start + timedelta(days=days) for days in _WEEK_CUTS]
    elif when.precision == "month":
        cuts = [start, start.replace(day=11), start.replace(day=21), end]
    elif when.precision in ("season", "year") or (end - start).days > 360:
        months = (end.year - start.year) * 12 + end.month - start.month
        cuts = [shift(start, months * cut // 3, "month") for cut in range(4)]
    else:
        return None
    return When(start=cuts[index], end=cuts[index + 1], precision="span")


def around(when: When) -> When:
    """Two days either side of a day, half an hour either side of a time of day."""
    if when.start is None or when.end is None or when.precision not in ("day", "minute"):
        return when
    if when.precision == "minute":
        return hour(when.start)
    margin = timedelta(days=2)
    return When(start=when.start - margin, end=when.end + margin, precision="span")


def spread(at: datetime, low: int, high: int, unit: str) -> When:
    """All units from `low` to `high` away; negative counts lie in the past."""
    cover = UNITS[unit]
    return union(cover(shift(at, low, unit)), cover(shift(at, high, unit)))


def repeat(unit: str, at: datetime) -> Series:
    """Weeks, weekends, months or years one after another."""
    if unit == "week":  # on a Sunday the week that ends counts as the last one
        return lambda index: week(shift(at, index + (index < 0 and at.weekday() == 6), "week"))
    if unit == "weekend":
        return lambda index: weekend(shift(at, index, "week"))
    return lambda index: UNITS[unit](shift(midnight(at), index, unit))


def weekly(weekday: int, at: datetime) -> Series:
    """One day of the week (Monday is 0), week after week."""
    first = midnight(at) + timedelta(days=(weekday - at.weekday()) % 7)
    return lambda index: day(shift(first, index, "week"))


def monthly(number: int, at: datetime) -> Series:
    """One day of the month; months without it are passed over."""

    def find(index: int) -> When:
        step = 1 if index >= 0 else -1
        left = index if index >= 0 else -index - 1
        first = month(at).start or at
        while True:
            has_day = number <= calendar.monthrange(first.year, first.month)[1]
            if has_day and (first.replace(day=number) >= midnight(at)) == (step > 0):
                if left == 0:
                    return day(first.replace(day=number))
                left -= 1
            first = shift(first, step, "month")

    return find


def yearly(make: Callable[[int], When], at: datetime) -> Series:
    """An interval that recurs each year, given how to make it for a year."""
    first = at.year - 1
    while (end := make(first).end) is not None and end <= midnight(at):
        first += 1
    return lambda index: make(first + index)


def choose(series: Series, which: str, tense: Tense, at: datetime) -> When:
    """Pick from a series by the word before it: "last", "next", "this", or "" for none.

    "last" is the latest that is over, "next" the first that has not begun; without a word, and
    with "this" where nothing is going on, the tense of the sentence decides. Unknown tense counts
    as past without a word and as future with "this".
    """
    today = midnight(at)
    current = series(0)
    begun = current.start is not None and current.start <= today
    if which == "last":
        return series(-1)
    if which == "next":
        return series(1) if begun else current
    if begun or tense == "future" or (which == "this" and tense != "past"):
        return current
    return series(-1)
