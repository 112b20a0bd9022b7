"""Which lines of a transcript can begin a turn, and which names are speakers.

A line can begin a turn if it has a name, a colon and white space: "Ann: hi". Prose has such lines
too ("Note: ...", "Eggs: two dozen"), so a name is a speaker only on evidence from the whole text:

- a date or a time stands before or behind the name ("[2023-05-08 14:03] Ann: hi"), or
- the name recurs, or
- every line begins with some name and a colon, or
- it is written like a name and somebody mentions it ("Zoe, what do you say?"), or
- only one name recurs: then the first other one that is written like a name speaks with it.

Where two roles of a chat ("User", "Assistant") occur, no other name speaks without a date, since
answers of models are full of recurring labels. Labels of notes, letters and logs never speak.
A stray label thus stays inside the turn that it is found in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rulemem.formats.clean import clean_name
from rulemem.formats.stamps import looks_like_stamp

_LONGEST_NAME = 60  # characters
_MOST_WORDS = 6
_LABELS = frozenset(
    re.findall(
        r"\S+",
        """
        note notes nb n.b ps p.s re fw fwd subject to from cc bcc date time sent edit update tldr
        tl;dr todo to-do example examples e.g eg i.e ie step source sources title summary warning
        error info debug trace fatal critical hint tip tips pros cons result results output input
        http https ftp file mailto role content text name speaker message messages timestamp type
        id url link participants attendees reminder spoiler fyi btw question answer shopping
        ingredients steps instructions options total price address phone email name website
        """,
    )
)
_ROLES = frozenset(
    re.findall(r"\S+", "user assistant human ai bot chatbot chatgpt gpt claude gemini model you")
)
_STAMP = r"[^\[\]()\n]{4,50}"
_ISO = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_BEFORE = re.compile(rf"(?:\[({_STAMP})\]|\(({_STAMP})\)|({_ISO})(?=[\s,]))[\s,]*(?:[-–—]\s+)?")
_BEHIND = re.compile(rf"([^:：\[(]+?)\s*[\[(]({_STAMP})[\])]\s*([:：])")
_BOLD = re.compile(r"(\*\*|__)([^*:：]{1,80}?)(?:[:：]\1|\1\s*[:：])\s*(.*)", re.DOTALL)
_PLAIN = re.compile(r"([^:：]+)([:：])")
_LEAD = re.compile("^[\\s\u200e\u200f\ufeff]*(?:[-*>•]\\s+)?[\u200e\u200f]*")  # marks, bullet
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[!?。！？]\s|[^\W\d_]{4,}\.\s")
_NOT_FIRST = frozenset("\"'`{}[]<>|,;:.!?=/\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A line that can begin a turn."""

    name: str
    text: str  # what follows the colon
    stamp: str = ""  # date or time beside the name


def read_opening(line: str) -> Opening | None:
    """Read a line as the beginning of a turn; None if it cannot be one.

    >>> read_opening("[2023-05-08 14:03] Ann Lee: hi").name
    'Ann Lee'
    >>> read_opening("We meet at 10:30") is None
    True
    """
    if ":" not in line and "：" not in line:
        return None
    rest, stamp = _LEAD.sub("", line).strip(), ""
    before = _BEFORE.match(rest)
    if before and looks_like_stamp(before[1] or before[2] or before[3]):
        stamp = before[1] or before[2] or before[3]
        rest = rest[before.end() :]
    bold = _BOLD.match(rest)
    if bold:
        return _opening(bold[2], bold[3], stamp)
    behind = _BEHIND.match(rest)
    if behind and looks_like_stamp(behind[2]):
        return _opening(behind[1], rest[behind.end() :], stamp or behind[2])
    plain = _PLAIN.match(rest)
    if plain is None:
        return None
    text = rest[plain.end() :]
    separate = not text or text[0].isspace() or plain[2] == "：" or not text[0].isascii()
    if not separate and not (stamp and not text.startswith("//")):
        return None  # 10:30, https://, C:\
    return _opening(plain[1], text, stamp)


def find_speakers(openings: Sequence[Opening], text: str, *, every_line: bool) -> frozenset[str]:
    """Return the names that speak; empty if the text is not a transcript.

    Args:
        openings: All lines that can begin a turn, in order.
        text: The whole text.
        every_line: Whether the text has no other lines, headers and blank ones aside.
    """
    counts = Counter(opening.name for opening in openings)
    stamped = {opening.name for opening in openings if opening.stamp}
    roles = {name for name in counts if name.lower() in _ROLES}
    if len(roles) > 1:
        return frozenset(stamped | roles)
    if every_line and (stamped or len(openings) > 1):
        return frozenset(counts)
    speakers = stamped | {name for name, count in counts.items() if count > 1}
    if not speakers:
        return frozenset()
    others = [
        opening.name
        for opening in openings
        if opening.name not in speakers and _written_like_name(opening.name)
    ]
    words = Counter(_WORD.findall(text)) if others else Counter()
    speakers.update(name for name in others if _is_mentioned(name, words))
    if len(speakers) == 1 and not stamped:
        speakers.update(others[:1])
    return frozenset(speakers)


def _opening(name: str, text: str, stamp: str) -> Opening | None:
    name = clean_name(name)
    return Opening(name=name, text=text.strip(), stamp=stamp) if _can_speak(name) else None


def _can_speak(name: str) -> bool:
    """Whether a text could be a name: short, not a known label, not the head of a clause."""
    if len(name) > _LONGEST_NAME or name[0] in _NOT_FIRST or _SENTENCE_END.search(name):
        return False
    if not any(c.isalpha() or (not c.isascii() and not c.isspace()) for c in name):
        return False
    if name.lower().rstrip(" .0123456789#") in _LABELS:
        return False
    words = name.split()
    plain = [word for word in words if word.replace("'", "").replace("’", "").isalpha()]
    lower = [word for word in plain if word[0].islower()]
    clause = len(plain) > 2 and len(lower) * 2 > len(plain)
    return len(words) <= _MOST_WORDS and not clause


def _written_like_name(name: str) -> bool:
    """Whether a text is one to three words, none of which begins with a small letter."""
    words = name.split()
    return len(words) <= 3 and not any(word[0].islower() for word in words)


def _is_mentioned(name: str, words: Counter[str]) -> bool:
    """Whether a name, or a part of it, occurs besides at the beginning of its one turn."""
    parts = [word for word in _WORD.findall(name) if len(word) > 1 and not word[0].islower()]
    return any(words[part] > parts.count(part) for part in parts)
