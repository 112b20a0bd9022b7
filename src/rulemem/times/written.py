"""Readers of dates, years, holidays and times of day that are written out.

A reader gets the match of its rule and returns the interval; None says that the words are no time
after all ("3 may go"), an unknown `When` that the date does not exist ("30 February 2023").
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, tzinfo
from functools import partial
from typing import Literal

from rulemem.times import spans
from rulemem.times.relative import Frame, Match, chosen, group
from rulemem.times.spans import UNKNOWN
from rulemem.times.stamps import parse_timestamp, read_date
from rulemem.times.words import (
    digits_for,
    is_routine,
    is_verb,
    month_number,
    weekday_number,
)
from rulemem.types import When

_NOUN = re.compile(
    r"\s*(?:%|°|degrees|dollars|euros|pounds|people|miles|km|kilometers|meters|metres|steps|words"
    r"|calories|points|times|followers|items|pages|hours|minutes|days|years|rpm|kg|lbs|of\s+us)\b",
    re.IGNORECASE,
)
_DECADES = {"sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90}
_HOLIDAYS = {  # month, day, number of days
    "christmas eve": (12, 24, 1),
    "christmas day": (12, 25, 1),
    "christmas": (12, 25, 1),
    "xmas": (12, 25, 1),
    "christmas time": (12, 24, 3),  # "at Christmas", "over Christmas"
    "new year's eve": (12, 31, 1),
    "new year's day": (1, 1, 1),
    "new year's": (12, 31, 2),
    "halloween": (10, 31, 1),
    "valentine's day": (2, 14, 1),
    "holidays": (12, 20, 14),
}
_OPEN_RANGE = re.compile(r"\d\s*(?:-|–|to|and|or)\s*$", re.IGNORECASE)  # "from 2-3 pm"
_AFTER_NOON = ("afternoon", "evening", "night", "tonight")


def _counts(match: Match) -> bool:
    """Whether the number is a count of something: "2000 people"."""
    return bool(_NOUN.match(match.string, match.end()))


def _full_year(text: str) -> int:
    short = int(text[-2:])
    return int(text) if text.isdigit() else short + (2000 if short < 50 else 1900)


def read_stamp(match: Match, frame: Frame) -> When | None:
    """ "2023-05-08", "08/05/2023", "2023-05-08 13:56"."""
    found = parse_timestamp(match[0])
    if found is None:
        return UNKNOWN
    found = found if found.tzinfo else found.replace(tzinfo=frame.zone)
    return spans.minute(found) if ":" in match[0] else spans.day(found)


def read_day(match: Match, frame: Frame) -> When | None:
    """A day of a named month, with or without a year."""
    return _day_of_month(match, match["d"], frame)


def _day_of_month(match: Match, number: str, frame: Frame) -> When | None:
    word, year = match["m"].rstrip("."), match["year"]
    if is_verb(match.string, *match.span("m")) or (not year and _counts(match)):
        return None
    if not year and number.isdigit() and word in ("may", "march", "mar"):
        return None  # "we may 3 times", "a march 5 miles long"
    text = f"{digits_for(number)} {word}" + (f" {_full_year(year)}" if year else "")
    found = read_date(text, frame.base, "future" if frame.tense == "future" else "past")
    weekday = weekday_number(group(match, "weekday"))
    if found and not year and weekday not in (None, found.weekday()):  # the weekday knows better
        other = read_date(text, frame.base, "past" if frame.tense == "future" else "future")
        found = other if other and other.weekday() == weekday else found
    if found is None or found.month != month_number(word):
        return UNKNOWN
    return spans.day(found.replace(tzinfo=frame.zone))


def read_days(match: Match, frame: Frame) -> When | None:
    """Two days of one month: "June 3-5", "between 19 and 24 October"."""
    first = _day_of_month(match, match["d"], frame)
    last = _day_of_month(match, match["d2"], frame)
    if first is None or last is None:
        return None
    if first.start is None or last.start is None:
        return UNKNOWN
    apart = (last.start - first.start).days
    if apart < 1 or (match["and"] and apart > 1 and not match["between"]):
        return None
    return spans.union(first, last)


def read_numeric_day(match: Match, frame: Frame) -> When | None:
    """ "3/22" without a year: unknown where day and month cannot be told apart."""
    first, second = int(match["d"]), int(match["m"])
    if not 1 <= min(first, second) <= 12 < max(first, second) <= 31:
        return UNKNOWN if min(first, second) >= 1 and max(first, second) <= 12 else None
    day, month = max(first, second), min(first, second)
    prefer: Literal["past", "future"] = "future" if frame.tense == "future" else "past"
    name = spans.MONTH_NAMES[month - 1]
    found = read_date(f"{day} {name}", frame.base, prefer)
    return spans.day(found.replace(tzinfo=frame.zone)) if found else UNKNOWN


def _said_year(match: Match, frame: Frame) -> int:
    if match["year"]:
        return _full_year(match["year"])
    return frame.base.year + {"last": -1, "this": 0, "next": 1}[group(match, "rel")]


def read_month(match: Match, frame: Frame) -> When | None:
    """ "June 2021", "August last year"."""
    if is_verb(match.string, *match.span("m")):
        return None
    year = _said_year(match, frame)
    return spans.month(spans.date_at(year, month_number(match["m"]), 1, frame.zone))


def read_season(match: Match, frame: Frame) -> When | None:
    """ "summer 2022", "the winter of last year"."""
    return spans.season(match["s"].lower(), _said_year(match, frame), frame.zone)


def _years(first: int, last: int, frame: Frame) -> When:
    ends = (spans.year(spans.date_at(year, 1, 1, frame.zone)) for year in (first, last))
    return spans.union(*ends)


def read_year(match: Match, frame: Frame) -> When | None:
    """ "2016" where the words before it say that it is a year."""
    if _counts(match):
        return None
    return spans.year(spans.date_at(int(match["year"]), 1, 1, frame.zone))


def read_years(match: Match, frame: Frame) -> When | None:
    """ "from 2010 to 2014", "2010-2014"."""
    first, last = int(match["year"]), int(match["year2"])
    if first >= last or (match["and"] and not match["between"]):
        return None
    return _years(first, last, frame)


def read_decade(match: Match, frame: Frame) -> When | None:
    """ "the nineties", "the 80s", "the 1970s"."""
    if _counts(match):
        return None
    word = group(match, "year") or group(match, "word")
    first = _DECADES.get(word) or int(word)
    first += 1900 if first < 100 else 0
    return _years(first, first + (99 if first == 1900 else 9), frame)


def _holiday(name: str, zone: tzinfo | None, year: int) -> When:
    if name == "thanksgiving":  # of the United States: the fourth Thursday of November
        first = spans.date_at(year, 11, 1, zone)
        return spans.day(first + timedelta(days=(3 - first.weekday()) % 7 + 21))
    month, day, days = _HOLIDAYS[name]
    found = spans.day(spans.date_at(year, month, day, zone))
    if days == 1 or found.end is None:
        return found
    return replace(found, end=found.end + timedelta(days=days - 1), precision="span")


def read_holiday(match: Match, frame: Frame) -> When | None:
    """ "at Christmas", "last Halloween", "over the holidays", "Thanksgiving 2022"."""
    name = re.sub(r"\s+", " ", group(match, "h").replace("’", "'"))
    if name in ("christmas", "xmas") and group(match, "by") in ("at", "over", "during", "around"):
        name = "christmas time"
    make = partial(_holiday, name, frame.zone)
    if group(match, "year"):
        return make(_full_year(match["year"]))
    if frame.tense == "habit" and not group(match, "q"):
        return None
    return chosen(spans.yearly(make, frame.base), group(match, "q"), frame)


def read_clock(match: Match, frame: Frame) -> When | None:
    """A time of day, on the day of the frame: "8 pm", "20:30", "noon"."""
    words = group(match, "t")
    before = match.string[max(0, match.start() - 8) : match.start()]
    if is_routine(match.string, match.start(), match.end()) or _OPEN_RANGE.search(before):
        return None
    if words == "noon":
        words = "12:00"
    elif group(match, "part") or group(match, "part2"):  # "at 8 in the evening", "tonight at 8"
        part = group(match, "part") or group(match, "part2")
        hour = int(words.split(":")[0])
        if not 1 <= hour <= 12:
            return None
        words += " pm" if part in _AFTER_NOON else " am"
    found = read_date(words.replace(".", ""))
    if found is None:
        return None
    day = spans.midnight(frame.base)
    return spans.minute(day.replace(hour=found.hour, minute=found.minute))
