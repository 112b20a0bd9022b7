"""`rulemem doctor`: what works here, what does not, and what to do about it.

Each check is one line: ok, warn (it works, but less well) or fail. The models' checks are in
`probes.py`; here are those of the machine, the model files and the memory.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulemem.cli.models import needed_models
from rulemem.cli.probes import Check, check_embedder, check_scorer, check_text, failed
from rulemem.cli.render import count
from rulemem.cli.screen import Columns
from rulemem.cli.session import IN_MEMORY, Session, session_of
from rulemem.config import Settings
from rulemem.errors import RuleMemError

if TYPE_CHECKING:
    from rulemem.ports import Embedder

_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1e9  # bytes; less is too little for growing stores and replies


def doctor(
    context: typer.Context,
    deep: Annotated[bool, typer.Option("--deep", help="Load the models and ask them.")] = False,
) -> None:
    """Check this machine, the models and the memory; exit code 1 if something fails."""
    session = session_of(context)
    checks = list(examine(session, deep=deep))
    rows = [
        (check.state, check.what, f"{check.found}{f'  -> {check.advice}' if check.advice else ''}")
        for check in checks
    ]
    session.screen.show(checks, [Columns(header=("", "what", "found"), rows=rows)])
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def examine(session: Session, *, deep: bool) -> Iterator[Check]:
    """Run every check that still makes sense after those before it."""
    yield _check_python()
    yield _check_package("rulemem")
    try:
        settings = session.settings
    except RuleMemError as error:
        yield failed("settings", error)
        return
    yield from _check_runtimes(settings)
    yield from _check_cache(settings)
    yield from _check_models(settings)
    yield from check_text(session, settings, deep)
    yield from check_scorer(session, settings, deep)
    embedder, check = check_embedder(session, settings)
    yield check
    yield from _check_store(settings, embedder, deep)


# --- the machine -----------------------------------------------------------------------------


def _check_python() -> Check:
    version = platform.python_version()
    found = f"{version} on {platform.system()} {platform.machine()}, SQLite "
    found += sqlite3.sqlite_version
    if sys.version_info < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return Check(what="python", state="fail", found=found, advice=f"Use Python {oldest}.")
    return Check(what="python", state="ok", found=found)


def _check_package(name: str, wanted: str = "", extra: str = "") -> Check:
    """Whether a package is installed, in the version that is wanted."""
    advice = f"pip install 'rulemem[{extra}]'" if extra else f"pip install {name}"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(what=name, state="fail", found="not installed", advice=advice)
    if wanted and version != wanted:
        found = f"{version}, but {wanted} is needed"
        return Check(what=name, state="fail", found=found, advice=advice)
    return Check(what=name, state="ok", found=version)


def _check_runtimes(settings: Settings) -> Iterator[Check]:
    """The packages behind the models that the settings name."""
    from rulemem.models._llama_c import RUNTIME, RUNTIME_VERSION
    from rulemem.models.choose import PARSER

    hosted = [settings.llm, settings.embedder, settings.scorer]
    local = settings.llm != "none" and not settings.llm.startswith("openai:")
    if local or settings.scorer not in {"auto", "none"}:
        yield _check_package(RUNTIME, RUNTIME_VERSION, "embedded")
    if PARSER in needed_models(settings):
        yield _check_package("spacy", extra="embedded")
    if any(name.startswith(("openai:", "server:")) for name in hosted):
        yield _check_package("openai", extra="openai")


# --- model files -----------------------------------------------------------------------------


def _check_cache(settings: Settings) -> Iterator[Check]:
    """Where models and replies go, and whether there is room."""
    folder = _nearest_folder(settings.cache)
    free = shutil.disk_usage(folder).free
    found = f"{settings.cache}, {free / 1e9:.1f} GB free"
    if free < _LITTLE_SPACE:
        yield Check(what="cache", state="warn", found=found, advice="Free some space.")
    else:
        yield Check(what="cache", state="ok", found=found)


def _check_models(settings: Settings) -> Iterator[Check]:
    from rulemem.models.registry import find_model, locate

    for name in needed_models(settings):
        if locate(name, settings.cache) is not None:
            yield Check(what=f"model {name}", state="ok", found="complete")
        else:
            size = f"not fetched ({find_model(name).download_bytes / 1e6:,.0f} MB to download)"
            advice = f"rulemem models fetch {name}"
            yield Check(what=f"model {name}", state="fail", found=size, advice=advice)


def _nearest_folder(path: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())


# --- the memory ------------------------------------------------------------------------------


def _check_store(settings: Settings, embedder: Embedder | None, deep: bool) -> Iterator[Check]:
    """Whether the file opens, is sound and has vectors of the embedder."""
    from rulemem.stores.queries import load_migrations
    from rulemem.stores.sqlite import SqliteStore

    path = settings.db
    if path == IN_MEMORY or not Path(path).exists():
        yield Check(what="memory", state="ok", found=f"{path}: none yet, `rulemem add` makes it")
        return
    try:
        store = SqliteStore.for_reembedding(path)
    except RuleMemError as error:
        yield failed("memory", error)
        return
    try:
        faults = store.check() if deep else []
        scopes, (name, dimension) = len(store.scopes()), store.embedder
    finally:
        store.close()
    version = len(load_migrations("sqlite"))
    if faults:
        advice = "Restore it from a backup."
        yield Check(what="memory", state="fail", found="; ".join(faults), advice=advice)
    else:
        state = "sound" if deep else "opens"
        found = f"{path}: {state}, schema {version}, {count(scopes, 'scope')}"
        yield Check(what="memory", state="ok", found=found)
    if embedder is not None and (name, dimension) != (embedder.name, embedder.dimension):
        found = f"the memory's are of {name} ({dimension} dimensions)"
        yield Check(what="vectors", state="fail", found=found, advice="rulemem reembed")
    elif embedder is not None:
        yield Check(what="vectors", state="ok", found=f"of {name}")
