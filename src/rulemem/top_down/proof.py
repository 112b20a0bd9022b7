"""The proof of an answer: built from what was cited, and checked by a program.

rule -> premises -> facts -> quoted turns. `check_proof` verifies mechanically that every id exists
in the scope, every quote stands in its turn and was said by whom it names, and every premise is
about the entity that it claims. Knows nothing of models.

Source: product.md, promise 1; Assumption ADR-0007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rulemem.clauses import bind
from rulemem.lexical import canonical, content_terms
from rulemem.ports import Store
from rulemem.top_down.activate import KeyHit
from rulemem.top_down.ground import Question, ground_rule
from rulemem.top_down.reason import Conclusion
from rulemem.types import Activation, Answer, Evidence, Fact, Premise, Quote

_FACTS_PER_TURN = 2
_RULES = 2  # rules shown, admitted ones first
_ACTIVE = 0.25  # similarity from which a rule without instances counts as used


def build_answer(
    scope: str,
    question: Question,
    conclusion: Conclusion,
    activations: Sequence[Activation],
) -> Answer:
    """Put an answer together from its conclusion and the rules that led to its evidence."""
    cited_turns = {item.turn.id for item in conclusion.cited}
    facts = _cited_facts(question, conclusion)
    premises = [_premise(fact) for fact in facts]
    bare = [item for item in conclusion.cited if not any(
        item.turn.id in fact.turn_ids for fact in facts)]  # fmt: skip
    premises.extend(
        Premise(
            text=item.turn.content, fact_ids=(), turn_ids=(item.turn.id,), entity=item.turn.speaker
        )
        for item in bare
    )
    grounding = {fact.id for fact in facts}
    used = [a for a in activations if _supports(a, cited_turns, grounding)][:_RULES]
    answer = Answer(
        scope=scope,
        question=question.text,
        text=conclusion.text,
        answerable=conclusion.answerable,
        reason=conclusion.reason,
        activations=tuple(used),
        premises=tuple(premises),
        facts=tuple(facts),
        quotes=tuple(_quote(item) for item in conclusion.cited),
        answerer=conclusion.answerer,
    )
    return replace(answer, proof=render_proof(answer))


def refuse(
    scope: str, question: Question, reason: str, answerer: str, fact: Fact | None = None
) -> Answer:
    """An answer that says why there is none; a failing premise is shown as not grounded."""
    failing = (
        Premise(
            text=question.text, fact_ids=(), turn_ids=(), entity=question.person, grounded=False
        ),
    )
    answer = Answer(
        scope=scope,
        question=question.text,
        text="",
        answerable=False,
        reason=reason,
        premises=failing if fact else (),
        facts=(fact,) if fact else (),
        answerer=answerer,
    )
    return replace(answer, proof=render_proof(answer))


def rules_behind(hits: Sequence[KeyHit], question: Question) -> list[Activation]:
    """The rules whose keys were activated, each once, best first."""
    best: dict[int, KeyHit] = {}
    for hit in hits:
        if hit.rule.id not in best or hit.similarity > best[hit.rule.id].similarity:
            best[hit.rule.id] = hit
    ranked = sorted(best.values(), key=lambda hit: -hit.similarity)
    return [
        Activation(
            rule=hit.rule, similarity=hit.similarity, bindings=ground_rule(hit.rule, question)
        )
        for hit in ranked
    ]


def check_proof(store: Store, answer: Answer) -> list[str]:
    """What is wrong with an answer's proof; empty when it holds.

    Args:
        store: the memory that answered.
        answer: an answer, as returned or as kept.
    """
    problems: list[str] = []
    turn_ids = {quote.turn_id for quote in answer.quotes}
    turn_ids |= {id for premise in answer.premises for id in premise.turn_ids}
    turn_ids |= {id for fact in answer.facts for id in fact.turn_ids}
    turns = {turn.id: turn for turn in store.turns(answer.scope, ids=sorted(turn_ids))}
    problems += [f"turn {id} does not exist in this scope" for id in sorted(turn_ids - set(turns))]
    fact_ids = [fact.id for fact in answer.facts]
    known = {fact.id: fact for fact in store.facts(answer.scope, ids=fact_ids)}
    problems += [f"fact {id} does not exist in this scope" for id in fact_ids if id not in known]
    for quote in answer.quotes:
        turn = turns.get(quote.turn_id)
        if turn is not None and quote.text not in turn.content:
            problems.append(f"the quote of turn {quote.turn_id} does not stand there")
        if turn is not None and quote.speaker != turn.speaker:
            problems.append(f"turn {quote.turn_id} was not said by {quote.speaker!r}")
    for premise in answer.premises:
        problems += _check_premise(premise, known)
    if answer.answerable and not answer.quotes:
        problems.append("an answer without a quoted turn")
    return problems


def render_proof(answer: Answer) -> str:
    """The proof as indented lines: rules, premises, facts, quotes."""
    lines: list[str] = []
    for activation in answer.activations:
        names = {placeholder.strip("[]"): name for placeholder, name in activation.bindings}
        rule = activation.rule
        lines.append(f"rule r{rule.id} ({rule.status}): {rule.clause}")
        lines += [f"  if   {bind(atom, names)}" for atom in rule.body]
        lines.append(f"  then {bind(rule.head, names)}")
    for premise in answer.premises:
        state = "premise" if premise.grounded else "premise fails"
        facts = " ".join(f"f{id}" for id in premise.fact_ids)
        lines.append(f"{state}: {_on_one_line(premise.text)}{f'  [{facts}]' if facts else ''}")
    for quote in answer.quotes:
        date = f"{quote.said_at:%Y-%m-%d} " if quote.said_at else ""
        lines.append(f'  t{quote.turn_id} {date}{quote.speaker}: "{_on_one_line(quote.text)}"')
    if not answer.answerable:
        lines.append(f"reason: {_on_one_line(answer.reason)}")
    return "\n".join(lines)


def _on_one_line(text: str) -> str:
    """Words without line ends, with which a turn could forge lines of the proof."""
    return " ".join(text.split())


def _cited_facts(question: Question, conclusion: Conclusion) -> list[Fact]:
    """The facts of each cited turn that share most with the answer and the question."""
    answer = content_terms(conclusion.text)

    def shared(fact: Fact) -> int:
        words = content_terms(fact.text)
        return 2 * len(answer & words) + len(question.terms & words)

    facts: dict[int, Fact] = {}
    for item in conclusion.cited:
        ranked = sorted(item.facts, key=lambda f: (-shared(f), f.id))
        telling = [fact for fact in ranked if shared(fact)] or ranked[:1]
        facts.update({fact.id: fact for fact in telling[:_FACTS_PER_TURN]})
    return list(facts.values())


def _premise(fact: Fact) -> Premise:
    return Premise(text=fact.text, fact_ids=(fact.id,), turn_ids=fact.turn_ids, entity=fact.subject)


def _supports(activation: Activation, turn_ids: set[int], fact_ids: set[int]) -> bool:
    """Whether the rule led to the evidence: its instance, or what its body found, is cited."""
    keys = activation.rule.keys
    if keys:
        return any(fact_ids & set(key.fact_ids) for key in keys)
    return bool(turn_ids) and activation.similarity >= _ACTIVE


def _quote(item: Evidence) -> Quote:
    turn = item.turn
    return Quote(turn_id=turn.id, speaker=turn.speaker, said_at=turn.said_at, text=turn.content)


def _check_premise(premise: Premise, known: dict[int, Fact]) -> list[str]:
    problems = []
    for id in premise.fact_ids:
        fact = known.get(id)
        if fact is None:
            problems.append(f"premise {premise.text!r} cites fact {id}, which does not exist")
        elif canonical(premise.entity) not in {canonical(fact.subject), canonical(fact.object)}:
            problems.append(f"fact {id} is not about {premise.entity!r}")
    if premise.grounded and not premise.fact_ids and not premise.turn_ids:
        problems.append(f"premise {premise.text!r} rests on nothing")
    return problems
