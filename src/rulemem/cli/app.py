"""The commands of `rulemem` in the order in which they are met, and the options of all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from rulemem.cli import demo, doctor, models, rules, verbs, views
from rulemem.cli.program import Command, Program
from rulemem.cli.screen import Screen, make_streams_safe
from rulemem.cli.session import Session

app = typer.Typer(
    name="rulemem",
    cls=Program,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a placeholder such as [Person] is no markup
)

for command in (
    verbs.add,
    verbs.resume,
    verbs.retry,
    verbs.learn,
    verbs.search,
    verbs.ask,
    verbs.explain,
    verbs.forget,
    views.facts,
    views.turns,
    views.history,
    views.status,
    views.stats,
    views.config,
    doctor.doctor,
    models.reembed,
    demo.demo,
):
    app.command(cls=Command)(command)
app.add_typer(rules.app)
app.add_typer(models.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        number = version("rulemem")
        Screen().show(number, [f"rulemem {number}"])
        raise typer.Exit


@app.callback(epilog="All but the last two may also stand after the command.")
def options(
    context: typer.Context,
    db: Annotated[str | None, typer.Option(metavar="FILE", help="The memory's file.")] = None,
    scope: Annotated[str | None, typer.Option(metavar="NAME", help="Whose memory.")] = None,
    llm: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="none, openai:MODEL, a model's name or a GGUF file."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print results and errors only.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A memory for conversational agents that learns rules and shows its proof."""
    context.obj = Session(
        given={"db": db, "scope": scope, "llm": llm},
        screen=Screen(as_json=json, quiet=quiet),
        models=context.obj,  # a program that calls this one may bring its own
    )


def main() -> None:
    """Run the command line."""
    make_streams_safe()
    app(prog_name="rulemem")
