"""Head keys: what a fact lets one conclude, in the vocabulary of later questions.

A language model writes one or two general conclusions for each turn that yielded facts. Each
becomes a candidate rule of one premise (fact => conclusion) with one instance: the conclusion with
the speaker's name, indexed as a key of the fact. The memory can then be entered through its
conclusions. Keys are derived data: dropped with their facts, never shown as facts, never quoted.

Source: method.md, stage 1 step 6; Assumption ADR-0004.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rulemem.errors import BudgetExceeded, ModelError
from rulemem.lexical import canonical, content_terms
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.prompts import Prompt, load_prompt
from rulemem.types import Fact, HeadKey, Rule, Turn

WINDOW = 3  # turns per call: more, and the small model mixes them up
_LONGEST_TURN = 500  # characters of a turn that the model sees
_MAX_TOKENS = 110
_LINE = re.compile(r"^\s*(\d+)[.:)]?\s+(.{8,160}?)[.\s]*$")
_KEYS_PER_TURN = 3
_ECHOES = ("omar", "lena")


@dataclass(frozen=True, slots=True, kw_only=True)
class Implications:
    """What the turns of a conversation imply."""

    rules: tuple[Rule, ...]
    read_turns: tuple[int, ...]  # turns that got a reply, whether or not a key came of it
    rejected: Counter[str]  # reason -> lines
    out_of_budget: bool = False


def propose_keys(
    turns: Sequence[Turn], facts: Mapping[int, Sequence[Fact]], model: TextModel
) -> Implications:
    """Ask what each turn implies.

    Args:
        turns: turns that yielded facts, in order.
        facts: the facts of each turn, by turn id.
        model: the text model that writes.
    """
    prompt = load_prompt("imply")
    windows = list(_windows(turns))
    replies = model.complete([_request(prompt, window) for window in windows])
    rules: list[Rule] = []
    read: list[int] = []
    rejected: Counter[str] = Counter()
    out_of_budget = False
    for window, reply in zip(windows, replies, strict=True):
        if isinstance(reply, BudgetExceeded):
            out_of_budget = True
            continue
        read.extend(turn.id for turn in window)
        if isinstance(reply, ModelError):
            rejected[reply.message] += 1
            continue
        for turn, line in _read_lines(reply, window, rejected):
            rules.append(_rule(turn, line, facts[turn.id], f"{prompt.tag}/{model.name}"))
    return Implications(
        rules=tuple(rules), read_turns=tuple(read), rejected=rejected, out_of_budget=out_of_budget
    )


def is_implication(rule: Rule) -> bool:
    """Whether a rule is the one-premise candidate behind a head key."""
    return rule.inducer.startswith("imply@")


def _windows(turns: Sequence[Turn]) -> Iterator[Sequence[Turn]]:
    """Up to WINDOW turns of one session at a time."""
    start = 0
    for end in range(1, len(turns) + 1):
        ended = end == len(turns) or _session(turns[end]) != _session(turns[start])
        if ended or end - start == WINDOW:
            yield turns[start:end]
            start = end


def _session(turn: Turn) -> tuple[str, str]:
    return turn.conversation, turn.session


def _request(prompt: Prompt, window: Sequence[Turn]) -> TextRequest:
    lines = [
        f"{number} {turn.speaker}: {' '.join(turn.content.split())[:_LONGEST_TURN]}"
        for number, turn in enumerate(window, 1)
    ]
    return TextRequest(
        stage="head_keys",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(messages="\n".join(lines)),
        max_tokens=_MAX_TOKENS,
    )


def _read_lines(
    reply: TextReply, window: Sequence[Turn], rejected: Counter[str]
) -> Iterator[tuple[Turn, str]]:
    """Accept the lines that name a turn of the window and conclude about its speaker."""
    counts: Counter[int] = Counter()
    seen: set[str] = set()
    for raw in reply.text.splitlines():
        match = _LINE.match(raw)
        if match is None:
            if raw.strip():
                rejected["not a numbered line"] += 1
            continue
        index, line = int(match[1]) - 1, match[2].strip()
        if not 0 <= index < len(window):
            rejected["unknown turn"] += 1
            continue
        turn = window[index]
        first = line.split()[0].rstrip("',")
        if canonical(first) != canonical(turn.speaker.split()[0]):
            echo = canonical(first) in _ECHOES
            rejected["echo of the example" if echo else "about somebody else"] += 1
        elif len(content_terms(line)) < 2:
            rejected["says nothing"] += 1
        elif canonical(line) in seen or counts[index] == _KEYS_PER_TURN:
            rejected["repeated"] += 1
        else:
            seen.add(canonical(line))
            counts[index] += 1
            yield turn, line


def _rule(turn: Turn, line: str, facts: Sequence[Fact], inducer: str) -> Rule:
    """One-premise candidate: the turn's nearest fact in words => the conclusion."""
    words = content_terms(line)
    fact = max(facts, key=lambda f: len(words & content_terms(f.text)))
    return Rule(
        body=(_lift(fact.text, turn.speaker),),
        head=_lift(line, turn.speaker.split()[0]),
        keys=(HeadKey(text=line, fact_ids=(fact.id,), turn_ids=(turn.id,)),),
        inducer=inducer,
    )


def _lift(text: str, name: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "[Person]", text)
