"""The table of time expressions: what each one looks like and who reads it.

Where a pattern has a group `x`, that is the expression and the rest is the context that it needs
("in" before "June"). A group `year` that took part makes the expression absolute; every other one
needs the time of the speaker. Of expressions that overlap the longest is tried first.

Months that are also names or verbs (April, June, August; May, March) count only after words that
make a time of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rulemem.times import relative, written
from rulemem.times.relative import Reader
from rulemem.times.words import (
    COUNT,
    DAY,
    FEW,
    LONG_YEAR,
    MONTH,
    ORDINAL,
    PART_OF_DAY,
    PLAIN_MONTH,
    SEASON,
    SHORT_WEEKDAY,
    THING,
    UNIT,
    WEEKDAY,
    WHICH,
    YEAR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of time expression."""

    pattern: re.Pattern[str]
    read: Reader


def _rule(read: Reader, *pattern: str) -> Rule:
    return Rule(pattern=re.compile("".join(pattern), re.IGNORECASE), read=read)


_ON_WEEKDAY = (
    rf"(?:(?P<weekday>{WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?,?\s+(?:the\s+)?)?"
)
_OF_YEAR = rf"(?:,?\s*(?:of\s+)?(?P<year>{YEAR})\b)?"
_YEAR_OR = rf"(?:(?P<year>{YEAR})|(?P<rel>last|this|next)\s+year)\b"
_TO = r"(?:-|–|—|to|through|until|till|(?P<and>and|&))"
_BETWEEN = r"(?:\b(?P<between>between|from)\s+)?"
_COUNTED = rf"(?P<n>(?:{COUNT}|{FEW})\s+{UNIT}(?:,?\s+(?:and\s+)?{COUNT}\s+{UNIT})?)\b"
_HALF_UNIT = r"(?:hour|day|week|month|year|decade)s?"
_PERIOD = (
    rf"(?:{WEEKDAY}|week|weekend|day|half|part|start|beginning|end|middle|morning|evening|night)s?"
    r"\s+(?:of|in)"
)
_HOLIDAY = (
    r"(?P<h>christmas(?:\s+(?:eve|day))?|xmas|new\s+year['’]s(?:\s+(?:eve|day))?|thanksgiving"
    r"|halloween|valentine['’]s\s+day|(?<=the\s)holidays)\b"
)
_NO_UNIT = r"(?!\s*(?:[ap]\.?m\b|:\d|%|/|[-–]?\s*(?:minutes?|hours?)\b))"
_AT = r"\b(?:at|around|about|by|until|till|from|to|before|after|@)\s+"
_LIFE = (
    r"(?:(?:early|mid|late)[\s-]+)?(?:teens|twenties|thirties|forties|fifties|sixties|seventies"
    r"|eighties|childhood|youth|[1-9]0['’]?s)"
)
_AGE = (
    r"(?:\d{1,2}|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|(?:just\s+)?an?\s+(?:little\s+)?(?:kid|child"
    r"|teen(?:ager)?"
    r"|boy|girl|student|baby)|little|young(?:er)?|small|in\s+(?:college|high\s+school|school))"
)

WRITTEN: tuple[Rule, ...] = (
    _rule(
        written.read_stamp,
        rf"(?<![\w/.-])(?P<year>{LONG_YEAR})(?P<sep>[-/.])\d{{1,2}}(?P=sep)\d{{1,2}}",
        r"(?:[T ]\d{1,2}:\d\d(?::\d\d)?(?:Z\b|[+-]\d\d:?\d\d)?)?(?![\w/-])",
    ),
    _rule(
        written.read_stamp,
        rf"(?<![\w/.-])\d{{1,2}}(?P<sep>[/.-])\d{{1,2}}(?P=sep)(?P<year>{LONG_YEAR})(?![\w/-])",
    ),
    _rule(
        written.read_numeric_day,
        r"\b(?:on|by|since|until)\s+(?P<x>(?P<d>\d{1,2})/(?P<m>\d{1,2}))(?![\w/])",
    ),
    _rule(
        written.read_day,
        rf"(?<![\w.:/-]){_ON_WEEKDAY}(?:the\s+)?(?P<d>{DAY}|{ORDINAL}(?=\s+of\s))",
        rf"\s*(?:of\s+)?(?P<m>{MONTH}){_OF_YEAR}(?![\w])",
    ),
    _rule(
        written.read_day,
        rf"\b{_ON_WEEKDAY}(?P<m>{MONTH})\s*(?:the\s+)?(?P<d>{DAY}|{ORDINAL})\b{_OF_YEAR}{_NO_UNIT}",
    ),
    _rule(
        written.read_days,
        rf"{_BETWEEN}\b(?P<m>{MONTH})\s+(?P<d>{DAY})\s*{_TO}",
        rf"\s*(?P<d2>{DAY})\b(?!\s+(?:of\s+)?{MONTH}){_OF_YEAR}{_NO_UNIT}",
    ),
    _rule(
        written.read_days,
        rf"{_BETWEEN}(?<![\w.:/-])(?P<d>{DAY})\s*{_TO}",
        rf"\s*(?P<d2>{DAY})\s+(?:of\s+)?(?P<m>{MONTH}){_OF_YEAR}",
    ),
    _rule(written.read_month, rf"\b(?P<m>{MONTH})(?:,?\s*|\s+of\s+){_YEAR_OR}"),
    _rule(written.read_season, rf"\b(?P<s>{SEASON})(?:,?\s+|\s+of\s+){_YEAR_OR}"),
    _rule(
        written.read_year,
        r"\b(?:in|since|until|till|from|during|before|after|by|around|early|mid|late"
        r"|(?:start|beginning|end|middle|half|year)(?:\s+of)?)"
        rf"[\s-]+(?P<x>(?P<year>{LONG_YEAR}))(?![\w%]|[-/.,:]\d)",
    ),
    _rule(written.read_year, rf"\A\W*(?P<x>(?P<year>{LONG_YEAR}))\W*\Z"),
    _rule(
        written.read_years,
        rf"{_BETWEEN}\b(?P<year>{LONG_YEAR})\s*{_TO}\s*(?P<year2>{LONG_YEAR})(?![\w-])",
    ),
    _rule(
        written.read_decade,
        r"\b(?:the|early|mid|late)[\s-]+(?P<x>['’]?(?P<year>[5-9]0)['’]?s"
        r"|(?P<word>sixties|seventies|eighties|nineties))\b",
    ),
    _rule(written.read_decade, r"\b(?P<year>(?:19|20)\d0)['’]?s\b"),
    _rule(
        written.read_holiday,
        r"\b(?P<by>on|at|over|for|during|since|until|before|after|around|by|of)\s+(?:the\s+)?"
        rf"(?P<x>{_HOLIDAY}(?:,?\s+(?P<year>{YEAR})\b)?)",
    ),
    _rule(written.read_holiday, rf"\b{_HOLIDAY},?\s+(?P<year>{YEAR})\b"),
    _rule(written.read_holiday, rf"\b(?P<q>{WHICH})\s+{_HOLIDAY}"),
    _rule(written.read_clock, r"(?<![\w:.])(?P<t>(?:1[0-2]|0?[1-9])(?::[0-5]\d)?\s*[ap]\.?m)\b\.?"),
    _rule(written.read_clock, rf"{_AT}(?P<x>(?P<t>(?:0\d|1[3-9]|2[0-3]):[0-5]\d|noon))\b"),
    _rule(
        written.read_clock,
        rf"{_AT}(?P<x>(?P<t>\d{{1,2}}(?::[0-5]\d)?)(?:\s+o['’]clock)?\s+"
        r"(?:in\s+the\s+(?P<part>morning|afternoon|evening)|at\s+(?P<part2>night)))\b",
    ),
    _rule(
        written.read_clock,
        r"\bat\s+(?P<x>(?P<t>\d{1,2}(?::[0-5]\d)?)(?=\s+(?P<part>tonight)\b))",
    ),
    _rule(
        written.read_clock,
        rf"\b(?P<part>tonight|{PART_OF_DAY})\s+at\s+(?P<x>(?P<t>\d{{1,2}}(?::[0-5]\d)?))"
        r"(?![\w:]|\s*[ap]\.?m)",
    ),
)

RELATIVE: tuple[Rule, ...] = (
    _rule(relative.read_near_day, r"\b(?P<w>yesterday|today(?!['’]s\s+world)|tomorrow|tonight)\b"),
    _rule(relative.read_part, rf"\b(?P<q>this)\s+(?P<p>{PART_OF_DAY})\b"),
    _rule(relative.read_part, r"\b(?P<q>last)\s+(?P<p>night|evening)\b"),
    _rule(relative.read_part, r"\bthe\s+(?P<twice>night|evening)\s+before\s+last\b"),
    _rule(
        relative.read_weekday,
        rf"\b(?:(?P<q>{WHICH})\s+)?(?P<w>{WEEKDAY})\b",
        rf"(?!\s+(?:of|in)\s+(?:the\s+)?(?:{MONTH}|month|year|{LONG_YEAR}))",
    ),
    _rule(
        relative.read_weekday,
        rf"\b(?P<q>last|next|this(?:\s+(?:past|coming))?)\s+(?P<w>{SHORT_WEEKDAY})\b\.?",
    ),
    _rule(
        relative.read_weekday,
        r"\b(?P<q>last|next)\s+(?P<w>sat|sun)\b(?!\s+(?:on|in|at|down|with|by|here|there|next))",
    ),
    _rule(
        relative.read_weekday_of_week,
        rf"\b(?P<w>{WEEKDAY})\s+(?:of\s+)?(?P<q>last|this|next)\s+week\b",
    ),
    _rule(
        relative.read_weekday_of_week,
        rf"\b(?P<q>last|this|next)\s+week,?\s+(?:on\s+)?(?P<w>{WEEKDAY})\b",
    ),
    _rule(
        relative.read_next_but_one,
        rf"\b(?:the\s+)?(?P<thing>{THING})\s+(?:before\s+(?P<way>last)|after\s+(?P<way2>next))\b"
        rf"(?!\s+{THING})",
    ),
    _rule(
        relative.read_thing,
        rf"\b(?P<the>the\s+)?(?P<q>{WHICH})\s+(?P<thing>{THING})(?!\w|\s+(?:of|in)\b|\s+\d)",
    ),
    _rule(
        relative.read_things_ago,
        rf"\b(?P<n>{COUNT})\s+(?P<thing>weekend|{WEEKDAY}|{SEASON})s?\s+(?:ago|back)\b",
    ),
    _rule(relative.read_offset, rf"(?<![\w.]){_COUNTED}\s+(?P<ago>ago|back)\b"),
    _rule(
        relative.read_offset,
        rf"\b(?P<in>in)\s+(?:(?:about|around|just|another|exactly)\s+)?{_COUNTED}",
        r"(?:['’]?\s+time)?\b",
    ),
    _rule(relative.read_offset, rf"(?<![\w.]){_COUNTED}\s+from\s+(?:now|today)\b"),
    _rule(relative.read_half, rf"\bhalf\s+an?\s+(?P<u>{_HALF_UNIT})\s+(?:ago|back)\b"),
    _rule(
        relative.read_half,
        rf"(?<![\w.])(?:(?P<n>{COUNT})\s+(?P<u>{_HALF_UNIT})\s+and\s+a\s+half",
        rf"|(?P<n2>{COUNT})\s+and\s+a\s+half\s+(?P<u2>{_HALF_UNIT}))\s+(?:ago|back)\b",
    ),
    _rule(
        relative.read_window,
        r"\b(?P<for>for\s+)?(?:(?:the|these|this|those)\s+)?(?P<q>last|past|next|coming)\s+"
        rf"{_COUNTED}(?!\s+of\b)",
    ),
    _rule(relative.read_window, r"\bin\s+the\s+(?P<q>coming)\s+(?P<n>weeks|months|days|years)\b"),
    _rule(
        relative.read_since,
        rf"(?:\bfor\s+)?(?:\b(?:about|around|almost|nearly|over)\s+)?(?<![\w.]){_COUNTED}"
        r"\s+(?:now|already)\b",
    ),
    _rule(
        relative.read_since,
        r"(?:(?:\bhave|\bhas|['’]ve|['’]s)\s+(?:(?:both|also|already|all)\s+)?"
        r"(?:been(?!\s+to\b)|had|known|lived|worked|owned)|^been)\b[^.!?,;]{0,40}?\s"
        rf"(?P<x>for\s+(?:(?:about|around|almost|nearly|over)\s+)?{_COUNTED})",
    ),
    _rule(
        relative.read_bare,
        r"\b(?:in|during|since|until|till|throughout|early|mid|late"
        rf"|{_PERIOD})[\s-]+(?P<x>(?P<thing>{MONTH}))(?!\w|['’]s|\s+\d)",
    ),
    _rule(
        relative.read_bare,
        r"\b(?:by|from|through|before|after|of|around)\s+"
        rf"(?P<x>(?P<thing>{PLAIN_MONTH}))(?!\w|['’]s|\s+\d)",
    ),
    _rule(
        relative.read_bare,
        rf"\b(?:from|between)\s+(?P<x>(?P<thing>{MONTH}))",
        rf"(?=\s+(?:to|until|till|through|and)\s+{MONTH})",
    ),
    _rule(
        relative.read_bare,
        rf"\b(?:from|between)\s+{MONTH}\s+(?:to|until|till|through|and)\s+"
        rf"(?P<x>(?P<thing>{MONTH}))(?!\s+\d)",
    ),
    _rule(
        relative.read_bare,
        r"\b(?:over|at|on|during|for|until|since)\s+(?P<x>the\s+(?P<thing>weekend))\b(?!\s+of\b)",
    ),
    _rule(
        relative.read_bare_season,
        r"\b(?:in|during|over|for|since|until|by|early|mid|late|(?:start|end|middle|rest)\s+of)"
        r"[\s-]+"
        rf"(?P<x>(?:the\s+)?(?P<thing>{SEASON}))\b"
        r"(?!-|\s+(?:from|of|into|apart|camp|break|job|clothes|sun"
        r"|breeze|coat|jacket|sports?|party|collection|drinks?))",
    ),
    _rule(
        relative.read_period,
        r"\b(?:start|beginning|end|middle|rest|later|earlier)\s+(?:of\s+|in\s+)?"
        r"(?P<x>(?:the|this)\s+(?P<thing>week|month|year))\b",
    ),
    _rule(
        relative.read_day_of_month,
        r"\bon\s+(?P<x>the\s+(?P<d>(?:3[01]|[12]?\d)(?:st|nd|rd|th)))"
        r"(?=\s*(?:[.,!?;:)]|$|\s(?:at|and|we|i|he|she|they|it|so|but|with|to|for|in|from|because"
        r"|when|after|before|or)\b))",
    ),
    _rule(
        relative.read_day_of_month,
        r"\bthe\s+(?P<d>(?:3[01]|[12]?\d)(?:st|nd|rd|th))\s+of\s+(?P<q>last|this|next)\s+month\b",
    ),
    _rule(relative.read_other, r"\bthe\s+other\s+(?P<thing>day|week|night|morning|evening)\b"),
    _rule(relative.read_nothing, rf"\bin\s+(?:my|his|her|their|our|your)\s+{_LIFE}\b"),
    _rule(
        relative.read_nothing,
        rf"\bwhen\s+(?:i|he|she|we|they|you)\s+(?:was|were)\s+(?:about\s+|only\s+)?{_AGE}\b",
    ),
    _rule(relative.read_nothing, r"\bas\s+a\s+(?:kid|child|teenager|teen)\b"),
    _rule(
        relative.read_nothing,
        r"\b(?:(?:not\s+(?:so|too|that)\s+|(?<!how\s))long|an?\s+(?:long\s+|little\s+)?"
        r"(?:while|time)|some\s+time|ages|(?:many|so\s+many)\s+years"
        r"|(?<!\w\s)(?:years|months|weeks|days))\s+(?:ago|back)\b",
    ),
)

RULES = WRITTEN + RELATIVE
