"""Fact extraction with a language model: turns -> temporal quadruples.

A window of consecutive turns goes to the model with the turns just before it as context. What
comes back is untrusted: each fact must name a turn of the window, have its words rooted there,
and is dropped and counted otherwise. Times are resolved by code against the turn's own
timestamp. Knows nothing of stores; `syntax.py` is the same port without a model.

Source: RuleMem, Fact Memorization. The checks are Assumption ADR-0006.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, Field, ValidationError

from rulemem.dates import find_times
from rulemem.errors import BudgetExceeded, ModelError, ReplyRejected
from rulemem.lexical import content_terms
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.prompts import Prompt, load_prompt
from rulemem.prompts.json_reply import parse_json
from rulemem.types import Fact, Turn, When

CONTEXT_TURNS = 2
_MAX_TOKENS = 700
_ROOTED = 0.6  # share of a fact's content words that the turn or its speakers must hold
_PLACEHOLDER_NAMES = {"john doe", "jane doe", "user", "speaker", "person", "someone", "omar"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What became of one turn."""

    turn_id: int
    facts: tuple[Fact, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> count
    failed: str = ""  # why the turn could not be read; "" when it was
    out_of_budget: bool = False  # a cap was reached before this turn; it stays pending


class Extractor(Protocol):
    """Turns in, one extraction per turn out, in order."""

    name: str

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Extract the facts of consecutive turns of one conversation."""
        ...


class FactItem(BaseModel):
    """One fact as a model writes it."""

    turn: int
    subject: str = Field(min_length=1, max_length=80)
    relation: str = Field(min_length=1, max_length=60)
    object: str = Field(default="", max_length=200)
    text: str = Field(min_length=1, max_length=300)


SCHEMA = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": 24,
            "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "subject": {"type": "string"},
                    "relation": {"type": "string"},
                    "object": {"type": "string"},
                    "text": {"type": "string"},
                },
                "required": ["turn", "subject", "relation", "object", "text"],
            },
        }
    },
    "required": ["facts"],
}


class PromptedExtractor:
    """Extract quadruples with a text model; see the module."""

    def __init__(self, model: TextModel, *, window: int = 10) -> None:
        """Args: a text model, and how many turns one call reads."""
        self._model = model
        self._window = window
        self._prompt = load_prompt("extract_facts")
        self.name = f"{self._prompt.tag}/{model.name}"

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Extract the facts of each turn; a rejected reply is asked for once more."""
        everything = [*context[-CONTEXT_TURNS:], *turns]
        offset = len(everything) - len(turns)
        windows = [turns[i : i + self._window] for i in range(0, len(turns), self._window)]
        before = [
            everything[max(0, offset + i - CONTEXT_TURNS) : offset + i]
            for i in range(0, len(turns), self._window)
        ]
        requests = [
            _request(self._prompt, window, prior)
            for window, prior in zip(windows, before, strict=True)
        ]
        replies = self._model.complete(requests)
        extractions: list[Extraction] = []
        for window, request, reply in zip(windows, requests, replies, strict=True):
            items, failure = self._items(request, reply)
            extractions.extend(_check(window, items, failure, self.name))
        return extractions

    def _items(
        self, request: TextRequest, reply: TextReply | ModelError
    ) -> tuple[list[object], ModelError | None]:
        """The raw items of a reply, after one retry that shows the model its error."""
        try:
            return _read_items(reply), None
        except ReplyRejected as error:
            again = request.with_error(error)
            second = self._model.complete([again])[0]
        except ModelError as error:
            return [], error
        try:
            return _read_items(second), None
        except ModelError as error:
            return [], error


def _request(prompt: Prompt, window: Sequence[Turn], before: Sequence[Turn]) -> TextRequest:
    return TextRequest(
        stage="extract",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(
            context="\n".join(t.line for t in before) or "(none)",
            window="\n".join(f"{i}. {t.line}" for i, t in enumerate(window, 1)),
        ),
        schema=SCHEMA,
        max_tokens=_MAX_TOKENS,
    )


def _read_items(reply: TextReply | ModelError) -> list[object]:
    if isinstance(reply, ModelError):
        raise reply
    data = parse_json(reply.text)
    if isinstance(data, dict):
        folded = {str(key).casefold(): value for key, value in data.items()}
        data = folded.get("facts", [])
    if not isinstance(data, list):
        raise ReplyRejected(f"'facts' is no list but {type(data).__name__}.")
    return data


def _check(
    window: Sequence[Turn], items: Sequence[object], failure: ModelError | None, extractor: str
) -> list[Extraction]:
    facts: dict[int, list[Fact]] = {i: [] for i in range(len(window))}
    dropped: dict[int, Counter[str]] = {i: Counter() for i in range(len(window))}
    for item in items:
        try:
            parsed = FactItem.model_validate(item)
        except ValidationError:
            dropped[0]["malformed"] += 1
            continue
        index = parsed.turn - 1
        if index not in facts:
            dropped[0]["unknown turn"] += 1
            continue
        reason, fact = check_fact(parsed, window[index], window, extractor)
        if fact is None:
            dropped[index][reason] += 1
        elif fact.text in {f.text for f in facts[index]}:
            dropped[index]["repeated"] += 1
        else:
            facts[index].append(fact)
    out_of_budget = isinstance(failure, BudgetExceeded)
    return [
        Extraction(
            turn_id=turn.id,
            facts=tuple(facts[i]),
            dropped=dict(dropped[i]),
            failed=failure.message if failure and not out_of_budget else "",
            out_of_budget=out_of_budget,
        )
        for i, turn in enumerate(window)
    ]


def check_fact(
    item: FactItem, turn: Turn, window: Sequence[Turn], extractor: str
) -> tuple[str, Fact | None]:
    """Accept a model's fact, or say why not: what a model must not get wrong is checked here."""
    if turn.text.rstrip().endswith("?") and "." not in turn.text and "!" not in turn.text:
        return "question", None
    names = {t.speaker.casefold() for t in window}
    subject = item.subject.strip()
    if subject.casefold() in _PLACEHOLDER_NAMES - names:
        return "placeholder name", None
    if subject.casefold() in {"i", "me", "we"}:
        subject = turn.speaker
    known = set(content_terms(turn.content))
    for name in (t.speaker for t in window):
        known.update(content_terms(name))
    words = content_terms(f"{subject} {item.text}")
    if not words or sum(word in known for word in words) < _ROOTED * len(words):
        return "not in the turn", None
    mentions = find_times(turn.text, turn.said_at)
    inside = [m.when for m in mentions if m.when.raw.casefold() in item.text.casefold()]
    return "", Fact(
        subject=subject,
        relation=item.relation.strip(),
        object=item.object.strip(),
        text=item.text.strip(),
        time=(inside or [When()])[0],
        said_at=turn.said_at,
        speaker=turn.speaker,
        turn_ids=(turn.id,),
        negated=any(w in item.text.casefold().split() for w in ("not", "never", "no")),
        extractor=extractor,
    )
