"""The English words of time, as pieces of patterns, and the tense of a sentence.

Knows no dates. Matching ignores case; where case tells a name from a verb ("May", "March") the
rules look at it themselves.
"""

from __future__ import annotations

import re

from rulemem.times.spans import Tense

MONTH = (
    r"(?:(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)\b"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
PLAIN_MONTH = r"(?:january|february|march|july|september|october|november|december)"  # no names
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SHORT_WEEKDAY = r"(?:mon|tues?|thu(?:rs?)?|fri)"  # "sat", "sun" and "wed" are words
SEASON = r"(?:spring|summer|autumn|fall|winter)"
PART_OF_DAY = r"(?:morning|afternoon|evening|night)"
YEAR = r"(?:(?:19|20)\d\d|['’]\d\d)"
LONG_YEAR = r"(?:19|20)\d\d"
DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
UNIT = r"(?:minute|min|hour|day|week|month|year|decade)s?"
_ONES = r"(?:one|two|three|four|five|six|seven|eight|nine)"
COUNT = (
    rf"(?:\d{{1,3}}|an?|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[-\s]{_ONES})?"
    rf"|{_ONES}|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
FEW = r"(?:(?:an?\s+)?(?:few|couple)(?:\s+of)?|several)"
WHICH = (
    r"(?:this\s+(?:past|last|coming|upcoming)|the\s+(?:coming|upcoming)"
    r"|last|this|next|past|coming|upcoming)"
)
THING = rf"(?:{WEEKDAY}|week|weekend|month|year|{SEASON}|{MONTH})"  # what can be last or next

_ORDINALS = [
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second"),
    *("twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh"),
    *("twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
]
ORDINAL = "(?:" + "|".join(sorted(_ORDINALS, key=len, reverse=True)).replace("-", r"[-\s]") + ")"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

TRIGGER = re.compile(
    rf"\b(?:{MONTH}|{WEEKDAY}|{SHORT_WEEKDAY}\b|{SEASON}|weekend|{UNIT}\b|ago|while|today|tonight"
    rf"|yesterday|tomorrow|{PART_OF_DAY}|noon|midnight|christmas|xmas|thanksgiving|halloween"
    r"|valentine|holidays|new\s+year|last|next|when|as\s+a|in\s+(?:my|his|her|our|your|their)"
    r"|\d{1,2}\s*[ap]\.?m|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th))\b"
    r"|\d[:/.]\d|\d-\d|\d0['’]?s\b|nineties|eighties|seventies|sixties",
    re.IGNORECASE,
)
"""Whether a text can hold a time expression at all; cheap, and true far too often."""

_FUTURE = re.compile(
    r"\b(?:will|won['’]t|shall|gonna|wanna|plan(?:s|ning)?|hop(?:e|es|ing)|hopefully"
    r"|wait\s+(?:for|to|until)|look(?:ing)?\s+forward|let['’]s|should|wants?|needs?\s+to"
    r"|scheduled|due|deadline|excited\s+(?:to|for|about)|ready\s+for|free|available"
    r"|starts|begins|opens"
    r"|leaves?|arrives?|returns?|weeks?\s+from|how\s+about|works?\s+for|sounds?\s+good"
    r"|(?:could|would|can)\s+work|see\s+you|can\s+(?:i|we)"
    r"|(?<!was\s)(?<!were\s)going\s+to"
    r"|(?:is|are|(?:it|that|he|she|there)['’]s)(?=\s+(?:on|in|at|this|coming|happening)\b))\b"
    r"|['’]ll\b|\b(?:i|we|you|they)\s+have\s+(?:an?|to)\b|\b(?:he|she)\s+has\s+(?:an?|to)\b"
    r"|(?:\b(?:am|is|are)|['’](?:m|re)|\b(?:he|she|it|that|who|there)['’]s)\s+"
    r"(?:(?:not|also|still|just|only|\w+ly)\s+)?(?!feeling)\w+ing\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|did|didn['’]t|had|went|got|came|saw|met|made|took|gave|found|bought|told|said"
    r"|felt|ran|won|lost|left|kept|began|broke|brought|built|caught|chose|drove|drank|ate|fell"
    r"|flew|forgot|grew|heard|knew|led|paid|rode|sang|sent|slept|spent|spoke|swam"
    r"|taught|thought|threw|woke|wore|wrote|been|ago"
    r"|(?!excited|tired|need|indeed|scheduled|interested|married|speed|feed|seed|bored|supposed)"
    r"\w{2,}ed)\b",
    re.IGNORECASE,
)
_VERB_AFTER = re.compile(
    r"\s+(?:be|have|not|also|well|help|need|seem|take|cause|get|go|want|on|to|through|around)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:i|you|we|they|he|she|it|that|this|who|which|the|a|our|my|their|to)\s+$", re.IGNORECASE
)
_ROUTINE = re.compile(
    rf"\b(?:usual(?:ly)?|normally|typically|daily|weekly|always|often|(?:every|each|per)\s+\w+"
    rf"|weekdays|weekends|{WEEKDAY}s|(?:wake|get|wakes|gets|waking|getting)\s+up)\b",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(r"[,;:—]|\b(?:and|but|so|because|which)\b", re.IGNORECASE)
_WINDOW = 240  # characters either side of a time that can tell its tense
_CLAUSE, _FOLLOWING = 25, 10  # how much farther a cue counts in another clause, and after
_HABIT = re.compile(r"\b(?:usually|normally|typically|traditionally|every\s+year)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n]+(?=\s|$)")


def is_routine(text: str, start: int, end: int) -> bool:
    """Whether the sentence tells of what is done again and again: "I get up at 7 am"."""
    return _ROUTINE.search(text, *sentence_around(text, start, end)) is not None


def month_number(word: str) -> int:
    """1 to 12 for the name of a month or its short form."""
    return _MONTHS.index(word[:3].lower()) + 1


def weekday_number(word: str) -> int | None:
    """0 (Monday) to 6 for the name of a weekday or its short form; None for another word."""
    short = word[:3].lower()
    return _WEEKDAYS.index(short) if short in _WEEKDAYS else None


def is_verb(text: str, start: int, end: int) -> bool:
    """Whether the "may" or "march" at this place is a verb or a walk: "I may go", "this march"."""
    word = text[start:end].rstrip(".")
    if word not in ("may", "march", "mar"):
        return False
    return bool(_VERB_AFTER.match(text, end) or _SUBJECT.search(text[max(0, start - 12) : start]))


def digits_for(words: str) -> str:
    """The day of the month that an ordinal stands for, in digits: "third" is "3"."""
    plain = re.sub(r"[-\s]+", "-", words.lower())
    return str(_ORDINALS.index(plain) + 1) if plain in _ORDINALS else re.sub(r"\D", "", words)


def which_of(words: str | None) -> str:
    """Reduce "this past", "the coming" and their like to "last", "this" or "next"."""
    last = (words or "").lower().split()[-1:]
    return {
        "past": "last",
        "last": "last",
        "next": "next",
        "coming": "next",
        "upcoming": "next",
        "this": "this",
    }.get(last[0] if last else "", "")


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Bounds of the sentence that holds the stretch, not looking farther than it may decide."""
    first = max(0, start - _WINDOW)
    for match in _SENTENCE_END.finditer(text, first, start):
        first = match.end()
    stop = _SENTENCE_END.search(text, end, end + _WINDOW)
    return first, stop.start() if stop else min(len(text), end + _WINDOW)


def tense_at(text: str, start: int, end: int) -> Tense:
    """The tense of the sentence around a stretch: of its cues the nearest one decides."""
    first, stop = sentence_around(text, start, end)
    if _HABIT.search(text, first, stop):
        return "habit"
    found: list[tuple[int, Tense]] = []
    cues: tuple[tuple[re.Pattern[str], Tense], ...] = ((_PAST, "past"), (_FUTURE, "future"))
    for pattern, tense in cues:
        for match in pattern.finditer(text, first, stop):
            if match.end() <= start:
                found.append((_distance(text, match.end(), start), tense))
            elif match.start() >= end:
                found.append((_distance(text, end, match.start()) + _FOLLOWING, tense))
    return min(found)[1] if found else ""


def _distance(text: str, start: int, end: int) -> int:
    """Characters between a cue and the time, more where another clause begins in between."""
    return end - start + _CLAUSE * len(_CLAUSE_START.findall(text, start, end))
