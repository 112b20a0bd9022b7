"""Answers as JSON text and back, field by field after the type annotations.

An answer is kept whole, as it was shown: the facts and rules in it may change afterwards, the
proof of what was said may not. A field that was added to a record later takes its default.
Knows no SQL.
"""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Union, get_args, get_origin, get_type_hints

from rulemem.types import Answer


def dump_answer(answer: Answer) -> str:
    """Return an answer as JSON."""
    return json.dumps(_dump(answer), ensure_ascii=False)


def load_answer(text: str) -> Answer:
    """Return the answer that `dump_answer` wrote."""
    loaded: Answer = _load(Answer, json.loads(text))
    return loaded


def _dump(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _dump(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return [_dump(item) for item in value]
    return value


def _load(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(kind) in (Union, types.UnionType):  # only ever "T | None" in these records
        kind = next(option for option in get_args(kind) if option is not types.NoneType)
    if get_origin(kind) is tuple:
        options = get_args(kind)
        if options[-1] is Ellipsis:
            return tuple(_load(options[0], item) for item in value)
        return tuple(_load(o, item) for o, item in zip(options, value, strict=True))
    if kind is datetime:
        return datetime.fromisoformat(value)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {name: _load(hints[name], item) for name, item in value.items() if name in hints}
        return kind(**known)  # type: ignore[operator]
    return value
