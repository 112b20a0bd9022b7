"""`rulemem doctor`: what works here, what does not, and what to do about it.

Each check is one line: ok, warn (it works, but less well) or fail. Nothing is changed, and no
model is run unless `--deep` asks for it; a server is asked for its list of models, and a scorer
on a server for the likelihood of one short sentence.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rulemem.cli.models import needed_models
from rulemem.cli.screen import Columns
from rulemem.cli.session import IN_MEMORY, Session, session_of
from rulemem.config import Settings
from rulemem.errors import ModelError, RuleMemError

if TYPE_CHECKING:
    from rulemem.ports import Embedder, LikelihoodModel, TextModel

State = Literal["ok", "warn", "fail"]

_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1e9  # bytes; less is too little for growing stores and replies
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
    "required": ["colour"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the diagnosis."""

    what: str
    state: State
    found: str
    advice: str = ""  # what to do; "" when there is nothing to do


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
        yield _failed("settings", error)
        return
    yield from _check_runtimes(settings)
    yield from _check_cache(settings)
    yield from _check_models(settings)
    yield from _check_text(session, settings, deep)
    yield from _check_scorer(session, settings, deep)
    embedder, check = _check_embedder(session, settings)
    yield check
    yield from _check_store(settings, embedder)


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


# --- what the models can do ------------------------------------------------------------------


def _check_text(session: Session, settings: Settings, deep: bool) -> Iterator[Check]:
    """Whether the language model is there; with `deep`, whether it answers and keeps to a schema.

    The schema is tested on the bare adapter, so that a cached reply cannot hide the model.
    """
    from rulemem.models.choose import choose_text

    if session.models is None and settings.llm.startswith("openai:"):
        yield from _check_server(settings)
    try:
        text = session.models.text if session.models else choose_text(settings)
    except RuleMemError as error:
        yield _failed("language model", error)
        return
    if text is None:
        found = "none: facts, search and extracts work; rules come from packs"
        yield Check(what="language model", state="ok", found=found)
    elif not deep:
        yield Check(what="language model", state="ok", found=f"{text.name}, not run (see --deep)")
    else:
        yield from _probe_text(text)


def _probe_text(text: TextModel) -> Iterator[Check]:
    from rulemem.ports import TextRequest
    from rulemem.prompts.json_reply import parse_json

    request = TextRequest(
        stage="doctor",
        prompt="doctor@1",
        system="You answer with JSON only.",
        user='What colour is a clear sky? Reply like {"colour": "..."}.',
        schema=_SCHEMA,
        max_tokens=200,
    )
    try:
        (reply,) = text.complete([request])
    except ModelError as error:
        reply = error
    if isinstance(reply, ModelError):
        yield _failed("language model", reply)
        return
    found = f"{text.name} answers in {reply.seconds:.1f} s"
    yield Check(what="language model", state="ok", found=found)
    try:
        data = parse_json(reply.text)
    except ModelError as error:
        yield Check(what="JSON schema", state="warn", found=error.message, advice=_OTHER_MODEL)
        return
    if isinstance(data, dict) and data.get("colour") in {"blue", "green"}:
        yield Check(what="JSON schema", state="ok", found="respected")
    else:
        found = f"not respected: {reply.text[:60]!r}"
        yield Check(what="JSON schema", state="warn", found=found, advice=_OTHER_MODEL)


_OTHER_MODEL = "Bad replies are dropped and counted; another model loses fewer."


def _check_server(settings: Settings) -> Iterator[Check]:
    """Whether the server can be reached, takes the key and has the model."""
    try:
        import openai
    except ImportError:
        return  # said already, with the package
    url, model = settings.openai_base_url, settings.llm.removeprefix("openai:")
    client = openai.OpenAI(
        base_url=url, api_key=settings.openai_api_key or "none", timeout=10.0, max_retries=0
    )
    try:
        names = [entry.id for entry in client.models.list().data or ()]
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        advice = "Set OPENAI_API_KEY to a key of this server."
        yield Check(what="server", state="fail", found="the key is refused", advice=advice)
    except openai.APIStatusError as error:
        found = f"reachable; it has no list of models (status {error.status_code})"
        yield Check(what="server", state="ok", found=found)
    except openai.APIConnectionError as error:
        advice = "Is it running, and is OPENAI_BASE_URL right?"
        found = f"not reachable: {error.__cause__ or error}"
        yield Check(what="server", state="fail", found=found, advice=advice)
    else:
        if not names or model in names:
            yield Check(what="server", state="ok", found="reachable")
        else:
            found = f"reachable; it does not list {model!r}"
            advice = f"It has: {', '.join(names[:8])}"
            yield Check(what="server", state="warn", found=found, advice=advice)
    finally:
        client.close()


def _check_scorer(session: Session, settings: Settings, deep: bool) -> Iterator[Check]:
    """Whether given text can be scored; with `deep`, whether the scores make sense."""
    from rulemem.models.choose import choose_likelihood

    try:
        scorer = session.models.likelihood if session.models else choose_likelihood(settings)
    except RuleMemError as error:
        yield _failed("log-probs of given text", error)
        return
    what = "log-probs of given text"
    if scorer is None and settings.llm == "none":
        yield Check(what=what, state="ok", found="not needed without a language model")
    elif scorer is None:
        advice = "rulemem models fetch, or RULEMEM_SCORER=server:MODEL"
        yield Check(what=what, state="warn", found="none: rules stay candidates", advice=advice)
    elif not deep:
        how = getattr(scorer, "how", "not run (see --deep)")
        yield Check(what=what, state="ok", found=f"{scorer.name}, {how}")
    else:
        yield _probe_scorer(scorer)


def _probe_scorer(scorer: LikelihoodModel) -> Check:
    from rulemem.ports import Continuation

    prefix = "The sun rises in the"
    what = "log-probs of given text"
    try:
        likely, unlikely = scorer.nll(
            [
                Continuation(prefix=prefix, text=" east."),
                Continuation(prefix=prefix, text=" spoon."),
            ]
        )
    except ModelError as error:
        return _failed(what, error)
    found = f"{scorer.name}: {likely:.2f} and {unlikely:.2f} nats per token"
    if likely < unlikely:
        return Check(what=what, state="ok", found=found)
    advice = "A likely sentence should score lower: use another scorer."
    return Check(what=what, state="warn", found=found, advice=advice)


def _check_embedder(session: Session, settings: Settings) -> tuple[Embedder | None, Check]:
    from rulemem.models.choose import choose_embedder

    try:
        embedder = session.models.embedder if session.models else choose_embedder(settings)
        dimension = embedder.dimension
    except RuleMemError as error:
        return None, _failed("embedder", error)
    found = f"{embedder.name}, {dimension} dimensions"
    return embedder, Check(what="embedder", state="ok", found=found)


# --- the memory ------------------------------------------------------------------------------


def _check_store(settings: Settings, embedder: Embedder | None) -> Iterator[Check]:
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
        yield _failed("memory", error)
        return
    try:
        faults, scopes, (name, dimension) = store.check(), len(store.scopes()), store.embedder
    finally:
        store.close()
    version = len(load_migrations("sqlite"))
    if faults:
        advice = "Restore it from a backup."
        yield Check(what="memory", state="fail", found="; ".join(faults), advice=advice)
    else:
        found = f"{path}: opens, sound, schema {version}, {scopes} scopes"
        yield Check(what="memory", state="ok", found=found)
    if embedder is not None and (name, dimension) != (embedder.name, embedder.dimension):
        found = f"the memory's are of {name} ({dimension} dimensions)"
        yield Check(what="vectors", state="fail", found=found, advice="rulemem reembed")
    elif embedder is not None:
        yield Check(what="vectors", state="ok", found=f"of {name}")


def _failed(what: str, error: RuleMemError) -> Check:
    return Check(what=what, state="fail", found=error.message, advice=error.hint)
