"""Settings: what they are, where each came from, and the only place that reads the environment.

Precedence: argument > `RULEMEM_*` variable > `rulemem.toml` in the working folder > default.
An unknown key raises with the nearest valid name.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from rulemem.errors import ConfigError

CONFIG_FILE = "rulemem.toml"
SCORERS = ("auto", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a user can set."""

    db: str = "rulemem.db"  # path of the memory's file
    scope: str = "default"  # whose memory, where a command names none
    llm: str = "qwen2.5-coder-1.5b"  # "none", "openai:MODEL", a model's name, or a GGUF path
    scorer: str = "auto"  # likelihood model: "auto", "none", "server:MODEL", a name, a GGUF path
    embedder: str = "minilm-l6-v2"  # or "openai:MODEL"
    extractor: str = "auto"  # "auto", "syntax" (no model) or "llm"
    cache_dir: str = ""  # models and replies; "": the user's cache folder
    openai_base_url: str = "https://api.openai.com/v1"
    openai_api_key: str = ""  # local servers mostly need none
    max_calls: int = 0  # model calls per command; 0: no cap
    max_tokens: int = 0  # model tokens per command, prompt and completion; 0: no cap
    tau: float = 0.5  # a rule is admitted above this score
    alpha: float = 0.4  # weight of Delta_self in the score

    @property
    def cache(self) -> Path:
        """The folder for models and replies."""
        return Path(self.cache_dir or user_cache_dir("rulemem"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Settings and the origin of each value."""

    settings: Settings
    origins: Mapping[str, str]  # name -> "argument", "RULEMEM_DB", "rulemem.toml", "default"


def resolve_settings(
    arguments: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Resolved:
    """Put the settings together.

    Args:
        arguments: values given by the caller; None means not given.
        environment: defaults to the process's own.
        folder: where `rulemem.toml` is looked for; defaults to the working folder.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or out of range.
    """
    environment = os.environ if environment is None else environment
    known = {field.name: field for field in fields(Settings)}
    values: dict[str, Any] = {}
    origins = dict.fromkeys(known, "default")
    path = (folder or Path.cwd()) / CONFIG_FILE
    if path.is_file():
        for name, value in _read_toml(path).items():
            _require_known(name, known, CONFIG_FILE)
            values[name], origins[name] = value, CONFIG_FILE
    for variable, text in environment.items():
        name = _setting_of(variable, known)
        if name and text != "":
            values[name], origins[name] = text, variable
    for name, value in (arguments or {}).items():
        _require_known(name, known, "argument")
        if value is not None:
            values[name], origins[name] = value, "argument"
    converted = {name: _convert(name, value, origins[name]) for name, value in values.items()}
    settings = Settings(**converted)
    _check_ranges(settings)
    return Resolved(settings=settings, origins=origins)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(path)!r} is not valid TOML: {error}.") from error


def _setting_of(variable: str, known: Mapping[str, Any]) -> str:
    """The setting that a variable means, or ""."""
    if variable in {"OPENAI_BASE_URL", "OPENAI_API_KEY"}:
        return variable.lower()
    if not variable.startswith("RULEMEM_"):
        return ""
    name = variable.removeprefix("RULEMEM_").lower()
    if name in {"locomo", "record"}:  # read by the tests and benchmarks, not by the product
        return ""
    _require_known(name, known, variable)
    return name


def _require_known(name: str, known: Mapping[str, Any], origin: str) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Valid names: {', '.join(known)}."
    raise ConfigError(f"Unknown setting {name!r} ({origin}).", hint=hint)


def _convert(name: str, value: Any, origin: str) -> Any:
    kind = type(getattr(Settings(), name))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    try:
        if isinstance(value, str) or kind is str:
            return kind(value)
    except ValueError as error:
        raise ConfigError(f"{name} must be {kind.__name__}, not {value!r} ({origin}).") from error
    raise ConfigError(f"{name} must be {kind.__name__}, not {value!r} ({origin}).")


def _check_ranges(settings: Settings) -> None:
    for name in ("tau", "alpha"):
        value = getattr(settings, name)
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} must lie in [0, 1], not {value!r}.")
    for name in ("max_calls", "max_tokens"):
        value = getattr(settings, name)
        if value < 0:
            raise ConfigError(f"{name} must not be negative, not {value!r}.", hint="0: no cap.")
    if settings.extractor not in {"auto", "syntax", "llm"}:
        raise ConfigError(
            f"Unknown extractor {settings.extractor!r}.", hint="Use auto, syntax or llm."
        )
