"""Read JSON out of what a language model wrote. The text is untrusted and often not quite JSON.

What is tolerated: reasoning blocks, code fences and prose around the value, trailing commas,
single quotes, bad escapes, a value that breaks off, NUL bytes and lone surrogates. What is not:
no value at all, or the schema handed back in place of an answer.

Knows no schema: which fields a reply must have is the business of its reply model.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from rulemem.errors import ReplyRejected

_EXCERPT = 120  # characters of the reply in an error
_THINK = r"<(?:think|thinking|reasoning)>"
_THINK_END = r"</(?:think|thinking|reasoning)>"
_BLOCK = re.compile(rf"{_THINK}.*?(?:{_THINK_END}|\Z)", re.DOTALL | re.IGNORECASE)
_LANDMARK = re.compile(rf"{_THINK}|[{{\[]", re.IGNORECASE)
# An opening bracket that begins data rather than a remark: "{", then a key or the end;
# "[", then a value or the end. "[Person] likes tea" is a remark.
_DATA = re.compile(
    r"""\{\s*(?:["'}]|[A-Za-z_]\w*\s*:)|\[\s*(?:[\[{"'\]]|-?\d|(?:true|false|null|NaN|-?Infinity)\b)"""
)
_BAD_UNICODE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(?![0-9a-fA-F]{4})[0-9a-fA-F]{0,3}")
_DECODER = json.JSONDecoder(strict=False)  # a raw line break inside a string is let through

Json = dict[str, object] | list[object]


def drop_thinking(text: str) -> str:
    """Remove reasoning blocks, also one that never ends and one whose beginning is missing.

    >>> drop_thinking("<think>Is it Ann?</think>It is Ann.")
    'It is Ann.'
    >>> drop_thinking("so it must be Ann</think>It is Ann.")
    'It is Ann.'
    >>> drop_thinking("<think>Is it")
    ''
    """
    return _BLOCK.sub("", text[_visible_from(text) :])


def parse_json(text: str) -> object:
    """Return the object or array that a reply holds.

    The first value wins, except that a list of bare numbers, such as the citation "[1]", gives
    way to a later value. A value that breaks off is closed where it ends, so that its last item
    may be incomplete: look at `TextReply.truncated` first.

    Args:
        text: The reply as it came.

    Returns:
        A dict or a list, free of NUL, lone surrogates and numbers that are not finite.

    Raises:
        ReplyRejected: There is no such value, or it is a JSON Schema.

    >>> parse_json('Sure! {"facts": ["Ann likes tea",]} Hope it helps.')
    {'facts': ['Ann likes tea']}
    """
    cleaned = _clean_text(text)
    echoed = False
    citation: Json | None = None
    try:
        for found in _values(cleaned):
            value = _clean_value(found)
            if _is_schema(value):
                echoed = True
            elif _is_citation(value):
                citation = citation if citation is not None else value
            else:
                return value
    except RecursionError as error:
        raise ReplyRejected(f"reply is nested too deeply: {_excerpt(text)}") from error
    if citation is not None:
        return citation
    if echoed:
        raise ReplyRejected(f"the model echoed the schema: {_excerpt(text)}")
    raise ReplyRejected(f"reply holds no JSON object or array: {_excerpt(text)}")


def _values(text: str) -> Iterator[Json]:
    """Yield the objects and arrays at the top level of a text, from left to right."""
    try:
        whole = _DECODER.decode(text)
    except ValueError:
        pass
    else:
        if isinstance(whole, dict | list):
            yield whole
        return
    at = _visible_from(text)
    while landmark := _LANDMARK.search(text, at):
        at = landmark.start()
        if landmark.group() in "{[":
            value, at = _value_at(text, at)
            if value is not None:
                yield value
        else:
            block = _BLOCK.match(text, at)
            at = block.end() if block else len(text)


def _value_at(text: str, start: int) -> tuple[Json | None, int]:
    """Read the value that begins at a bracket; return it and where to go on."""
    if not _DATA.match(text, start):
        return None, start + 1
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        end = _balanced_end(text, start)
        return _repair(text[start:end]), end
    return value, end


def _balanced_end(text: str, start: int) -> int:
    """Return where the brackets opened at `start` are closed again, strings left aside."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        sign = text[at]
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == '"':
            quoted = not quoted
        elif not quoted and sign in "{[":
            depth += 1
        elif not quoted and sign in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def _repair(broken: str) -> Json | None:
    """Mend what is nearly JSON; None if nothing comes of it."""
    mended = _BAD_UNICODE.sub("\\1\ufffd", broken)
    try:
        value = _DECODER.decode(mended)
    except ValueError:
        from json_repair import repair_json

        value = repair_json(mended, return_objects=True, skip_json_loads=True)
    return value if isinstance(value, dict | list) and value else None


def _visible_from(text: str) -> int:
    """Return where the visible part begins when a reasoning block has lost its beginning."""
    end = re.search(_THINK_END, text, re.IGNORECASE)
    if end is None or re.search(_THINK, text[: end.start()], re.IGNORECASE):
        return 0
    return end.end()


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict) and (
        "$schema" in value or (value.get("type") == "object" and "properties" in value)
    )


def _is_citation(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)


def _clean_text(text: str) -> str:
    """Join surrogate pairs, replace lone surrogates, remove NUL."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "")


def _clean_value(value: Any) -> Any:
    """Clean the strings of a value, which JSON escapes can fill with what `_clean_text` removes."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {_clean_text(str(name)): _clean_value(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _excerpt(text: str) -> str:
    return repr(text.strip()[:_EXCERPT])
