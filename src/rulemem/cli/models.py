"""`rulemem models`: list, fetch, verify; and `rulemem reembed`, for a change of embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rulemem.cli import render
from rulemem.cli.program import Command
from rulemem.cli.progress import show_downloads
from rulemem.cli.screen import Columns
from rulemem.cli.session import require_file, session_of
from rulemem.config import Settings
from rulemem.errors import ModelUnavailable

app = typer.Typer(
    name="models",
    help="List, fetch and verify local models.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_MB = 1e6

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", show_default=False, help="See rulemem models list."),
]


@app.command("list", cls=Command)
def list_models(context: typer.Context) -> None:
    """List the models that can be fetched, and which of them are here."""
    from rulemem.models.registry import MODELS, locate

    session = session_of(context)
    settings = session.settings
    needed = needed_models(settings)
    found = [
        {
            "name": model.name,
            "kind": model.kind,
            "licence": model.licence,
            "bytes": model.bytes,
            "download_bytes": model.download_bytes,
            "needed": model.name in needed,
            "path": locate(model.name, settings.cache),
        }
        for model in MODELS.values()
    ]
    rows = [
        (
            str(entry["name"]),
            f"{entry['bytes'] / _MB:,.0f} MB" if isinstance(entry["bytes"], int) else "",
            "needed" if entry["needed"] else "",
            str(entry["licence"]),
            str(entry["path"] or "not fetched"),
        )
        for entry in found
    ]
    columns = Columns(header=("model", "size", "settings", "licence", "where"), rows=rows)
    session.screen.show(found, [columns])


@app.command(cls=Command)
def fetch(
    context: typer.Context,
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Every model of the list.")] = False,
) -> None:
    """Fetch models; with no name, those that the settings need. What is here stays as it is."""
    from rulemem.models.fetch import fetch as fetch_model
    from rulemem.models.registry import MODELS, find_model

    session = session_of(context)
    settings = session.settings
    chosen = list(MODELS) if everything else list(names or needed_models(settings))
    for name in chosen:
        find_model(name)  # a wrong name stops us before anything is downloaded
    with show_downloads(session.screen) as progress:
        paths = {name: fetch_model(name, settings.cache, progress) for name in chosen}
    session.screen.report(paths, [f"{name}  {path}" for name, path in paths.items()])


@app.command(cls=Command)
def verify(context: typer.Context, names: Names = None) -> None:
    """Check the sha256 of models; with no name, of all that are here."""
    from rulemem.models.fetch import verify as verify_model
    from rulemem.models.registry import MODELS, locate

    session = session_of(context)
    cache = session.settings.cache
    chosen = list(names or (name for name in MODELS if locate(name, cache)))
    results: dict[str, str] = {}
    for name in chosen:
        try:
            verify_model(name, cache)
            results[name] = "ok"
        except ModelUnavailable as error:
            results[name] = str(error)
    shown = [f"{name}  {result}" for name, result in results.items()]
    session.screen.show(results, shown or [f"No models in {cache}."])
    if any(result != "ok" for result in results.values()):
        raise typer.Exit(1)


def reembed(context: typer.Context) -> None:
    """Compute all vectors anew with the embedder of the settings; nothing else changes."""
    from rulemem.models.choose import choose_embedder
    from rulemem.stores.sqlite import SqliteStore

    session = session_of(context)
    settings = session.settings
    require_file(settings.db)
    embedder = session.models.embedder if session.models else choose_embedder(settings)
    store = SqliteStore.for_reembedding(settings.db)
    try:
        before, _ = store.embedder
        computed = store.reembed(embedder)
    finally:
        store.close()
    record = {"from": before, "to": embedder.name, "vectors": computed}
    session.screen.report(
        record, [f"{render.count(computed, 'vector')} computed: {before} -> {embedder.name}"]
    )


def needed_models(settings: Settings) -> Sequence[str]:
    """Return the local models that settings name, by the names of the registry."""
    from rulemem.models.choose import DEFAULT_SCORER, PARSER
    from rulemem.models.registry import MODELS

    scorer = settings.scorer
    if scorer == "auto":
        scorer = "none" if settings.llm == "none" else DEFAULT_SCORER
    hosted = settings.llm.startswith("openai:")
    parsed = settings.extractor == "syntax" or (settings.extractor == "auto" and not hosted)
    named = (settings.llm, scorer, settings.embedder, PARSER if parsed else "none")
    return [name for name in dict.fromkeys(named) if name in MODELS]
