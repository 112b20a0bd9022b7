"""Load the SQL of an engine from package data: named queries and numbered migrations.

Source: style.md, "SQL". Knows no database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema."""

    number: int  # from 1, without gaps
    name: str
    sql: str


def load_queries(engine: str) -> dict[str, str]:
    """Return the queries of an engine by name."""
    text = _folder(engine).joinpath("queries.sql").read_text("utf-8")
    parts = _NAME.split(text)[1:]
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"queries.sql of {engine} gives a name twice: {sorted(names)}")
    return {name: _without_comments(body) for name, body in zip(names, bodies, strict=True)}


def load_migrations(engine: str) -> list[Migration]:
    """Return the migrations of an engine in order."""
    found = []
    paths = (p for p in _folder(engine).joinpath("migrations").iterdir() if p.name.endswith(".sql"))
    for number, path in enumerate(sorted(paths, key=lambda p: p.name), start=1):
        label, _, name = path.name.removesuffix(".sql").partition("_")
        if int(label) != number:
            raise ValueError(f"migration {path.name} of {engine} should be number {number}")
        found.append(Migration(number=number, name=name, sql=path.read_text("utf-8")))
    return found


def _folder(engine: str) -> Traversable:
    return files("rulemem.stores").joinpath("sql", engine)


def _without_comments(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.startswith("--"))
    return "\n".join(lines).strip()
