"""Read dates and times of day that are written out, with `dateparser` where it does the job.

`parse_timestamp` reads the stamps of sessions and messages. The other functions lend the library
to the date rules: it reads English dates, times of day and counted offsets ("twenty-three days
ago"). It is always given the language, a base and a zone of its own, so that neither locale nor
clock nor zone of the machine can leak in; the zone of the caller is put back afterwards.

Numeric dates, ISO 8601 and epoch stamps are read here: the library guesses at dates that do not
exist and at bare numbers.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

from rulemem.errors import ConfigError

_FIXED_BASE = datetime(2000, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?"
)
_NUMERIC = re.compile(
    r"(?:(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<sep2>[-/.])(?P<second_part>\d{1,2})(?P=sep2)(?P<short>\d{4}|\d\d))"
    rf"(?:,?\s+(?:at\s+)?{_CLOCK})?\s*(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?\s*[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_OFFSET = re.compile(
    r"(?:\s*\b(?:UTC|GMT)|(?<=\d)\s*Z)?\s*(?P<offset>(?<=[\s:TC\d])[+-]\d\d:?\d\d)$"
)
_ZULU = re.compile(r"\s*(?:\bUTC|\bGMT|(?<=\d)Z)$")
_WEEKDAY = re.compile(
    r"\(?\b(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\b\.?\)?,?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d:.+-])\d{4}(?![\d:.])")
_DAY = re.compile(r"(?<![\d:.])\d{1,2}(?![\d:.])")
_LONGEST_STAMP = 64


def parse_timestamp(text: str | int | float) -> datetime | None:
    """Read the timestamp of a session or message.

    Reads "1:56 pm on 8 May, 2023", "2022/11/17 (Thu) 12:04", ISO 8601, epoch seconds or
    milliseconds (as a number or as digits; UTC), "08/05/2023 14:03" (day first unless that cannot
    be). Without an offset the result is naive; an offset is kept.

    Returns:
        None for what is not a timestamp, a date without a day, or a date that does not exist.
    """
    if isinstance(text, int | float):
        return None if isinstance(text, bool) else _from_epoch(float(text))
    words = " ".join(text.split()).strip("[] ")
    if not words or len(words) > _LONGEST_STAMP:
        return None
    if re.fullmatch(r"\d{9,13}(?:\.\d+)?", words, re.ASCII):
        return _from_epoch(float(words))
    try:
        return datetime.fromisoformat(words)
    except ValueError:
        pass  # not ISO 8601; other forms follow
    words = " ".join(_WEEKDAY.sub(" ", words).split()).strip(", ")
    if match := _NUMERIC.fullmatch(words):
        return _from_numbers(match)
    return _from_words(words)


def _from_epoch(value: float) -> datetime | None:
    if not math.isfinite(value) or not 1e8 <= value < 1e13:
        return None
    seconds = value / 1000 if value >= 1e11 else value
    return _EPOCH + timedelta(seconds=seconds)


def _from_numbers(match: re.Match[str]) -> datetime | None:
    if match["year"]:
        year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    else:
        year, month, day = int(match["short"]), int(match["second_part"]), int(match["first"])
        year += 0 if year > 99 else 2000 if year < 70 else 1900
        if month > 12:
            month, day = day, month
    hour = int(match["hour"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    elif match["hour"] and not match["minute"]:
        return None
    try:
        return datetime(
            year,
            month,
            day,
            hour,
            int(match["minute"] or 0),
            int(match["second"] or 0),
            tzinfo=_read_zone(match["zone"] or ""),
        )
    except ValueError:
        return None


def _read_zone(text: str) -> timezone | None:
    match = re.search(r"([+-])(\d\d):?(\d\d)$", text)
    if match is None:
        return UTC if text else None
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-offset if match[1] == "-" else offset)


def _from_words(words: str) -> datetime | None:
    """Dates with the month as a word; the offset is taken off, for the library converts it."""
    zone = ""
    if match := _OFFSET.search(words) or _ZULU.search(words):
        zone, words = match[0], words[: match.start()].rstrip(", ")
    year = _YEAR.search(words)
    if year is None or _DAY.search(words) is None:
        return None
    found = read_date(words)
    if found is None or found.year != int(year[0]):
        return None
    if found.tzinfo is not None:  # a zone by name, such as EST
        return found.astimezone(UTC)
    try:
        return found.replace(tzinfo=_read_zone(zone)) if zone else found
    except ValueError:  # an offset of a day or more
        return None


def read_date(
    text: str,
    base: datetime | None = None,
    prefer: Literal["past", "future"] = "past",
) -> datetime | None:
    """Read an English date or time of day.

    Args:
        text: "12 May 2021", "May 12th", "8:30 pm". What needs no base may go without one.
        base: The day that a date without a year is resolved against.
        prefer: On which side of the base to look.

    Returns:
        A naive datetime; None if the library cannot read it, or the date does not exist.
    """
    return _ask_library(text, base or _FIXED_BASE, "absolute-time", prefer)


def read_offset(text: str, base: datetime) -> datetime | None:
    """Move the base by a counted offset such as "twenty-three days ago" or "in 2 weeks"."""
    found = _ask_library(text, base, "relative-time", "past")
    return found.replace(tzinfo=base.tzinfo) if found else None


def _ask_library(text: str, base: datetime, parser: str, prefer: str) -> datetime | None:
    try:
        from dateparser.date import DateDataParser
    except ImportError as error:
        raise ConfigError(
            "The package 'dateparser' is not installed.", hint="pip install dateparser"
        ) from error
    settings = {
        "RELATIVE_BASE": base.replace(tzinfo=None, fold=0),
        "TIMEZONE": "UTC",
        "PREFER_DATES_FROM": prefer,
        "PREFER_LOCALE_DATE_ORDER": False,
        "DATE_ORDER": "DMY",
        "PARSERS": [parser],
    }
    reader = DateDataParser(languages=["en"], settings=settings)
    found = reader.get_date_data(text).date_obj
    return found if isinstance(found, datetime) else None
