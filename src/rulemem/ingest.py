"""`add`: turns are stored and searchable first, then their facts are extracted.

Each step is committed before the next begins, so that a crash or a cap costs at most the batch in
hand, and `resume` continues with what is still pending. Knows nothing of files or formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from rulemem.bottom_up.change import find_closings
from rulemem.bottom_up.facts import CONTEXT_TURNS, Extraction, Extractor
from rulemem.ports import Embedder, Store
from rulemem.reports import AddReport, OnProgress, Progress
from rulemem.types import Fact, Turn

_BATCH = 40  # turns extracted and committed together


def store_turns(store: Store, scope: str, turns: Sequence[Turn]) -> AddReport:
    """Commit turns and their full text; no model of any kind is asked."""
    placed = _place(store, scope, turns)
    outcomes = Counter(o.outcome for o in store.add_turns(scope, placed))
    return AddReport(
        turns_new=outcomes["new"],
        turns_unchanged=outcomes["unchanged"],
        turns_edited=outcomes["edited"],
    )


def _place(store: Store, scope: str, turns: Sequence[Turn]) -> list[Turn]:
    """Turns that continue a stored conversation go after it.

    A source that holds turns known by their keys is the conversation itself, so its own order
    stands; one that holds none is what was said since.
    """
    placed: list[Turn] = []
    for conversation, group in groupby(turns, key=lambda turn: turn.conversation):
        incoming = list(group)
        stored = store.turns(scope, conversation=conversation)
        known = {turn.key for turn in stored}
        offset = 0
        if stored and not any(turn.key in known for turn in incoming):
            offset = max(turn.position for turn in stored) + 1 - incoming[0].position
        placed.extend(replace(turn, position=turn.position + offset) for turn in incoming)
    return placed


def index_pending(store: Store, embedder: Embedder, scope: str, report: OnProgress) -> None:
    """Embed the turns that have no vectors yet, each alone and with its predecessor."""
    waiting = store.turns_without_vectors(scope)
    if not waiting:
        return
    before = _predecessors(store, scope, waiting)
    done = 0
    for start in range(0, len(waiting), _BATCH):
        batch = waiting[start : start + _BATCH]
        alone = [turn.line for turn in batch]
        windows = [
            f"{before[t.id].line}\n{text}" if t.id in before else text
            for t, text in zip(batch, alone, strict=True)
        ]
        vectors = embedder.embed([*alone, *windows])
        store.index_turns(
            scope,
            [turn.id for turn in batch],
            windows,
            vectors[: len(batch)],
            vectors[len(batch) :],
        )
        done += len(batch)
        report(Progress(stage="embed", done=done, total=len(waiting)))


def extract_pending(
    store: Store, extractor: Extractor, embedder: Embedder, scope: str, report: OnProgress
) -> AddReport:
    """Extract the facts of pending turns, batch by batch, each batch in one transaction."""
    pending = store.turns(scope, state="pending")
    total = AddReport()
    done = 0
    for batch, context in _batches(store, scope, pending):
        extractions = extractor.extract(batch, context)
        total, stopped = _commit(store, embedder, scope, extractions, total)
        done += len(batch)
        report(Progress(stage="extract", done=done, total=len(pending)))
        if stopped:
            break
    left = len(store.turns(scope, state="pending")) if pending else 0
    return replace(total, turns_pending=left)


def _commit(
    store: Store,
    embedder: Embedder,
    scope: str,
    extractions: Sequence[Extraction],
    total: AddReport,
) -> tuple[AddReport, bool]:
    """Store what one batch yielded; say whether a cap was reached."""
    stopped = any(e.out_of_budget for e in extractions)
    good = [e for e in extractions if not e.failed and not e.out_of_budget]
    facts = [fact for e in good for fact in e.facts]
    vectors = embedder.embed([fact.text for fact in facts])
    outcomes = store.commit_facts(scope, facts, vectors, [e.turn_id for e in good])
    closed = _close(store, scope, facts, [o.id for o in outcomes])
    for reason, ids in _by_reason(extractions).items():
        store.mark_turns(scope, ids, "failed", reason)
    kinds = Counter(o.outcome for o in outcomes)
    dropped = Counter(total.facts_dropped)
    for extraction in good:
        dropped.update(extraction.dropped)
    return (
        replace(
            total,
            turns_failed=total.turns_failed + sum(bool(e.failed) for e in extractions),
            facts_new=total.facts_new + kinds["new"],
            facts_duplicate=total.facts_duplicate + kinds["duplicate"],
            facts_closed=total.facts_closed + closed,
            facts_dropped=dict(dropped),
        ),
        stopped,
    )


def _close(store: Store, scope: str, facts: Sequence[Fact], ids: Sequence[int]) -> int:
    """Close the older facts that the new ones replace."""
    fresh = [replace(fact, id=id) for fact, id in zip(facts, ids, strict=True)]
    closings = []
    for subject in dict.fromkeys(fact.subject for fact in fresh):
        mine = [fact for fact in fresh if fact.subject == subject]
        closings.extend(find_closings(mine, store.facts(scope, entity=subject)))
    if closings:
        store.close_facts(scope, closings)
    return len(closings)


def _by_reason(extractions: Sequence[Extraction]) -> dict[str, list[int]]:
    reasons: dict[str, list[int]] = {}
    for extraction in extractions:
        if extraction.failed:
            reasons.setdefault(extraction.failed, []).append(extraction.turn_id)
    return reasons


def _batches(
    store: Store, scope: str, pending: Sequence[Turn]
) -> Iterator[tuple[Sequence[Turn], Sequence[Turn]]]:
    """Pending turns by conversation, with the turns just before each batch."""
    for conversation, group in groupby(pending, key=lambda turn: turn.conversation):
        turns = list(group)
        everything = store.turns(scope, conversation=conversation)
        for start in range(0, len(turns), _BATCH):
            batch = turns[start : start + _BATCH]
            earlier = [t for t in everything if t.position < batch[0].position]
            yield batch, _context(earlier, batch)


def _context(earlier: Sequence[Turn], batch: Sequence[Turn]) -> list[Turn]:
    """The turns just before, led by one of each speaker so that "you" can be resolved."""
    near = list(earlier[-CONTEXT_TURNS:])
    known = {turn.speaker for turn in (*near, *batch)}
    far = {turn.speaker: turn for turn in earlier if turn.speaker not in known}
    return [*far.values(), *near]


def _predecessors(store: Store, scope: str, waiting: Sequence[Turn]) -> dict[int, Turn]:
    """The turn before each waiting one, within its session."""
    before: dict[int, Turn] = {}
    for conversation in dict.fromkeys(turn.conversation for turn in waiting):
        turns = store.turns(scope, conversation=conversation)
        for earlier, later in pairwise(turns):
            if earlier.session == later.session:
                before[later.id] = earlier
    return before
