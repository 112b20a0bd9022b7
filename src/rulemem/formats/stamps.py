"""Words that look like a date or a time of day, told from words that do not.

Only the look is judged, so that "[2023-05-08 14:03]" opens a line and "(v1.2)" does not. What a
date means is read elsewhere; "30 February 2023" looks like a date.
"""

from __future__ import annotations

import re
from datetime import time

_MONTH_STEMS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_IS_MONTH = re.compile(_MONTH_STEMS)
_IS_DATE_WORD = re.compile(
    "mon|tue|wed|thu|fri|sat|sun|(?:am|pm|a|p|m|at|on|of|the|st|nd|rd|th|t|z|utc|gmt)$"
)
_LONGEST = 50  # characters
_WORD = re.compile(r"[^\W\d_]+")
_MONTH = rf"(?:{_MONTH_STEMS})[a-z]*\.?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:\s?[ap]\.?m\.?)?"
_DAY = (
    rf"(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}"
    rf"|\d{{4}}/\d{{1,2}}/\d{{1,2}}"
    rf"|\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.?\s(?:of\s)?{_MONTH},?\s\d{{4}}"
    rf"|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})"
)
_EMBEDDED = re.compile(
    rf"(?:{_CLOCK}\s(?:on\s)?)?(?<!\d){_DAY}(?!\d)(?:(?:T|,?\s(?:at\s)?){_CLOCK})?(?:Z|[+-]\d\d:?\d\d)?",
    re.IGNORECASE,
)
_NUMERIC_DAY = re.compile(r"\d{4}\s?[-/.]\s?\d{1,2}|\d{1,2}\s?[-/.]\s?\d{1,2}\s?[-/.]\s?\d{2,4}")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_NUMBER = re.compile(r"\d+")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s?(?:([ap])\.?m\.?)?", re.IGNORECASE)


def looks_like_date(text: str) -> bool:
    """Whether a whole text is written like a date, with or without a time.

    >>> looks_like_date("1:56 pm on 8 May, 2023"), looks_like_date("14:03"), looks_like_date("v1.2")
    (True, False, False)
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or not _NUMBER.search(text):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    months = [word for word in words if _IS_MONTH.match(word)]
    strange = [w for w in words if w not in months and not _IS_DATE_WORD.match(w)]
    numbers = _NUMBER.findall(text)
    if strange:  # the name of a month in another language
        return len(strange) == 1 and not months and len(numbers) > 1 and bool(_YEAR.search(text))
    return bool(months) or bool(_NUMERIC_DAY.search(text)) or "年" in text


def read_time(text: str) -> time | None:
    """Return the time of day that a whole text is, or None.

    >>> read_time("2:03 pm")
    datetime.time(14, 3)
    """
    match = _TIME.fullmatch(text.strip())
    if not match:
        return None
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] in "pP" else 0)
    return time(hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def looks_like_stamp(text: str) -> bool:
    """Whether a whole text is written like a date or a time of day."""
    return looks_like_date(text) or read_time(text) is not None


def find_date(text: str) -> str:
    """Return the date within a text, with its time if it stands beside it, or "".

    >>> find_date("Session 2 (1:56 pm on 8 May, 2023)")
    '1:56 pm on 8 May, 2023'
    """
    match = _EMBEDDED.search(text)
    return match[0] if match else ""
