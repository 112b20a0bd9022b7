"""The read-only views of a memory, and the settings."""

from __future__ import annotations

from typing import Annotated

import typer

from rulemem.cli import render
from rulemem.cli.session import session_of


def facts(
    context: typer.Context,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those about a person or thing.")
    ] = None,
) -> None:
    """List facts, those that no longer hold with their end."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.facts(scope=session.scope, entity=entity)
    session.screen.show(found, render.facts(found))


def turns(
    context: typer.Context,
    conversation: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of a conversation.")
    ] = None,
) -> None:
    """List turns in order."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.turns(scope=session.scope, conversation=conversation)
    session.screen.show(found, render.turns(found))


def history(
    context: typer.Context,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="A person or thing.")],
) -> None:
    """Show what is known of a person or thing in the order of time."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.history(entity, scope=session.scope)
    session.screen.show(found, render.facts(found))


def status(context: typer.Context) -> None:
    """Show what is stored, pending and failed."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.status(scope=session.scope)
        others = [name for name in memory.scopes() if name != session.scope]
    session.screen.show(found, render.status(found, others, session.options()))


def stats(context: typer.Context) -> None:
    """Show calls, tokens and seconds per stage."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.stats(scope=session.scope)
    session.screen.show(found, render.costs(found))


def config(context: typer.Context) -> None:
    """Show each setting, its value and where the value came from."""
    session = session_of(context)
    shown = render.settings_shown(session.resolve())
    session.screen.show(shown, render.settings(shown))
