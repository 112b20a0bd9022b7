"""Explicit reasoning: rules as major premises, recalled facts as minor premises, one short answer.

The model only picks evidence and words. Whose fact it is, when it was and whether it exists is
settled by code: numbers of evidence that do not exist are dropped, a date comes from the fact's
resolved time, and an answer without evidence is no answer. Without a model the best fact answers.

Source: RuleMem, Explicit Reasoning; the answer's form is Assumption ADR-0007.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field, ValidationError

from rulemem.clauses import bind
from rulemem.dates import MONTH_NAMES, render_when
from rulemem.errors import ModelError, ReplyRejected
from rulemem.lexical import content_terms
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.prompts import load_prompt
from rulemem.prompts.json_reply import parse_json
from rulemem.slots import slot_of_relation
from rulemem.top_down.ground import Question
from rulemem.types import Activation, Evidence, Fact, When

EXTRACTIVE = "extractive@1"
_GLOSS = re.compile(r"\s*\([^()]*=[^()]*\)")  # what we put after a message, copied by the model
_UNKNOWN = {"unknown", "none", "no information", "not mentioned", "not known", "n/a", ""}
_MOST_CITED = 3
_MATCHES = 3  # messages named beside a rule
_LONGEST_TURN = 420  # characters of a turn that the model sees
_SCHEMA = {
    "type": "object",
    "properties": {
        "evidence": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
        "answer": {"type": "string", "maxLength": 160},
    },
    "required": ["evidence", "answer"],
}


class AnswerReply(BaseModel):
    """What the model writes."""

    evidence: list[int] = Field(default_factory=list)
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A short answer and the evidence it rests on."""

    text: str
    cited: tuple[Evidence, ...]
    answerable: bool
    reason: str
    answerer: str


def conclude(
    question: Question,
    evidence: Sequence[Evidence],
    activations: Sequence[Activation],
    model: TextModel,
) -> Conclusion:
    """Ask the model once, check what it says, and settle times by code.

    Raises:
        ModelError: the model failed twice.
    """
    prompt = load_prompt("answer")
    request = TextRequest(
        stage="answer",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(
            rules="\n".join(_rule_line(a, evidence) for a in activations) or "(none)",
            evidence="\n".join(_line(n, item) for n, item in enumerate(evidence, 1)),
            question=question.text,
        ),
        schema=_SCHEMA,
        max_tokens=90,
    )
    reply = _ask(model, request)
    answerer = f"{prompt.tag}/{model.name}"
    cited = [evidence[n - 1] for n in dict.fromkeys(reply.evidence) if 1 <= n <= len(evidence)]
    text = " ".join(_GLOSS.sub("", reply.answer).split()).strip(" .")
    if text.casefold() in _UNKNOWN:
        return _refuse("No recalled message answers the question.", answerer)
    if not cited:
        cited = _supporting(text, evidence)
    if not cited:
        return _refuse(f"Nothing recalled supports the answer {text!r}.", answerer)
    if question.asks_when:
        text = _date(question, cited) or text
    else:
        cited = _to_the_point(text, cited)
    return Conclusion(
        text=text,
        cited=tuple(cited),
        answerable=True,
        reason=f"Rests on {len(cited)} recalled message{'s' * (len(cited) > 1)}.",
        answerer=answerer,
    )


def extract_answer(question: Question, evidence: Sequence[Evidence]) -> Conclusion:
    """Answer with the best fact itself, or with its time; no model is asked."""
    best: tuple[float, Evidence, Fact | None] | None = None
    for rank, item in enumerate(evidence[:8]):
        for fact in item.facts or (None,):
            words = content_terms(fact.text if fact else item.turn.content)
            share = len(question.terms & words) / max(1, len(question.terms))
            score = share + (0.3 if fact and question.person == fact.subject else 0) - 0.02 * rank
            if fact and question.slot and slot_of_relation(fact.relation) == question.slot:
                score += 1.0
            if best is None or score > best[0]:
                best = score, item, fact
    if best is None or best[0] < 0.1:
        return _refuse("No recalled message shares a word with the question.", EXTRACTIVE)
    _, item, fact = best
    text = fact.text if fact else item.turn.content
    if question.asks_when:
        text = _date(question, [item]) or text
    return Conclusion(
        text=text, cited=(item,), answerable=True, reason="The best fact itself.",
        answerer=EXTRACTIVE,
    )  # fmt: skip


def _ask(model: TextModel, request: TextRequest) -> AnswerReply:
    """One call, one retry that shows the model its error."""
    try:
        return _read(model.complete([request])[0])
    except ReplyRejected as error:
        again = request.with_error(error)
    return _read(model.complete([again])[0])


def _read(reply: TextReply | ModelError) -> AnswerReply:
    if isinstance(reply, ModelError):
        raise reply
    try:
        return AnswerReply.model_validate(parse_json(reply.text))
    except (ReplyRejected, ValidationError) as error:
        raise ReplyRejected(
            f"The answer could not be read: {reply.text[:80]!r}.",
            hint="Ask again, or use a model that keeps to a JSON schema.",
        ) from error


def _refuse(reason: str, answerer: str) -> Conclusion:
    return Conclusion(text="", cited=(), answerable=False, reason=reason, answerer=answerer)


def _rule_line(activation: Activation, evidence: Sequence[Evidence]) -> str:
    """A rule bound to the person asked about, and the messages that may show its conditions."""
    names = {placeholder.strip("[]"): name for placeholder, name in activation.bindings}
    rule = activation.rule
    body = " AND ".join(bind(atom, names) for atom in rule.body)
    route = f"rule:{rule.id}"
    seen = [f"[{n}]" for n, item in enumerate(evidence, 1) if route in item.routes][:_MATCHES]
    matches = f" Look at {', '.join(seen)} first." if seen else ""
    return f"IF {body} THEN {bind(rule.head, names)}.{matches}"


def _line(number: int, item: Evidence) -> str:
    """One message with its date, and what its time expressions mean."""
    turn = item.turn
    said = f"{turn.said_at.day} {turn.said_at:%b %Y}, " if turn.said_at else ""
    meant = dict.fromkeys(
        f"{fact.time.raw} = {render_when(fact.time)}"
        for fact in item.facts
        if fact.time.raw and fact.time.precision != "unknown"
    )
    tail = f" ({'; '.join(meant)})" if meant else ""
    text = " ".join(turn.content.split())[:_LONGEST_TURN]
    return f"[{number}] {said}{turn.speaker}: {text}{tail}"


def _supporting(text: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    words = content_terms(text)
    return [e for e in evidence if words & content_terms(e.turn.content)][:2]


def _to_the_point(text: str, cited: Sequence[Evidence]) -> list[Evidence]:
    """The cited messages that hold words of the answer; a small model cites all that it saw."""
    words = content_terms(text)
    kept = [item for item in cited if words & content_terms(item.turn.content)]
    return (kept or list(cited))[:_MOST_CITED]


def _date(question: Question, cited: Sequence[Evidence]) -> str:
    """The time of the cited fact that shares most with the question, else of its turn."""
    dated: list[tuple[int, int, When]] = []
    for rank, item in enumerate(cited):
        for fact in item.facts:
            if fact.time.precision != "unknown":
                shared = len(question.terms & content_terms(fact.text))
                dated.append((shared, -rank, fact.time))
    if dated:
        return render_when(max(dated, key=lambda entry: entry[:2])[2])
    said_at = cited[0].turn.said_at if cited else None
    return f"{said_at.day} {MONTH_NAMES[said_at.month - 1]} {said_at.year}" if said_at else ""
