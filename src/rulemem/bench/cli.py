"""`rulemem bench`: LoCoMo, side by side, resumable. Also `python -m rulemem.bench`.

    recall   retrieval only; no language model, but to build a memory that is not there yet
    answer   retrieval and answers
    report   a run as Markdown

Which models are used is what the settings say (`RULEMEM_LLM`, `rulemem.toml`, `--llm` of the
program). Knows how to put a run together, and nothing of what is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rulemem.bench.arms import DEFAULT, Workshop, list_groups, make_system, resolve_systems
from rulemem.bench.baselines import WINDOW
from rulemem.bench.locomo import load_locomo, select_questions
from rulemem.bench.progress import show_progress
from rulemem.bench.provenance import describe_code, describe_models, describe_prompts
from rulemem.bench.report import write_report
from rulemem.bench.run import DEPTH, Advance, Plan, measure_answers, measure_recall
from rulemem.bench.run_folder import RunFolder
from rulemem.bench.sampling import sample_questions
from rulemem.bench.shared_store import SharedStores
from rulemem.config import resolve_settings
from rulemem.errors import ConfigError
from rulemem.models.choose import choose_models

app = typer.Typer(
    name="bench",
    help="Measure RuleMem, its ablations and baselines on LoCoMo.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_GROUPS = ", ".join(list_groups())
_DEFAULT = ",".join(DEFAULT)
Data = Annotated[
    Path,
    typer.Option(
        envvar="RULEMEM_LOCOMO", metavar="PATH", help="The official locomo10.json, or its folder."
    ),
]
Run = Annotated[Path, typer.Option(metavar="DIR", help="Where the records go.")]
Stores = Annotated[Path, typer.Option(metavar="DIR", help="Where memories are built, and reused.")]
Conversations = Annotated[
    str, typer.Option(metavar="NAMES", help="Such as conv-26,conv-30; none: all.")
]
Systems = Annotated[str, typer.Option(metavar="NAMES", help=f"Systems, or groups: {_GROUPS}.")]
Categories = Annotated[str, typer.Option(metavar="NUMBERS", help="Such as 1,3; none: all.")]
Seed = Annotated[int, typer.Option(help="Of samples, controls and the bootstrap.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What the options of a measuring command say."""

    data: Path
    run: Path
    stores: Path
    conversations: str
    systems: str
    categories: str
    seed: int
    k: int | None = None  # None: nothing is measured at a depth
    limit: int | None = None
    window: int = WINDOW

    @property
    def extra(self) -> dict[str, Any]:
        """What this command adds to the run's configuration."""
        return {} if self.k is None else {"k": self.k}


@app.command("recall")
def recall_command(
    context: typer.Context,
    data: Data,
    run: Run = Path("runs/locomo"),
    stores: Stores = Path("runs/stores"),
    conversations: Conversations = "",
    systems: Systems = _DEFAULT,
    categories: Categories = "",
    k: Annotated[int, typer.Option(min=1, help="Passages asked of each system.")] = DEPTH,
    seed: Seed = 0,
) -> None:
    """Measure how much of the evidence each system retrieves."""
    request = _Request(
        data=data, run=run, stores=stores, conversations=conversations, systems=systems,
        categories=categories, seed=seed, k=k,
    )  # fmt: skip
    _measure(context, request, measure_recall)


@app.command("answer")
def answer_command(
    context: typer.Context,
    data: Data,
    run: Run = Path("runs/locomo"),
    stores: Stores = Path("runs/stores"),
    conversations: Conversations = "",
    systems: Systems = _DEFAULT,
    categories: Categories = "",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Questions in all, drawn by the seed.")
    ] = None,
    window: Annotated[int, typer.Option(min=1, help="Tokens that full-context shows.")] = WINDOW,
    seed: Seed = 0,
) -> None:
    """Ask each system, and score what it says by lexical metrics."""
    request = _Request(
        data=data, run=run, stores=stores, conversations=conversations, systems=systems,
        categories=categories, seed=seed, limit=limit, window=window,
    )  # fmt: skip
    _measure(context, request, measure_answers)


@app.command("report")
def report_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    baseline: Annotated[
        str, typer.Option(metavar="SYSTEM", help="Differences are taken from it; none: the first.")
    ] = "",
) -> None:
    """Print the tables of a run as Markdown."""
    typer.echo(write_report(RunFolder(run), baseline), nl=False)


def _measure(
    context: typer.Context, request: _Request, measure: Callable[[Plan, RunFolder, Advance], None]
) -> None:
    names = resolve_systems(_split(request.systems))
    if not names:
        raise ConfigError("No system is named.", hint=f"Groups: {_GROUPS}.")
    dataset = load_locomo(request.data, _split(request.conversations))
    questions = select_questions(
        dataset.questions, [_number(c) for c in _split(request.categories)]
    )
    settings = resolve_settings({"llm": context.find_root().params.get("llm")}).settings
    models = choose_models(settings)
    described, code = describe_models(settings, models), describe_code()
    with show_progress() as advance:
        stores = SharedStores(
            folder=request.stores,
            models=models,
            builder={**code, "models": described, "prompts": describe_prompts()},
            report=lambda p: advance(p.stage, p.done, p.total),
        )
        workshop = Workshop(models=models, stores=stores, seed=request.seed, window=request.window)
        built = [make_system(name, workshop) for name in names]
        folder = RunFolder(request.run)
        config: dict[str, Any] = {
            "data": {"file": dataset.path.name, "sha256": dataset.sha256},
            "seed": request.seed,
            "models": described,
            "prompts": describe_prompts(),
            "systems": {system.name: dict(system.settings) for system in built},
        }
        folder.begin(config | request.extra, code)
        chosen = sample_questions(questions, request.limit, request.seed)
        measure(
            Plan(dataset=dataset, questions=chosen, systems=built, depth=request.k or DEPTH),
            folder,
            advance,
        )
    typer.echo(f"done; tables: rulemem bench report {request.run}", err=True)


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ConfigError(f"A category is a number, not {text!r}.")
    return int(text)
