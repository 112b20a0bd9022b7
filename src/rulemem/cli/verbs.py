"""The verbs of `Memory` as commands: add, resume, retry, learn, search, ask, explain, forget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulemem.cli import render
from rulemem.cli.arguments import AsOf, Now, parse_id
from rulemem.cli.progress import show_stages
from rulemem.cli.session import Session, session_of
from rulemem.reports import AddReport, LearnReport
from rulemem.types import Receipt

NOTHING_FOUND = 3  # exit code
STDIN = Path("/dev/stdin")


def add(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A file, or - for stdin.")],
    conversation: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which of several, or the name of the only one."),
    ] = None,
) -> None:
    """Store a conversation, then extract its facts."""
    session = session_of(context)
    path = STDIN if source == "-" else Path(source)
    with session.memory(create=True) as memory, show_stages(session.screen) as progress:
        report = memory.add(path, scope=session.scope, conversation=conversation, progress=progress)
    _finish_add(session, report)


def resume(context: typer.Context) -> None:
    """Extract facts from turns that are still pending."""
    session = session_of(context)
    with session.memory() as memory, show_stages(session.screen) as progress:
        report = memory.resume(scope=session.scope, progress=progress)
    _finish_add(session, report)


def retry(
    context: typer.Context,
    failed: Annotated[bool, typer.Option("--failed", help="Turns that could not be read.")] = False,
) -> None:
    """Extract facts once more from turns whose extraction failed."""
    if not failed:
        raise typer.BadParameter("say what to try again: --failed.", param_hint="retry")
    session = session_of(context)
    with session.memory() as memory, show_stages(session.screen) as progress:
        report = memory.retry_failed(scope=session.scope, progress=progress)
    _finish_add(session, report)


def learn(context: typer.Context) -> None:
    """Learn rules from what is new since the last time."""
    session = session_of(context)
    with session.memory() as memory, show_stages(session.screen) as progress:
        report = memory.learn(scope=session.scope, progress=progress)
    session.screen.report(report, render.learn_report(report))
    if report.unfinished:
        session.screen.warn(_left_to_learn(session, report))
        raise typer.Exit(1)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or a few words.")],
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Turns at most.")] = 10,
    as_of: AsOf = None,
    now: Now = None,
) -> None:
    """Rank the turns that matter for a query; no language model is called."""
    session = session_of(context)
    with session.memory() as memory:
        found = memory.search(query, scope=session.scope, limit=limit, as_of=as_of, now=now)
    session.screen.show(found, render.evidence(found))


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What is asked.")],
    as_of: AsOf = None,
    now: Now = None,
    abduction: Annotated[
        bool, typer.Option("--abduction", help="One more model call, for premises to search by.")
    ] = False,
) -> None:
    """Answer a question with its proof; exit code 3 if the memory does not hold the answer."""
    session = session_of(context)
    with session.memory() as memory:
        answer = memory.ask(
            question, scope=session.scope, as_of=as_of, now=now, abduction=abduction
        )
    session.screen.show(answer, render.answer(answer))
    if not answer.answerable:
        raise typer.Exit(NOTHING_FOUND)


def explain(
    context: typer.Context,
    answer_id: Annotated[
        int, typer.Argument(metavar="ANSWER_ID", parser=parse_id, help="Such as a3.")
    ],
) -> None:
    """Show the proof of an answer that was given, and check it against the memory."""
    session = session_of(context)
    with session.view() as memory:
        answer = memory.answer(answer_id, scope=session.scope)
        problems = memory.check(answer)
    record = {"answer": answer, "problems": problems}
    session.screen.show(record, [*render.answer(answer), *render.problems(problems)])
    if problems:
        raise typer.Exit(1)


def forget(
    context: typer.Context,
    turn: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", parser=parse_id, help="A turn, such as t12; may be repeated."),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(metavar="NAME", help="A conversation.")
    ] = None,
    session_name: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="A session.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="The whole scope, rules included.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove turns and everything that derives from them."""
    session = session_of(context)
    parts = [*(f"turn {id}" for id in turn or ())]
    parts += [f"conversation {conversation!r}"] if conversation else []
    parts += [f"session {session_name!r}"] if session_name else []
    if everything == bool(parts):
        raise typer.BadParameter(
            "name turns, a conversation or a session, or else --everything.", param_hint="forget"
        )
    with session.view() as memory:
        what = ", ".join(parts) or "everything"
        _confirm(session, f"Forget {what} in scope {session.scope!r}, with all derived?", yes)
        receipt = memory.forget(
            scope=session.scope,
            turns=turn or None,
            conversation=conversation,
            session=session_name,
            everything=everything,
        )
    session.screen.report(receipt, render.receipt(receipt))
    if receipt == Receipt():
        raise typer.Exit(NOTHING_FOUND)


def _finish_add(session: Session, report: AddReport) -> None:
    """Show what came of an extraction; work that is left is no success."""
    session.screen.report(report, render.add_report(report))
    options = session.options()
    if report.turns_failed:
        session.screen.warn(
            f"{render.count(report.turns_failed, 'turn')} could not be read: they are stored and "
            f"searchable, try again with: rulemem retry --failed{options}"
        )
    if report.turns_pending:
        session.screen.warn(
            f"a cap was reached: {render.count(report.turns_pending, 'turn')} pending, continue "
            f"with: rulemem resume{options}"
        )
    if report.turns_failed or report.turns_pending:
        raise typer.Exit(1)


def _left_to_learn(session: Session, report: LearnReport) -> str:
    return f"{report.unfinished}; continue with: rulemem learn{session.options()}"


def _confirm(session: Session, question: str, yes: bool) -> None:
    """Ask on the terminal, unless it was said already."""
    if yes:
        return
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:  # nobody is there to answer
        agreed = False
        session.screen.warn("")
    if not agreed:
        session.screen.warn("nothing was forgotten; --yes does it without asking")
        raise typer.Exit(1)
