"""`rulemem rules`: list, approve, disable, import, export."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rulemem.cli import render
from rulemem.cli.arguments import parse_id
from rulemem.cli.program import Command
from rulemem.cli.session import Session, session_of
from rulemem.errors import InputError
from rulemem.types import Rule, RuleStatus

app = typer.Typer(name="rules", help="List rules and decide about them.", rich_markup_mode=None)

RuleId = Annotated[int, typer.Argument(metavar="ID", parser=parse_id, help="Such as r7.")]


class Chosen(StrEnum):
    """The statuses of `RuleStatus`, as values of an option."""

    CANDIDATE = "candidate"
    ADMITTED = "admitted"
    REJECTED = "rejected"
    RETIRED = "retired"
    DISABLED = "disabled"


@app.callback(invoke_without_command=True)
def rules(
    context: typer.Context,
    status: Annotated[Chosen, typer.Option(help="Only those of a status.")] = Chosen.ADMITTED,
    everything: Annotated[bool, typer.Option("--all", help="Those of every status.")] = False,
) -> None:
    """List rules with score and support; or approve, disable, import, export them."""
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    wanted: RuleStatus | None = None if everything else status.value
    with session.view() as memory:
        found = memory.rules(scope=session.scope, status=wanted)
    session.screen.show(found, render.rules(found, wanted))


@app.command(cls=Command)
def approve(context: typer.Context, rule: RuleId) -> None:
    """Admit a rule by hand."""
    _set_status(session_of(context), rule, "admitted")


@app.command(cls=Command)
def disable(context: typer.Context, rule: RuleId) -> None:
    """Keep a rule, but never use it."""
    _set_status(session_of(context), rule, "disabled")


@app.command("import", cls=Command)
def import_pack(
    context: typer.Context,
    pack: Annotated[Path, typer.Argument(metavar="PACK.json", help="A rule pack.")],
) -> None:
    """Add the rules of a pack; they count as admitted."""
    session = session_of(context)
    content = read_pack(pack)
    with session.memory(create=True) as memory:
        added = memory.import_rules(content, scope=session.scope)
    known = len(content.get("rules", ())) - added
    record = {"rules_new": added, "rules_known": known}
    session.screen.report(record, [f"{render.count(added, 'rule')} added, {known} known before"])


@app.command("export", cls=Command)
def export_pack(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that does not exist yet.")],
) -> None:
    """Write the admitted rules as a pack: clauses only, nothing from the dialogue."""
    session = session_of(context)
    with session.view() as memory:
        found = memory.rules(scope=session.scope)
    text = json.dumps(_as_pack(file.stem, found), ensure_ascii=False, indent=2)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(f"{text}\n")
    except OSError as error:
        reason = "it exists" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(
            f"Cannot write {str(file)!r}: {reason}.", hint="Name a new file."
        ) from error
    record = {"rules": len(found), "file": file}
    session.screen.report(record, [f"{render.count(len(found), 'rule')} written to {file}"])


def read_pack(path: Path) -> dict[str, Any]:
    """Read a rule pack; what is in it is checked where it is imported.

    Raises:
        InputError: no such file, or no JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {str(path)!r}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} is no rule pack: it holds no JSON object.")
    return content


def _as_pack(name: str, found: list[Rule]) -> dict[str, Any]:
    clauses = [{"body": list(rule.body), "head": rule.head} for rule in found]
    return {"name": name, "version": 1, "rules": clauses}


def _set_status(session: Session, rule: int, status: RuleStatus) -> None:
    with session.view() as memory:
        memory.set_rule_status(rule, status, scope=session.scope)
    session.screen.report({"rule": rule, "status": status}, [f"r{rule} is {status} now"])
