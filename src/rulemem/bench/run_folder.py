"""A run on disk: its description, checked when the run goes on, and its records, line by line.

A line that was cut off by a crash is left out and made again. Knows nothing of what records say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rulemem.bench.json_lines import append_line, read_lines
from rulemem.errors import ConfigError, InputError

_NAME = "run.json"
_SYSTEMS = "systems"


class RunFolder:
    """The files of one run.

    Args:
        path: the folder; made when missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, config: Mapping[str, Any], code: Mapping[str, Any]) -> None:
        """Start a run, or go on with one whose configuration does not contradict this one.

        Args:
            config: all that decides the figures; "systems" holds the settings of each system. A
                later session may add systems and keys.
            code: version and commit, kept for each session.

        Raises:
            ConfigError: the folder holds a run with another configuration.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        known = self.describe() if (self.path / _NAME).exists() else {}
        before = known.get("config", {})
        systems = {**before.get(_SYSTEMS, {}), **config[_SYSTEMS]}
        if before:
            self._require_same(before, config)
        session = {"started": datetime.now(UTC).isoformat(timespec="seconds"), **code}
        description = {
            "config": {**before, **config, _SYSTEMS: systems},
            "sessions": [*known.get("sessions", []), session],
        }
        unfinished = self.path / f"{_NAME}.part"
        unfinished.write_text(json.dumps(description, indent=1), "utf-8")
        unfinished.replace(self.path / _NAME)

    def describe(self) -> dict[str, Any]:
        """Configuration and sessions.

        Raises:
            InputError: there is no run in this folder.
        """
        try:
            found: dict[str, Any] = json.loads((self.path / _NAME).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"There is no run in {str(self.path)!r}: {error}.",
                hint="Make one with: rulemem bench recall --run FOLDER",
            ) from error
        return found

    def systems(self, part: str) -> list[str]:
        """Names of the systems that have records of a part, in the order of the description."""
        order = self.describe()["config"][_SYSTEMS]
        return [name for name in order if self._file(part, name).exists()]

    def read(self, part: str, system: str) -> dict[str, dict[str, Any]]:
        """Records of a system by question; of several for one question the last."""
        return {record["qid"]: record for record in read_lines(self._file(part, system))}

    def done(self, part: str, system: str) -> set[str]:
        """Questions whose record is there and no error."""
        return {qid for qid, record in self.read(part, system).items() if "error" not in record}

    def append(self, part: str, system: str, record: Mapping[str, Any]) -> None:
        """Add a record; it is on disk when this returns."""
        append_line(self._file(part, system), record)

    def note_ingest(self, system: str, conversation: str, ingested: Mapping[str, Any]) -> None:
        """Keep what reading a conversation took, the first time."""
        known = {(line["system"], line["conversation"]) for line in self.ingests()}
        if (system, conversation) not in known:
            line = {"system": system, "conversation": conversation, **ingested}
            append_line(self.path / "ingest.jsonl", line)

    def ingests(self) -> list[dict[str, Any]]:
        """What was noted of reading."""
        return list(read_lines(self.path / "ingest.jsonl"))

    def work(self, system: str, conversation: str) -> Path:
        """The folder in which a system may keep what it needs for a conversation."""
        return self.path / "work" / system / conversation

    def _file(self, part: str, system: str) -> Path:
        return self.path / part / f"{system}.jsonl"

    def _require_same(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        shared = (before.keys() & now.keys()) - {_SYSTEMS}
        differing = sorted(key for key in shared if before[key] != _plain(now[key]))
        differing += [
            f"{_SYSTEMS}.{name}"
            for name, settings in now[_SYSTEMS].items()
            if name in before[_SYSTEMS] and before[_SYSTEMS][name] != _plain(settings)
        ]
        if differing:
            raise ConfigError(
                f"The run in {str(self.path)!r} was begun with other {', '.join(differing)}.",
                hint="Choose another folder with --run, or the same configuration.",
            )


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON."""
    return json.loads(json.dumps(value))
