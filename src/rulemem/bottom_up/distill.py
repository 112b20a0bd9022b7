"""Path distillation: which sampled walks are reasoning, and which only share a word.

A language model reads the facts of a walk with the messages they come from, and keeps or drops it.
A kept walk is restated as premises and one conclusion: facts of the walk, never new ones, and
consecutive ones must still share an entity. Knows nothing of rules.

Source: RuleMem, Reasoning Path Mining (LLM filter and reconstruction).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rulemem.bottom_up.paths import entities_of
from rulemem.dates import render_when
from rulemem.errors import BudgetExceeded, ModelError
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.prompts import Prompt, load_prompt
from rulemem.types import Fact, Path, Turn

_KEEP = re.compile(r"KEEP\s*:?\s*(?P<premises>[\d,\sand]+)=>\s*(?P<conclusion>\d)", re.IGNORECASE)
_LONGEST_SNIPPET = 240  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """Paths that were kept, and why others were not."""

    paths: tuple[Path, ...]
    dropped: Counter[str]
    out_of_budget: bool = False


def distill_paths(
    paths: Sequence[Path], turns: Mapping[int, Turn], model: TextModel
) -> Distillation:
    """Keep the walks that a model takes for reasoning.

    Args:
        paths: sampled walks.
        turns: source turns by id, for the snippets.
        model: the text model that judges.
    """
    prompt = load_prompt("distill_path")
    requests = [_request(prompt, path, turns) for path in paths]
    kept: list[Path] = []
    dropped: Counter[str] = Counter()
    out_of_budget = False
    for path, reply in zip(paths, model.complete(requests), strict=True):
        if isinstance(reply, BudgetExceeded):
            out_of_budget = True
            continue
        if isinstance(reply, ModelError):
            dropped[reply.message] += 1
            continue
        reason, restated = _restate(path, reply)
        if restated is None:
            dropped[reason] += 1
        else:
            kept.append(restated)
    return Distillation(paths=tuple(kept), dropped=dropped, out_of_budget=out_of_budget)


def _request(prompt: Prompt, path: Path, turns: Mapping[int, Turn]) -> TextRequest:
    facts = [f"{n}. {fact.text} ({_date(fact)})" for n, fact in enumerate(path.facts, 1)]
    snippets = dict.fromkeys(
        f"{turns[id].speaker}: {' '.join(turns[id].content.split())[:_LONGEST_SNIPPET]}"
        for fact in path.facts
        for id in fact.turn_ids[:1]
        if id in turns
    )
    return TextRequest(
        stage="distill",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(facts="\n".join(facts), snippets="\n".join(snippets)),
        max_tokens=24,
        stop=("\n",),
    )


def _date(fact: Fact) -> str:
    if fact.time.precision != "unknown":
        return render_when(fact.time)
    return f"said on {fact.said_at:%Y-%m-%d}" if fact.said_at else "undated"


def _restate(path: Path, reply: TextReply) -> tuple[str, Path | None]:
    match = _KEEP.search(reply.text)
    if match is None:
        dropped = reply.text.strip().upper().startswith("DROP")
        return ("judged illogical" if dropped else "unreadable reply"), None
    numbers = [int(n) for n in re.findall(r"\d", match["premises"])]
    conclusion = int(match["conclusion"])
    wanted = [*dict.fromkeys(n for n in numbers if n != conclusion), conclusion]
    if len(wanted) < 2 or not all(1 <= n <= len(path.facts) for n in wanted):
        return "cites facts that do not exist", None
    facts = tuple(path.facts[n - 1] for n in wanted)
    links: list[str] = []
    for before, after in pairwise(facts):
        shared = [name for name in entities_of(before) if name in entities_of(after)]
        if not shared:
            return "facts share no entity", None
        links.append(shared[-1])
    return "", Path(facts=facts, links=tuple(links))
