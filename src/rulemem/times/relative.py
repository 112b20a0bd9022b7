"""Readers of times said relative to the speaker: "last Friday", "a few weeks back", "in June".

A reader gets the match of its rule and returns the interval; None says that the words are no time
after all ("each Friday"). Vague counts are spans: "a few" is 2 to 6 units, "a couple" 2 or 3,
"several" 3 to 7, "the other day" one of the fourteen days before today.

Knows no patterns of whole expressions: those are in `rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo

from rulemem.times import spans, stamps
from rulemem.times.spans import UNKNOWN, Series, Tense
from rulemem.times.words import (
    is_verb,
    month_number,
    sentence_around,
    weekday_number,
    which_of,
)
from rulemem.types import When


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What an expression is resolved against."""

    base: datetime  # when it was said; a stand-in if that is unknown
    zone: tzinfo | None  # of the speaker; None: naive
    tense: Tense


Match = re.Match[str]
Reader = Callable[[Match, Frame], When | None]

_FEW = {"few": (2, 6), "couple": (2, 3), "several": (3, 7)}
_OWNED = re.compile(r"\b(?:my|your|his|its|our|their|a|an|every|each)\s+$", re.IGNORECASE)
_NOT_ONE = re.compile(  # "each Friday", "my Friday", "Black Friday"
    r"\b(?:every|each|any|most|some|one|an?|entire|whole|typical|alternate|lazy|other|my|your|his"
    r"|her|our|their|black|good|cyber|ash|palm|taco|casual|happy|fat|maundy|ruby|super"
    r"|it['’]?s)\s+$",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\s*(?:blues|school|best|roast|night\s+(?:lights|live|football)|mornings|evenings|nights"
    r"|afternoons|-)",
    re.IGNORECASE,
)
_DURATION = re.compile(r"\b(?:once|twice|times|all|done|over)\s+(?:with)?$", re.IGNORECASE)
_IDIOM = re.compile(r"in\s+an?\s+(?:min|minute)$", re.IGNORECASE)
_CONTEXT = 16  # characters before an expression that a check looks at


def group(match: Match, name: str) -> str:
    """What a group of a pattern holds, in lower case; "" where there is none."""
    return (match.groupdict().get(name) or "").lower()


def _before(match: Match) -> str:
    return match.string[max(0, match.start() - _CONTEXT) : match.start()]


def chosen(series: Series, which: str | None, frame: Frame) -> When:
    """Pick from a series by the word before it and the tense."""
    return spans.choose(series, which_of(which), frame.tense, frame.base)


def series_of(thing: str, frame: Frame) -> Series:
    """The series of a week, weekend, month, year, season, weekday or month by name."""
    word = thing.lower().rstrip(".")
    if word in spans.SEASONS:
        return spans.yearly(lambda year: spans.season(word, year, frame.zone), frame.base)
    if word in ("week", "weekend", "month", "year", "decade"):
        return spans.repeat(word, frame.base)
    if (weekday := weekday_number(word)) is not None:
        return spans.weekly(weekday, frame.base)
    number = month_number(word)
    return spans.yearly(
        lambda year: spans.month(spans.date_at(year, number, 1, frame.zone)), frame.base
    )


def read_near_day(match: Match, frame: Frame) -> When | None:
    """ "yesterday", "today", "tomorrow", "tonight"."""
    word = group(match, "w")
    found = spans.day(spans.shift(frame.base, {"yesterday": -1, "tomorrow": 1}.get(word, 0), "day"))
    return spans.part_of_day(found, "night") if word == "tonight" else found


def read_part(match: Match, frame: Frame) -> When | None:
    """ "this morning", "last night", "the night before last"."""
    away = -2 if group(match, "twice") else -1 if group(match, "q") == "last" else 0
    found = spans.day(spans.shift(frame.base, away, "day"))
    return spans.part_of_day(found, group(match, "p") or group(match, "twice"))


def read_weekday(match: Match, frame: Frame) -> When | None:
    """A weekday; without a word before it, never today."""
    if _NOT_ONE.search(_before(match)) or _NAME.match(match.string, match.end()):
        return None
    if not group(match, "q") and frame.tense == "habit":
        return None
    bare = "next" if frame.tense == "future" else "last"
    return chosen(series_of(match["w"], frame), group(match, "q") or bare, frame)


def read_weekday_of_week(match: Match, frame: Frame) -> When | None:
    """ "Friday of last week", "next week on Tuesday"."""
    away = {"last": -1, "this": 0, "next": 1}[group(match, "q")]
    monday = spans.week(spans.shift(frame.base, away, "week")).start or frame.base
    return spans.day(spans.shift(monday, weekday_number(match["w"]) or 0, "day"))


def read_next_but_one(match: Match, frame: Frame) -> When | None:
    """ "the Friday before last", "the weekend after next"."""
    series = series_of(match["thing"], frame)
    if group(match, "way"):
        return series(-2)
    return series(1) if series(0) == chosen(series, "next", frame) else series(2)


def read_thing(match: Match, frame: Frame) -> When | None:
    """ "last week", "next summer", "this June"; "the past week" is the seven days up to today."""
    words, thing = group(match, "q"), match["thing"]
    if _OWNED.search(_before(match)) or is_verb(match.string, *match.span("thing")):
        return None
    window = group(match, "the") or words not in ("last", "this", "next")
    if window and which_of(words) == "last" and thing.lower() in ("week", "month", "year"):
        return _window(f"a {thing}", frame, back=True)
    series = series_of(thing, frame)
    if thing.lower() == "weekend" and words == "next":
        return series(1)  # the coming one is "this weekend"
    return chosen(series, words, frame)


def read_things_ago(match: Match, frame: Frame) -> When | None:
    """ "two weekends ago", "three Fridays ago", "two summers ago"."""
    at = moved(f"{match['n']} days", frame, back=True)  # only to read the number
    return series_of(match["thing"], frame)((at - frame.base).days) if at else UNKNOWN


def _split(words: str) -> tuple[str, str]:
    """The count and the unit of "two weeks"."""
    count, unit = words.lower().rsplit(None, 1)
    unit = unit.rstrip("s")
    return count, "minute" if unit == "min" else unit


def bounds_of(count: str) -> tuple[int, int] | None:
    """The least and the most that a vague count ("a few") stands for; None for an exact one."""
    return next((size for word, size in _FEW.items() if word in count), None)


def moved(words: str, frame: Frame, *, back: bool) -> datetime | None:
    """The instant that lies a counted stretch ("two weeks") before or after the base."""
    return stamps.read_offset(f"{words} ago" if back else f"in {words}", frame.base)


def _is_duration(match: Match, frame: Frame) -> bool:
    """Whether "in two days" says how long it took: not if it is about what is to come."""
    if frame.tense == "future" and not _IDIOM.match(match[0]):
        return False
    start = sentence_around(match.string, *match.span())[0]
    said_before = match.string[start : match.start()].split()
    return bool(
        frame.tense == "past"
        or len(said_before) > 2
        or _DURATION.search(_before(match))
        or _IDIOM.match(match[0])
    )


def read_offset(match: Match, frame: Frame) -> When | None:
    """ "three weeks ago", "a few days back", "in two months": the unit is the precision."""
    back = group(match, "ago") != ""
    if group(match, "in") and _is_duration(match, frame):
        return None
    count, unit = _split(match["n"])
    if size := bounds_of(count):
        sign = -1 if back else 1
        low, high = sorted((sign * size[0], sign * size[1]))
        return spans.spread(frame.base, low, high, unit)
    at = moved(match["n"], frame, back=back)
    return spans.UNITS[unit](at) if at else UNKNOWN


def read_half(match: Match, frame: Frame) -> When | None:
    """ "half an hour ago", "a year and a half ago", "two and a half months ago"."""
    unit = _split(f"a {group(match, 'u') or group(match, 'u2')}")[1]
    count = group(match, "n") or group(match, "n2")
    small, half, margin = {
        "hour": ("minute", 30, 10),
        "day": ("hour", 12, 3),
        "week": ("day", 3, 1),
        "month": ("week", 2, 1),
        "year": ("month", 6, 1),
    }.get(unit, ("year", 5, 2))
    whole = moved(f"{count} {unit}", frame, back=True) if count else frame.base
    return spans.spread(spans.shift(whole, -half, small), -margin, margin, small) if whole else None


def _window(words: str, frame: Frame, *, back: bool) -> When:
    """From a counted stretch ago up to today, or from today on."""
    count, unit = _split(words)
    size = bounds_of(count)
    at = moved(f"{size[1]} {unit}" if size else words, frame, back=back)
    if at is None:
        return UNKNOWN
    first, last = sorted((at, frame.base))
    if unit in ("minute", "hour"):
        return When(start=first, end=last, precision="span")
    return spans.union(spans.day(first), spans.day(last))


def read_window(match: Match, frame: Frame) -> When | None:
    """ "the last two weeks", "for the past few months", "the next three days"."""
    back = group(match, "q") in ("last", "past")
    if group(match, "for") and back:
        return read_since(match, frame)
    words = match["n"] if " " in match["n"] else f"few {match['n']}"  # "the coming weeks"
    return _window(words, frame, back=back)


def read_since(match: Match, frame: Frame) -> When | None:
    """ "for three years now": open from then on, at the precision of the unit."""
    count, unit = _split(match["n"])
    if unit in ("minute", "hour"):
        return None
    if size := bounds_of(count):
        return spans.since(spans.spread(frame.base, -size[1], -size[0], unit))
    at = moved(match["n"], frame, back=True)
    return spans.since(spans.UNITS[unit](at)) if at else UNKNOWN


def read_bare(match: Match, frame: Frame) -> When | None:
    """A month after "in", a weekend after "over the": the tense decides which one."""
    if frame.tense == "habit" or is_verb(match.string, *match.span("thing")):
        return None
    return chosen(series_of(match["thing"], frame), None, frame)


def read_bare_season(match: Match, frame: Frame) -> When | None:
    """ "in the summer": without a tense it is every summer, which is no time."""
    return read_bare(match, frame) if frame.tense else None


def read_period(match: Match, frame: Frame) -> When | None:
    """ "the week", "the year" after "end of": the one that is going on."""
    return series_of(match["thing"], frame)(0)


def read_day_of_month(match: Match, frame: Frame) -> When | None:
    """ "on the 3rd", "the 3rd of next month"."""
    number = int(re.sub(r"\D", "", match["d"]))
    if not group(match, "q"):
        return chosen(spans.monthly(number, frame.base), None, frame)
    first = chosen(spans.repeat("month", frame.base), group(match, "q"), frame).start or frame.base
    try:
        return spans.day(first.replace(day=number))
    except ValueError:  # a day that the month lacks
        return UNKNOWN


def read_other(match: Match, frame: Frame) -> When | None:
    """ "the other day", "the other week"."""
    if group(match, "thing") == "week":
        return spans.spread(frame.base, -4, -1, "week")
    return spans.spread(frame.base, -14, -1, "day")


def read_nothing(match: Match, frame: Frame) -> When | None:
    """ "in my twenties", "a long time ago": a time, but none that a calendar could tell."""
    return UNKNOWN
