"""Files of one JSON object a line, written so that a crash costs no more than the last line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record; it is handed to the system when this returns. Folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0, 2)
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":  # a crash cut the last line off
                file.write(b"\n")
        file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, none where there is no file; broken lines are left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:  # cut off by a crash; whoever reads makes the record again
                continue
            yield record
