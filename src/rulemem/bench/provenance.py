"""What a figure depends on: code, models with hashes, prompts. Written beside every run.

Hashes of known models are those of the registry, which `rulemem models fetch` has checked; a file
of one's own is hashed here. Nothing is loaded.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rulemem.bench.plain_answer import PLAIN_ANSWER
from rulemem.config import Settings
from rulemem.models.choose import DEFAULT_SCORER, PARSER, Models
from rulemem.models.registry import MODELS, find_model
from rulemem.prompts import prompt_hashes

_UNKNOWN = "unknown"


def describe_code() -> dict[str, str]:
    """Version of the package, commit of its checkout, Python and machine."""
    try:
        installed = version("rulemem")
    except PackageNotFoundError:
        installed = _UNKNOWN
    return {
        "version": installed,
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def describe_models(settings: Settings, models: Models) -> dict[str, Any]:
    """Name and hashes of each model that is in use, by role."""
    scorer = DEFAULT_SCORER if settings.scorer == "auto" else settings.scorer
    return {
        "llm": _describe(settings.llm if models.text is not None else "none"),
        "scorer": _describe(scorer if models.likelihood is not None else "none"),
        "embedder": _describe(settings.embedder),
        "extractor": {
            "name": models.extractor.name,
            **(_hashes(PARSER) if models.extractor.name.startswith("syntax") else {}),
        },
    }


def describe_prompts() -> dict[str, str]:
    """id@version -> sha256 of every prompt, the benchmark's own included."""
    own = f"{PLAIN_ANSWER.system}\n{PLAIN_ANSWER.user}".encode()
    return {**prompt_hashes(), PLAIN_ANSWER.tag: hashlib.sha256(own).hexdigest()}


def _describe(name: str) -> dict[str, Any]:
    path = Path(name)
    if name in MODELS:
        return {"name": name, **_hashes(name)}
    if path.suffix.lower() == ".gguf" and path.is_file():
        with path.open("rb") as file:
            return {"name": path.stem, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    return {"name": name}


def _hashes(name: str) -> dict[str, Any]:
    return {"sha256": {file.name: file.sha256 for file in find_model(name).files}}


def _commit() -> str:
    """Commit of the checkout that this file lies in, marked where files differ from it."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", "..")
        return f"{git('rev-parse', 'HEAD')}{'+changes' if changed else ''}"
    except (OSError, subprocess.CalledProcessError):
        return _UNKNOWN
