"""Find the expressions of a text by the table of rules, widen them by operators, join them.

Everything is worked out against the time of the speaker, or a stand-in where that is unknown;
in that case what needed it is made unknown at the very end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from rulemem.times import spans
from rulemem.times.operators import (
    CLOCK_GAP,
    NEAR,
    PREFIXES,
    RANGE,
    RANGE_START,
    REACH,
    SUFFIXES,
    Operator,
)
from rulemem.times.relative import Frame, group
from rulemem.times.rules import RULES, Rule
from rulemem.times.spans import UNKNOWN, Tense
from rulemem.times.words import TRIGGER, sentence_around, tense_at
from rulemem.times.written import read_clock
from rulemem.types import When

_NEIGHBOURS = 8  # expressions either side that may name the day of a time of day
_STAND_IN = datetime(2001, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A time expression with what is needed to read it once more."""

    start: int
    end: int
    when: When
    rule: Rule
    match: re.Match[str]
    written: bool  # stands without the time of the speaker
    clock: bool = False  # a time of day whose day is not known yet
    changes: tuple[tuple[Operator, re.Match[str]], ...] = ()  # operators, innermost first


def find_expressions(text: str, said_at: datetime | None) -> list[Found]:
    """All time expressions of a text, in order."""
    if not TRIGGER.search(text):
        return []
    base = said_at or _STAND_IN
    found = [_with_suffix(text, one) for one in _find_by_rules(text, base)]
    found = _place_clocks(text, _join_clocks(text, found))
    found = _join_ranges(text, _with_prefixes(text, found))
    if said_at is not None:
        return found
    return [one if one.written else replace(one, when=UNKNOWN) for one in found]


def _find_by_rules(text: str, base: datetime) -> list[Found]:
    """Read the longest candidates first; what a reader rejects leaves room for shorter ones."""
    candidates: list[tuple[int, int, Rule, re.Match[str]]] = []
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            start, end = match.span("x" if "x" in rule.pattern.groupindex else 0)
            if text[end - 1] == "." and text[end - 3] != ".":  # of the sentence, unless "p.m."
                end -= 1
            candidates.append((start, end, rule, match))
    candidates.sort(key=lambda one: (one[0] - one[1], one[0]))
    found: list[Found] = []
    taken = bytearray(len(text))
    for start, end, rule, match in candidates:
        if any(taken[start:end]):
            continue
        when = _read(rule, match, base, tense_at(text, start, end))
        if when is not None:
            taken[start:end] = b"\x01" * (end - start)
            found.append(
                Found(
                    start=start,
                    end=end,
                    when=when,
                    rule=rule,
                    match=match,
                    written=bool(group(match, "year") or group(match, "word")),
                    clock=rule.read is read_clock,
                )
            )
    return sorted(found, key=lambda one: one.start)


def _read(rule: Rule, match: re.Match[str], base: datetime, tense: Tense) -> When | None:
    try:
        return rule.read(match, Frame(base=base, zone=base.tzinfo, tense=tense))
    except (OverflowError, ValueError):  # beyond the ends of the calendar
        return UNKNOWN


def _changed(one: Found, operator: Operator, match: re.Match[str]) -> Found | None:
    """Apply an operator, unless it does not fit this kind of time."""
    if one.when.start is None or one.when.end is None:
        return None
    try:
        when = operator.apply(match, one.when, one.when.start)
    except (OverflowError, ValueError):
        return None
    if when is None:
        return None
    return replace(
        one,
        start=min(one.start, match.start()),
        end=max(one.end, match.end()),
        when=when,
        changes=(*one.changes, (operator, match)),
    )


def _with_suffix(text: str, one: Found) -> Found:
    for operator in SUFFIXES:
        match = operator.pattern.match(text, one.end)
        if match and (changed := _changed(one, operator, match)):
            return changed
    return one


def _with_prefixes(text: str, found: list[Found]) -> list[Found]:
    result: list[Found] = []
    for one in found:
        if result:  # in "the Friday after 22 October" the Friday is no time of its own
            below = result[-2].end if len(result) > 1 else 0
            wider = _with_prefix(text, one, below)
            if wider is not None and wider.start <= result[-1].start:
                result.pop()
                one = wider
        floor = result[-1].end if result else 0
        while (wider := _with_prefix(text, one, floor)) is not None:
            one = wider
        result.append(one)
    return result


def _with_prefix(text: str, one: Found, floor: int) -> Found | None:
    """Widen by the first operator that ends where the expression starts."""
    near = NEAR.match(text, one.start, one.end)
    if floor and RANGE.fullmatch(text, floor, one.start):
        return None  # "from May until July" is a range
    for operator in PREFIXES:
        match = operator.pattern.search(text, max(floor, one.start - REACH), one.start)
        if match is None or (operator.bound and near):
            continue
        if changed := _changed(one, operator, match):
            return changed
    return None


def _join_clocks(text: str, found: list[Found]) -> list[Found]:
    """Make one of a time of day and the day next to it, in either order."""
    result: list[Found] = []
    for one in found:
        last = result[-1] if result else None
        if last and last.clock != one.clock and CLOCK_GAP.fullmatch(text, last.end, one.start):
            day, clock = (one, last) if last.clock else (last, one)
            if day.when.precision == "day" and (when := _on_day(clock, day)):
                result[-1] = replace(day, start=last.start, end=one.end, when=when)
                continue
        result.append(one)
    return result


def _on_day(clock: Found, day: Found) -> When | None:
    if day.when.start is None or clock.when.start is None:
        return None
    at = clock.when.start
    return spans.minute(day.when.start.replace(hour=at.hour, minute=at.minute))


def _place_clocks(text: str, found: list[Found]) -> list[Found]:
    """Put a time of day that stands apart on the only day that its sentence names."""
    result: list[Found] = []
    for index, one in enumerate(found):
        if one.clock:
            first, stop = sentence_around(text, one.start, one.end)
            days = [
                other
                for other in found[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS]
                if first <= other.start < stop and other.when.precision in ("day", "minute")
                if not other.clock
            ]
            if len(days) == 1 and (when := _on_day(one, days[0])):
                one = replace(one, when=when, written=days[0].written)
        result.append(one)
    return result


def _join_ranges(text: str, found: list[Found]) -> list[Found]:
    result: list[Found] = []
    for one in found:
        joined = _range(text, result[-1], one) if result else None
        if joined is None:
            result.append(one)
        else:
            result[-1] = joined
    return result


def _range(text: str, first: Found, last: Found) -> Found | None:
    """One span of two times, if "from … to", "between … and" or a dash makes it one."""
    gap = RANGE.fullmatch(text, first.end, last.start)
    opening = RANGE_START.search(text, max(0, first.start - REACH), first.start)
    if gap is None or not (opening or "-" in gap[0] or "–" in gap[0]):
        return None
    if gap["and"] and not (opening and opening["between"]):
        return None
    if last.written and not first.written:  # "from May to July 2022"
        first = _reread(first, last.when.start, "past")
    elif first.written != last.written or not _ordered(first.when, last.when):
        last = _reread(last, first.when.start, "future")  # "from Monday to Friday"
    if not _ordered(first.when, last.when):
        return None
    return replace(
        first,
        start=opening.start() if opening else first.start,
        end=last.end,
        when=spans.union(first.when, last.when),
        written=first.written or last.written,
    )


def _ordered(first: When, last: When) -> bool:
    if first.start is None or first.end is None or last.start is None or last.end is None:
        return False
    return first.start < last.start and first.end <= last.end


def _reread(one: Found, base: datetime | None, tense: Tense) -> Found:
    """Read an expression once more, as if said at another time."""
    if base is None or one.clock:
        return one
    when = _read(one.rule, one.match, base, tense)
    if when is None:
        return one
    again = replace(one, when=when, changes=())
    for operator, match in one.changes:
        again = _changed(again, operator, match) or again
    return again
