"""Records -> short lines and columns. Pure; knows nothing of terminals or JSON.

Ids are shown as they may be typed: t12 a turn, f3 a fact, r7 a rule, a5 an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

from rulemem.cli.screen import Block, Columns
from rulemem.config import Resolved
from rulemem.dates import render_when
from rulemem.reports import AddReport, LearnReport, Status
from rulemem.types import Answer, Cost, Evidence, Fact, Receipt, Rule, RuleStatus, Turn

_FACTS_SHOWN = 3  # below each turn that a search finds
_HIDDEN = "********"


# --- what a write did ----------------------------------------------------------------------


def add_report(report: AddReport) -> list[Block]:
    """What `add`, `resume` or `retry` did."""
    stored = report.turns_new + report.turns_unchanged + report.turns_edited
    lines: list[Block] = []
    if stored or report.turns_skipped:
        counts = {
            "new": report.turns_new,
            "unchanged": report.turns_unchanged,
            "edited": report.turns_edited,
        }
        lines.append(f"turns    {_list(counts)}")
    lines += _reasons("skipped", report.turns_skipped)
    extracted = {
        "new": report.facts_new,
        "known before": report.facts_duplicate,
        "closed by newer ones": report.facts_closed,
    }
    lines.append(f"facts    {_list(extracted)}")
    lines += _reasons("no fact", report.facts_dropped)
    if report.note:
        lines.append(report.note)
    return [*lines, *_cost_lines(report.cost)]


def learn_report(report: LearnReport) -> list[Block]:
    """What `learn` did."""
    if report.note and not report.facts_read and not report.head_keys:
        return [report.note, *_cost_lines(report.cost)]
    lines: list[Block] = [
        f"facts    {report.facts_read} read, {count(report.head_keys, 'head key')} learned",
        f"paths    {report.paths_sampled} sampled, {report.paths_kept} kept",
        f"rules    {report.rules_admitted} admitted, {report.rules_rejected} rejected",
        *_reasons("no head key", report.lines_rejected),
        *_reasons("no path", report.paths_dropped),
        *_reasons("no rule", report.clauses_rejected),
    ]
    return [*lines, *([report.note] if report.note else ()), *_cost_lines(report.cost)]


def receipt(receipt: Receipt) -> list[Block]:
    """What `forget` removed."""
    if receipt == Receipt():
        return ["Nothing matches: nothing was forgotten."]
    rows = [
        (field.name.replace("_", " "), str(getattr(receipt, field.name)))
        for field in fields(receipt)
    ]
    return [Columns(header=("forgotten", "count"), rows=rows)]


# --- answers -------------------------------------------------------------------------------


def evidence(found: Sequence[Evidence]) -> list[Block]:
    """What a search found, best first, with the facts of each turn."""
    lines: list[Block] = []
    for item in found:
        lines.append(f"{item.score:.3f}  {_turn(item.turn)}")
        lines += [f"         f{fact.id} {_stated(fact)}" for fact in item.facts[:_FACTS_SHOWN]]
    return lines or ["Nothing found."]


def answer(answer: Answer) -> list[Block]:
    """An answer, why it is one, and its proof as an indented tree."""
    head = [answer.text, answer.reason] if answer.answerable else [f"No answer: {answer.reason}"]
    proof = answer.proof.split("\n")
    tree = [f"  {line}" for line in proof if line and not line.startswith("reason: ")]
    spent = cost(answer.cost) if answer.cost.calls else "no model calls"
    return [*head, *tree, f"a{answer.id}  {answer.answerer}  {spent}"]


def problems(found: Sequence[str]) -> list[Block]:
    """What is wrong with a proof."""
    return [f"proof FAILS: {problem}" for problem in found] or ["proof holds"]


# --- views ---------------------------------------------------------------------------------


def rules(found: Sequence[Rule], status: RuleStatus | None) -> list[Block]:
    """Rules, best score first."""
    if not found:
        return [f"No {status} rules." if status else "No rules."]
    ranked = sorted(found, key=lambda rule: (-(rule.verdict.score if rule.verdict else 0), rule.id))
    rows = [
        (
            f"r{rule.id}",
            f"{rule.verdict.score:.3f}" if rule.verdict else "-",
            str(len(rule.keys)),
            rule.status,
            rule.clause,
        )
        for rule in ranked
    ]
    return [Columns(header=("rule", "score", "support", "status", "clause"), rows=rows)]


def facts(found: Sequence[Fact]) -> list[Block]:
    """Facts with their time and sources; closed ones say since when they no longer hold."""
    if not found:
        return ["No facts."]
    rows = [
        (
            f"f{fact.id}",
            _day(fact.said_at),
            render_when(fact.time),
            " ".join(f"t{id}" for id in fact.turn_ids),
            f"{'not: ' if fact.negated else ''}{fact.text}{_closed(fact)}",
        )
        for fact in found
    ]
    return [Columns(header=("fact", "said", "when", "turns", "text"), rows=rows)]


def turns(found: Sequence[Turn]) -> list[Block]:
    """Turns in order."""
    if not found:
        return ["No turns."]
    rows = [
        (
            f"t{turn.id}",
            turn.conversation,
            turn.session,
            _minute(turn.said_at),
            turn.state,
            turn.line,
        )
        for turn in found
    ]
    return [Columns(header=("turn", "conversation", "session", "said", "state", "text"), rows=rows)]


def status(found: Status, others: Sequence[str], options: str) -> list[Block]:
    """How much a scope holds, and what is left to do."""
    lines: list[Block] = [f"scope {found.scope!r}"]
    if not any(found.counts.values()):
        known = f" Others here: {', '.join(map(repr, others))}." if others else ""
        return [f"Scope {found.scope!r} holds nothing.{known}"]
    rows = [
        (name.replace("_", " "), str(number)) for name, number in found.counts.items() if number
    ]
    lines.append(Columns(header=("what", "count"), rows=rows))
    lines += [f"failed: {number} because {reason}" for reason, number in found.failed.items()]
    if found.failed:
        lines.append(f"try again with: rulemem retry --failed{options}")
    if found.counts.get("turns_pending"):
        lines.append(f"pending turns: continue with: rulemem resume{options}")
    return lines


def costs(found: Mapping[str, Cost]) -> list[Block]:
    """Model calls, tokens and seconds per stage, and together."""
    if not found:
        return ["No model was called."]
    total = sum(found.values(), Cost())
    rows = [
        (
            stage,
            f"{cost.calls:,}",
            f"{cost.prompt_tokens:,}",
            f"{cost.completion_tokens:,}",
            f"{cost.seconds:.1f}",
        )
        for stage, cost in [*found.items(), ("total", total)]
    ]
    return [Columns(header=("stage", "calls", "prompt tokens", "completion", "seconds"), rows=rows)]


def settings_shown(resolved: Resolved) -> dict[str, dict[str, object]]:
    """Each setting with its value and origin; secrets are not in it."""
    names = resolved.origins
    values = {name: getattr(resolved.settings, name) for name in names}
    if values["openai_api_key"]:
        values["openai_api_key"] = _HIDDEN
    values["openai_base_url"] = _without_password(values["openai_base_url"])
    values["cache_dir"] = str(resolved.settings.cache)
    return {name: {"value": values[name], "origin": names[name]} for name in names}


def settings(shown: Mapping[str, Mapping[str, object]]) -> list[Block]:
    """Settings as columns."""
    rows = [(name, str(entry["origin"]), str(entry["value"])) for name, entry in shown.items()]
    return [Columns(header=("setting", "from", "value"), rows=rows)]


# --- pieces --------------------------------------------------------------------------------


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "turn"), count(1200, "turn")
    ('1 turn', '1,200 turns')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cost(spent: Cost) -> str:
    """What was spent, on one line."""
    tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens"
    return f"{count(spent.calls, 'model call')}, {tokens}, {spent.seconds:.1f} s"


def _cost_lines(spent: Cost) -> list[Block]:
    return [f"cost     {cost(spent)}"] if spent.calls else []


def _list(counts: Mapping[str, int]) -> str:
    """Counts that are not zero; the first one always."""
    first, *others = counts.items()
    shown = [first, *(entry for entry in others if entry[1])]
    return ", ".join(f"{number:,} {name}" for name, number in shown)


def _reasons(title: str, reasons: Mapping[str, int]) -> list[Block]:
    if not reasons:
        return []
    ranked = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    return [f"{title}: " + ", ".join(f"{number} {reason}" for reason, number in ranked)]


def _turn(turn: Turn) -> str:
    return f"t{turn.id}  {_day(turn.said_at)}  {turn.line}"


def _stated(fact: Fact) -> str:
    when = render_when(fact.time)
    return f"{fact.text}{f' ({when})' if when else ''}{_closed(fact)}"


def _closed(fact: Fact) -> str:
    if fact.closed_by is None:
        return ""
    until = f" {fact.valid_until:%Y-%m-%d}" if fact.valid_until else ""
    return f" [until{until}, closed by f{fact.closed_by}]"


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "undated"


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "undated"


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{_HIDDEN}@{host}"))
