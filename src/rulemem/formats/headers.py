"""Lines of a transcript that head a session: its name, its date, or both.

Four forms: "--- 8 May 2023 ---" between rules, "# Session 2" in Markdown,
"Session 2 (1:56 pm on 8 May, 2023)", and a date alone on a line. What says neither a number nor a
date ("## Steps") heads a session only directly before a turn; inside a turn it is text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rulemem.formats.clean import clean_text
from rulemem.formats.stamps import find_date, looks_like_date

_LONGEST = 100  # characters
_MARK = re.compile(r"\s*[-=*_~—–#]")
_DIGIT = re.compile(r"\d")
_RULED = re.compile(r"[-=*_~—–]{2,}\s*(.*?[^\s\-=*_~—–].*?)\s*[-=*_~—–]{2,}")
_MARKDOWN = re.compile(r"#{1,6}\s+(.+?)\s*#*")
_NUMBERED = re.compile(
    r"(?:session|chapter|part|day|conversation|chat|episode|meeting|call)\s+(?:no\.?\s*|#)?\d+\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"([-=*_~—–])\1{2,}")
_DATE_LABEL = re.compile(r"^(?:date|on)\s*:?\s+(?=\W*\w*\W*\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The head of a session."""

    label: str
    date: str = ""  # as written; "" if none stands there


def is_rule(line: str) -> bool:
    """Whether a line is only a horizontal rule, such as "---"."""
    return bool(_RULE.fullmatch(line.strip()))


def read_header(line: str, *, before_turn: bool) -> Header | None:
    """Read a line as the head of a session; None if it is not one.

    Args:
        line: One line of a transcript.
        before_turn: Whether the next line with something on it begins a turn.
    """
    if not (_MARK.match(line) or (_DIGIT.search(line) and len(line) <= _LONGEST)):
        return None  # nearly every line
    line = clean_text(line)
    if len(line) > _LONGEST:
        return None
    marked = _RULED.fullmatch(line) or _MARKDOWN.fullmatch(line)
    label = marked[1] if marked else line
    numbered = _NUMBERED.match(label)
    if not (marked or numbered or before_turn):
        return None
    date = _date_of(label)
    if marked:
        wanted = bool(date or numbered or before_turn)
    elif numbered:
        rest = label[numbered.end() :].strip(" :,.|-–—()[]")
        wanted = not rest or looks_like_date(rest) or (bool(date) and before_turn)
    else:
        wanted = bool(date) and date == _DATE_LABEL.sub("", label).strip("[]() ")
    return Header(label=_DATE_LABEL.sub("", label), date=date) if wanted else None


def _date_of(label: str) -> str:
    """Return the date that stands in a label, as written, or ""."""
    numbered = _NUMBERED.match(label)
    rest = label[numbered.end() :] if numbered else label
    whole = _DATE_LABEL.sub("", rest.strip(" :,.|-–—")).strip("[]() ")
    return whole if looks_like_date(whole) else find_date(label)
