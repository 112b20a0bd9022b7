"""Rows to records and back: the one place that knows how a record is laid out in columns.

Times are kept as ISO 8601 exactly as they were given (naive stays naive, an offset stays that
offset), with microseconds since 1970 beside them for sorting. Knows no SQL.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from rulemem.lexical import canonical
from rulemem.stores.transaction import Parameter, Row
from rulemem.types import Cost, Fact, HeadKey, Rule, Turn, Verdict, When

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(value: datetime | None) -> str | None:
    """Return a time as text.

    >>> time_text(datetime(2023, 5, 8, 13, 56))
    '2023-05-08T13:56:00'
    """
    return None if value is None else value.isoformat()


def read_time(text: str | None) -> datetime | None:
    """Return the time that `time_text` wrote."""
    return None if text is None else datetime.fromisoformat(text)


def instant(value: datetime | None) -> int | None:
    """Return microseconds since 1970, a naive time read as UTC. For sorting only.

    >>> instant(datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    if value is None:
        return None
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def turn_columns(turn: Turn) -> dict[str, Parameter]:
    """Return the columns of a turn without its id."""
    return {
        "conversation": turn.conversation,
        "session": turn.session,
        "key": turn.key,
        "position": turn.position,
        "speaker": turn.speaker,
        "text": turn.text,
        "caption": turn.caption,
        "said_at": time_text(turn.said_at),
        "instant": instant(turn.said_at),
        "state": turn.state,
        "reason": turn.reason,
    }


def read_turn(row: Row) -> Turn:
    """Return the turn of a row."""
    return Turn(
        id=row["id"],
        conversation=row["conversation"],
        session=row["session"],
        key=row["key"],
        position=row["position"],
        speaker=row["speaker"],
        text=row["text"],
        caption=row["caption"],
        said_at=read_time(row["said_at"]),
        state=row["state"],
        reason=row["reason"],
    )


def fact_columns(fact: Fact) -> dict[str, Parameter]:
    """Return the columns of a fact without its id and sources."""
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "text": fact.text,
        "starts": time_text(fact.time.start),
        "ends": time_text(fact.time.end),
        "precision": fact.time.precision,
        "raw": fact.time.raw,
        "said_at": time_text(fact.said_at),
        "instant": instant(fact.began),
        "speaker": fact.speaker,
        "negated": int(fact.negated),
        "extractor": fact.extractor,
        "valid_until": time_text(fact.valid_until),
        "closed_by": fact.closed_by,
        "identity": fact_identity(fact),
    }


def fact_identity(fact: Fact) -> bytes:
    """Return the digest under which a fact is the same fact: its normalised quadruple.

    A negated fact is never a duplicate of its affirmation. Who said it, in which words and when
    it was said do not matter: that is what further sources are.
    """
    parts = [canonical(fact.subject), canonical(fact.relation), canonical(fact.object)]
    span = [instant(fact.time.start), instant(fact.time.end)]
    text = json.dumps([*parts, *span, fact.negated], ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def read_fact(row: Row) -> Fact:
    """Return the fact of a row of `fact_records`; sources in order of their ids."""
    return Fact(
        id=row["id"],
        subject=row["subject"],
        relation=row["relation"],
        object=row["object"],
        text=row["text"],
        time=When(
            start=read_time(row["starts"]),
            end=read_time(row["ends"]),
            precision=row["precision"],
            raw=row["raw"],
        ),
        said_at=read_time(row["said_at"]),
        speaker=row["speaker"],
        turn_ids=tuple(sorted(_read_ids(row["turns"]))),
        negated=bool(row["negated"]),
        extractor=row["extractor"],
        valid_until=read_time(row["valid_until"]),
        closed_by=row["closed_by"],
    )


def rule_columns(rule: Rule) -> dict[str, Parameter]:
    """Return the columns of a rule without its id, keys and verdict."""
    return {
        "body": json.dumps(rule.body, ensure_ascii=False),
        "head": rule.head,
        "status": rule.status,
        "inducer": rule.inducer,
        "version": rule.version,
    }


def read_rule(row: Row, keys: tuple[HeadKey, ...], verdict: Verdict | None) -> Rule:
    """Return the rule of a row with its keys and newest verdict."""
    return Rule(
        id=row["id"],
        body=tuple(json.loads(row["body"])),
        head=row["head"],
        status=row["status"],
        keys=keys,
        verdict=verdict,
        inducer=row["inducer"],
        version=row["version"],
    )


def read_key(row: Row) -> HeadKey:
    """Return the head key of a row of `key_records`."""
    return HeadKey(
        id=row["id"],
        rule_id=row["rule"],
        text=row["text"],
        fact_ids=tuple(_read_ids(row["facts"])),
        turn_ids=tuple(_read_ids(row["turns"])),
    )


def verdict_columns(verdict: Verdict) -> dict[str, Parameter]:
    """Return the columns of a verdict without its evidence."""
    return {
        "nll_empty": float(verdict.nll_empty),
        "nll_body": float(verdict.nll_body),
        "nll_evidence": float(verdict.nll_evidence),
        "score": float(verdict.score),
        "alpha": float(verdict.alpha),
        "tau": float(verdict.tau),
        "form": verdict.form,
        "admitted": int(verdict.admitted),
        "reason": verdict.reason,
        "self_supported": int(verdict.self_supported),
        "model": verdict.model,
    }


def read_verdict(row: Row) -> Verdict:
    """Return the verdict of a row of `verdict_records`."""
    return Verdict(
        nll_empty=row["nll_empty"],
        nll_body=row["nll_body"],
        nll_evidence=row["nll_evidence"],
        score=row["score"],
        alpha=row["alpha"],
        tau=row["tau"],
        form=row["form"],
        admitted=bool(row["admitted"]),
        reason=row["reason"],
        evidence_ids=tuple(_read_ids(row["evidence"])),
        self_supported=bool(row["self_supported"]),
        model=row["model"],
    )


def cost_columns(cost: Cost) -> dict[str, Parameter]:
    """Return the columns of a cost."""
    return {
        "calls": cost.calls,
        "prompt_tokens": cost.prompt_tokens,
        "completion_tokens": cost.completion_tokens,
        "seconds": float(cost.seconds),
    }


def read_cost(row: Row) -> Cost:
    """Return the cost of a row."""
    return Cost(
        calls=row["calls"],
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
        seconds=row["seconds"],
    )


def _read_ids(array: str) -> list[int]:
    found: Any = json.loads(array)
    return [int(item) for item in found]
