"""`rulemem demo`: the whole pipeline on the example conversation, with four answers.

The example files are those of the source checkout; `--examples` names another folder. The memory
is a fresh one in a temporary folder that goes at the end, or the one that `--db` names.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulemem.cli import render
from rulemem.cli.progress import show_stages
from rulemem.cli.rules import read_pack
from rulemem.cli.screen import Block
from rulemem.cli.session import Session, session_of
from rulemem.errors import InputError

if TYPE_CHECKING:
    from rulemem import Memory

SCOPE = "demo"
CONVERSATION = "two_friends.json"
QUESTIONS = "two_friends.questions.json"
PACK = "rules.pack.json"
ASKED = {  # what each question shows -> the question
    "needs a rule": "Why was Priya absent from the book club in June?",
    "a date": "When did Priya adopt Miso?",
    "something that changed": "Where does Priya live now?",
    "a false premise": "When did Tomas move to Bristol?",
}


@dataclass(slots=True, kw_only=True)
class _Tour:
    """One run of the demo: what is shown on the way, and what is kept for `--json`."""

    session: Session
    memory: Memory
    examples: Path
    record: dict[str, Any] = field(default_factory=dict)

    def step(self, name: str, started: float, result: object, blocks: Sequence[Block]) -> None:
        """Keep the result of a step, and show it unless a JSON document is wanted."""
        seconds = round(time.perf_counter() - started, 1)
        self.record[name] = {"seconds": seconds, "result": result}
        if not self.session.screen.as_json:
            self.session.screen.show(None, [f"== {name}: {seconds} s", *blocks, ""])


def demo(
    context: typer.Context,
    examples: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the example files are.")
    ] = None,
) -> None:
    """Take the example conversation through add, learn and ask, with proofs."""
    session = session_of(context)
    folder = examples or Path(__file__).resolve().parents[3] / "examples"
    answers = _read_answers(folder / QUESTIONS)
    with _fresh(session) as chosen, chosen.memory(create=True) as memory:
        tour = _Tour(session=chosen, memory=memory, examples=folder)
        _add(tour)
        _learn(tour)
        for shows, question in ASKED.items():
            _ask(tour, shows, question, answers.get(question, ""))
    if session.screen.as_json:
        session.screen.show(tour.record, [])
    elif session.given.get("db"):
        options = chosen.options()
        again = f"Go on with: rulemem ask '...'{options}, rulemem rules{options}"
        session.screen.show(None, [again])


def _add(tour: _Tour) -> None:
    started = time.perf_counter()
    with show_stages(tour.session.screen) as progress:
        source = tour.examples / CONVERSATION
        report = tour.memory.add(source, scope=SCOPE, progress=progress)
    tour.step("add", started, report, render.add_report(report))


def _learn(tour: _Tour) -> None:
    """Take the everyday rules of a pack; with a language model, learn more from the talk."""
    started = time.perf_counter()
    added = tour.memory.import_rules(read_pack(tour.examples / PACK), scope=SCOPE)
    tour.step(
        "rule pack",
        started,
        {"rules_new": added},
        [f"{render.count(added, 'everyday rule')} from {PACK}, written by hand, no score"],
    )
    started = time.perf_counter()
    with show_stages(tour.session.screen) as progress:
        report = tour.memory.learn(scope=SCOPE, progress=progress)
    learned = [r for r in tour.memory.rules(scope=SCOPE) if r.verdict is not None]
    result = {"report": report, "rules": learned}
    shown = render.rules(learned, "admitted") if learned else []
    tour.step("learn", started, result, [*render.learn_report(report), *shown])


def _ask(tour: _Tour, shows: str, question: str, expected: str) -> None:
    started = time.perf_counter()
    answer = tour.memory.ask(question, scope=SCOPE)
    problems = tour.memory.check(answer)
    result = {"answer": answer, "problems": problems, "expected": expected}
    tour.step(
        f"ask ({shows})",
        started,
        result,
        [
            f"Q: {question}",
            *render.answer(answer),
            *render.problems(problems),
            f"(expected: {expected})",
        ],
    )


@contextmanager
def _fresh(session: Session) -> Iterator[Session]:
    """The session with a memory of its own and the demo's scope."""
    given = {**session.given, "scope": SCOPE}
    if given.get("db"):
        yield replace(session, given=given)
        return
    with tempfile.TemporaryDirectory(prefix="rulemem-demo-") as folder:
        yield replace(session, given={**given, "db": str(Path(folder) / "demo.db")})


def _read_answers(path: Path) -> dict[str, str]:
    """Return the expected answer of each question.

    Raises:
        InputError: the example files are not there.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The example files are not in {str(path.parent)!r}: {error.strerror}.",
            hint="They are in the source checkout: rulemem demo --examples FOLDER",
        ) from error
    return {entry["question"]: entry["answer"] for entry in entries}
