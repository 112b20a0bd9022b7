"""What a caller hands over, opened: bytes become text, JSON text becomes data.

A path is read; text is never taken for a path, so that no file is opened because somebody said its
name. It does not know formats, only whether a text is JSON, JSON lines or something else.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rulemem.errors import InputError
from rulemem.formats.records import Skip, described, shown

_MOST_BAD_BYTES = 0.001  # share of a file; more are not accidents but another encoding
_LOOKS_LIKE_JSON = re.compile(r'\s*[\[{]\s*(?:["{\[\]}]|$)')
_FILE_NAME = re.compile(r"\S+\.(?:jsonl?|txt|md|log|csv|zip)", re.IGNORECASE)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A source, ready to be recognised."""

    value: object  # data, or text that is not JSON
    name: str  # what to call it in a message
    said: str | None = None  # the text as it was given, if it may be what somebody said
    notes: tuple[Skip, ...] = ()


def open_source(source: object) -> Opened:
    """Open a path, text, or data.

    Raises:
        InputError: There is no such file, it is not text, or it is broken JSON.
    """
    if isinstance(source, os.PathLike):
        return _open_file(Path(os.fspath(source)))
    if isinstance(source, str):
        if _FILE_NAME.fullmatch(source):
            raise InputError(
                f"{shown(source)} is the name of a file, not what somebody said.",
                hint=f"Read the file with Path({shown(source)}); "
                "to store these words, give a list that holds them.",
            )
        return Opened(value=_data_in_speech(source), name="this text", said=source)
    if isinstance(source, bytes | bytearray | memoryview | io.IOBase):
        raise InputError(f"cannot read {described(source)}.", hint="Give a path or decoded text.")
    if isinstance(source, Iterator):
        source = list(source)
    return Opened(value=source, name="this source")


def _open_file(path: Path) -> Opened:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read {shown(str(path))}: {reason}.", hint="Check the path."
        ) from error
    text, notes = _decode(content, path)
    try:
        value = _data_or_text(text)
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", hint=error.hint) from error
    return Opened(value=value, name=path.name, notes=notes)


def _decode(content: bytes, path: Path) -> tuple[str, tuple[Skip, ...]]:
    """Decode a file; a few broken bytes are replaced and noted."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding), ()
    except UnicodeDecodeError as error:
        text = content.decode(encoding, errors="replace")
        bad = text.count("\ufffd")
        if bad > len(text) * _MOST_BAD_BYTES:
            raise InputError(
                f"{path.name} is not text in UTF-8: byte {error.start} cannot be read.",
                hint="Save it as UTF-8 text or JSON; archives must be unpacked first.",
            ) from error
        reason = f"{bad} unreadable bytes replaced by U+FFFD"
        return text, (Skip(where=f"byte {error.start}", reason=reason, kept=True),)


def _data_in_speech(text: str) -> object:
    """Return the objects that a JSON text holds; any other text may be what somebody said."""
    try:
        value = _data_or_text(text)
    except InputError:  # broken JSON, but no file that was cut off
        return text
    items = value if isinstance(value, list) else [value]
    return value if any(isinstance(item, dict) for item in items) else text


def _data_or_text(text: str) -> object:
    """Return the data that a JSON text holds, or the text if it is none."""
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = _json_lines(text)
        if lines is not None:
            return lines
        if _LOOKS_LIKE_JSON.match(text):
            raise InputError(
                f"broken JSON: {error}.", hint="Was the file cut off? Check it with a JSON parser."
            ) from error
        return text


def _json_lines(text: str) -> list[object] | None:
    """Return one value per line, or None if already the first line is no JSON.

    Raises:
        InputError: A later line is no JSON.
    """
    values: list[object] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if not values:
                return None
            raise InputError(
                f"line {number} is not JSON: {shown(line.strip())} ({error}).",
                hint="In JSON lines, every line is one complete value.",
            ) from error
    return values if len(values) > 1 else None
