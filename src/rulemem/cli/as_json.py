"""Records -> JSON: field names as they are, times in ISO 8601. Knows nothing of commands."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from os import PathLike, fspath
from typing import Any


def dump(record: object) -> str:
    """Return a record as one JSON document, in ASCII so that every terminal can show it."""
    return json.dumps(to_data(record), ensure_ascii=True, allow_nan=False, indent=2)


def to_data(value: object) -> Any:
    """Return what a record looks like in JSON; a number that JSON lacks becomes null.

    >>> from rulemem.types import Cost
    >>> to_data({"learn": Cost(calls=2)})["learn"]["calls"]
    2
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_data(item) for item in value]
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no form in JSON: {value!r}")
