"""Plain transcripts: "Name: text", with or without dates and session headers.

A line without a speaker continues the turn above it. A header (see `headers.py`) begins a session
and dates its turns; a date at a line ("[2023-05-08 14:03] Ann: hi") dates that turn, a time alone
is joined to the day of the header. Who is a speaker is decided in `speakers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rulemem.dates import parse_timestamp
from rulemem.formats.headers import Header, is_rule, read_header
from rulemem.formats.records import Draft, Format, Item, Skip, Utterance, shown
from rulemem.formats.speakers import Opening, find_speakers, read_opening
from rulemem.formats.stamps import looks_like_date, read_time

_STRAY = "a label with a colon, not taken for a speaker"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line with what it may be."""

    number: int  # from 1
    text: str
    opening: Opening | None = None
    header: Header | None = None
    rule: bool = False  # a horizontal rule between turns


@dataclass(slots=True, kw_only=True)
class _Speech:
    """A turn that is still being read."""

    opening: Opening
    number: int
    lines: list[str] = field(default_factory=list)


def _recognises(source: object) -> bool:
    return isinstance(source, str) and bool(_find_speakers(source))


def _read(source: object) -> list[Draft]:
    text = source if isinstance(source, str) else ""
    speakers = _find_speakers(text)
    return [Draft(id=None, items=_read_turns(_lines(text, speakers), speakers))]


def _find_speakers(text: str) -> frozenset[str]:
    """Return who speaks in a text; empty if it is not a transcript."""
    lines = _lines(text)
    openings = [line.opening for line in lines if line.opening]
    written = [line for line in lines if line.text.strip() and not line.header and not line.rule]
    speakers = find_speakers(openings, text, every_line=len(openings) == len(written))
    turns = [opening for opening in openings if opening.name in speakers]
    enough = len(turns) > 1 or any(turn.stamp for turn in turns)
    return speakers if enough else frozenset()


def _lines(text: str, speakers: frozenset[str] | None = None) -> list[_Line]:
    """Split a text into lines, each with its reading.

    Args:
        text: The whole text.
        speakers: Who speaks; None while that is not known and any opening may begin a turn.
    """
    raw = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    openings = [read_opening(line) for line in raw]
    lines: list[_Line] = []
    before_turn = False  # whether what follows begins a turn or a session; read from the end
    for index in range(len(raw) - 1, -1, -1):
        opening = openings[index]
        header = read_header(raw[index], before_turn=before_turn and not _is_open(openings, index))
        rule = header is None and before_turn and is_rule(raw[index])
        if header is not None or rule:
            opening = None
        lines.append(
            _Line(number=index + 1, text=raw[index], opening=opening, header=header, rule=rule)
        )
        if raw[index].strip():
            speaks = opening is not None and (speakers is None or opening.name in speakers)
            before_turn = speaks or header is not None or rule
    return lines[::-1]


def _is_open(openings: Sequence[Opening | None], index: int) -> bool:
    """Whether the line above is a name whose words are still to come."""
    above = openings[index - 1] if index else None
    return above is not None and not above.text


def _read_turns(lines: Sequence[_Line], speakers: frozenset[str]) -> Iterator[Item]:
    """Yield turns in order, and what stands outside of any turn."""
    header: Header | None = None
    speech: _Speech | None = None
    for line in lines:
        if line.header is not None:
            if speech:
                yield from _said(speech, header)
            header, speech = line.header, None
        elif line.opening is not None and line.opening.name in speakers:
            if speech:
                yield from _said(speech, header)
            speech = _Speech(opening=line.opening, number=line.number, lines=[line.opening.text])
        elif speech:
            if not line.rule:
                speech.lines.append(line.text)
            if line.opening is not None:
                yield Skip(where=f"line {line.number}", reason=_STRAY, kept=True)
        elif line.text.strip() and not line.rule:
            yield Skip(where=f"line {line.number}", reason="no speaker above this line")
    if speech:
        yield from _said(speech, header)


def _said(speech: _Speech, header: Header | None) -> Iterator[Item]:
    """Yield one turn, with a note if its time has no day."""
    where = f"line {speech.number}"
    stamp = speech.opening.stamp
    said_at: object = header.date if header else ""
    if looks_like_date(stamp):
        said_at = stamp
    elif stamp:
        day = parse_timestamp(header.date) if header and header.date else None
        said_at = _at_time(day, stamp)
        if day is None:
            yield Skip(where=where, reason=f"a time without a date: {shown(stamp)}", kept=True)
    yield Utterance(
        where=where,
        speaker=speech.opening.name,
        text="\n".join(speech.lines),
        said_at=said_at,
        session=header.label if header else "",
    )


def _at_time(day: datetime | None, stamp: str) -> datetime | None:
    """Return the instant at a time of day, on the day of the header."""
    at = read_time(stamp)
    return datetime.combine(day.date(), at, day.tzinfo) if day and at else None


TRANSCRIPT = Format(
    name="transcript",
    shape="lines such as 'Ann: hello', dated or not, with names that recur",
    recognises=_recognises,
    read=_read,
)
