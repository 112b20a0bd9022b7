"""Memory: five verbs and the read-only views; the three stages in order.

add      turns are stored and searchable, then facts are extracted     bottom_up/
learn    facts -> paths -> rules -> verdicts                           bottom_up/, consistency/
search   ranked evidence, rules guiding; no language model             top_down/
ask      a short answer with its proof                                 top_down/
forget   turns and everything derived from them
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from rulemem.asking import Asker
from rulemem.bottom_up.head_keys import is_implication
from rulemem.config import resolve_settings
from rulemem.consistency.score import ConsistencyConfig
from rulemem.errors import ConfigError, InputError, NotFound
from rulemem.formats import Source, read_conversations
from rulemem.ingest import extract_pending, index_pending, store_turns
from rulemem.learning import LearnConfig, Learner
from rulemem.models.choose import Models, choose_models
from rulemem.packs import parse_pack
from rulemem.ports import Store
from rulemem.reports import AddReport, LearnReport, OnProgress, Progress, Status
from rulemem.stores.sqlite import SqliteStore
from rulemem.top_down.ground import Question, read_question
from rulemem.top_down.guided_recall import RecallConfig, Recalled, recall
from rulemem.top_down.proof import check_proof
from rulemem.types import Answer, Cost, Evidence, Fact, Receipt, Rule, RuleStatus, Turn

ASK_EVIDENCE = 10  # recalled turns that an answer is reasoned from
_TRACE = 60  # characters by which a cached reply is known to hold a turn


class Memory:
    """A long memory for conversational agents, in one file."""

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        models: Models | None = None,
        recall_config: RecallConfig | None = None,
        learn_config: LearnConfig | None = None,
        **settings: Any,
    ) -> None:
        """Open or create a memory.

        Args:
            path: the file; ":memory:" keeps nothing. Defaults to the setting `db`.
            models: ready adapters; by default they are chosen by the settings.
            recall_config: weights of recall; see ADR-0008.
            learn_config: what learning may spend.
            settings: any of `config.Settings`, such as llm="none" or llm="openai:gpt-4o-mini".

        Raises:
            ConfigError: an unknown setting or a value that cannot work.
            ModelUnavailable: a model that is not there; the message says how to get it.
            SchemaMismatch: the file was made with another embedder or a newer version.
        """
        self.settings = resolve_settings(settings).settings
        self._models = models or choose_models(self.settings)
        self._recall_config = recall_config or RecallConfig()
        self._learn_config = learn_config or LearnConfig(
            consistency=ConsistencyConfig(alpha=self.settings.alpha, tau=self.settings.tau),
            distill=self.settings.llm.startswith("openai:"),
        )
        self._store: Store = SqliteStore(
            path if path is not None else Path(self.settings.db),
            embedder_name=self._models.embedder.name,
            dimension=self._models.embedder.dimension,
        )

    # --- the five verbs --------------------------------------------------------------------
    def add(
        self,
        source: Source,
        *,
        scope: str,
        conversation: str | None = None,
        progress: OnProgress | None = None,
    ) -> AddReport:
        """Store a conversation, then extract its facts.

        Args:
            source: messages, turns, a text, or the path of a file; see docs/formats.md.
            scope: whose memory.
            conversation: which one of several in the source, or the name of the only one.
            progress: called as the work goes on.

        Raises:
            InputError: the source cannot be read; nothing was written.
        """
        _require_scope(scope)
        conversations = read_conversations(source, conversation=conversation)
        skipped: Counter[str] = Counter()
        total = AddReport()
        for one in conversations:
            skipped.update(skip.reason for skip in one.skipped if not skip.kept)
            stored = store_turns(self._store, scope, one.turns)
            total = replace(
                total,
                turns_new=total.turns_new + stored.turns_new,
                turns_unchanged=total.turns_unchanged + stored.turns_unchanged,
                turns_edited=total.turns_edited + stored.turns_edited,
            )
        extracted = self.resume(scope=scope, progress=progress)
        return replace(
            extracted,
            turns_new=total.turns_new,
            turns_unchanged=total.turns_unchanged,
            turns_edited=total.turns_edited,
            turns_skipped=dict(skipped),
            note=_note(total, extracted),
        )

    def resume(self, *, scope: str, progress: OnProgress | None = None) -> AddReport:
        """Embed and extract what is still pending; `add` does this by itself."""
        _require_scope(scope)
        report = progress or _ignore
        index_pending(self._store, self._models.embedder, scope, report)
        extracted = extract_pending(
            self._store, self._models.extractor, self._models.embedder, scope, report
        )
        return replace(extracted, cost=self._settle(scope))

    def retry_failed(self, *, scope: str, progress: OnProgress | None = None) -> AddReport:
        """Extract once more from turns whose extraction failed."""
        _require_scope(scope)
        failed = [turn.id for turn in self._store.turns(scope, state="failed")]
        if failed:
            self._store.mark_turns(scope, failed, "pending")
        return self.resume(scope=scope, progress=progress)

    def learn(self, *, scope: str, progress: OnProgress | None = None) -> LearnReport:
        """Learn rules from what is new since the last time."""
        _require_scope(scope)
        if self._models.text is None:
            return LearnReport(
                note="No language model: no rules are learned; those of a rule pack are kept."
            )
        learner = Learner(
            store=self._store,
            embedder=self._models.embedder,
            text=self._models.text,
            likelihood=self._models.likelihood,
            config=self._learn_config,
            report=progress or _ignore,
            rest=self._models.rest,
        )
        return replace(learner.learn(scope), cost=self._settle(scope))

    def search(
        self,
        query: str,
        *,
        scope: str,
        limit: int = 10,
        as_of: datetime | None = None,
        now: datetime | None = None,
    ) -> list[Evidence]:
        """Rank the turns that matter for a query, with their facts; no language model is called.

        Args:
            query: a question or a few words.
            scope: whose memory.
            limit: number of turns at most.
            as_of: only what was said by then.
            now: the time of asking, for "last week" in the query; read, not weighed yet (ADR-0008).
        """
        _require_scope(scope)
        if not query.strip() or limit < 1:
            return []
        question = self._read(query, scope, as_of=as_of, now=now)
        return list(self._recall(scope, question, limit).evidence)

    def ask(
        self,
        question: str,
        *,
        scope: str,
        as_of: datetime | None = None,
        now: datetime | None = None,
        abduction: bool = False,
    ) -> Answer:
        """Answer a question, with the proof; `answerable` is false where nothing grounds it.

        Args:
            question: what is asked.
            scope: whose memory.
            as_of: answer for this moment.
            now: the time of asking, for "last week" in the question; read, not weighed yet
                (ADR-0008).
            abduction: spend one more model call on premises that could explain the answer.

        Raises:
            InputError: an empty question.
            ModelError: the language model failed twice.
        """
        _require_scope(scope)
        if not question.strip():
            raise InputError("The question is empty.")
        read = self._read(question, scope, as_of=as_of, now=now)
        asker = Asker(
            store=self._store,
            embedder=self._models.embedder,
            text=self._models.text,
            recall=lambda asked, premises: self._recall(scope, asked, ASK_EVIDENCE, premises),
        )
        draft = asker.answer(scope, read, abduction=abduction)
        answer = replace(draft, cost=self._settle(scope))
        return replace(answer, id=self._store.save_answer(scope, answer))

    def forget(
        self,
        *,
        scope: str,
        turns: Sequence[int] | None = None,
        conversation: str | None = None,
        session: str | None = None,
        everything: bool = False,
    ) -> Receipt:
        """Remove turns and all that derives from them.

        Raises:
            ConfigError: nothing was named; the whole scope must be asked for by `everything`.
        """
        _require_scope(scope)
        if not (turns or conversation or session or everything):
            raise ConfigError(
                f"forget in scope {scope!r} names no turns, conversation or session.",
                hint="To forget the whole scope, pass everything=True.",
            )
        gone = self._forgotten_texts(scope, turns, conversation, session)
        receipt = self._store.forget(
            scope, turn_ids=turns, conversation=conversation, session=session
        )
        if self._models.replies is not None and gone:
            self._models.replies.drop_mentioning(gone)
        return receipt

    # --- read-only views -------------------------------------------------------------------
    def turns(self, *, scope: str, conversation: str | None = None) -> list[Turn]:
        """Turns in order."""
        return self._store.turns(scope, conversation=conversation)

    def facts(self, *, scope: str, entity: str | None = None) -> list[Fact]:
        """Facts, of one entity or of all; closed ones too."""
        return self._store.facts(scope, entity=entity)

    def rules(self, *, scope: str, status: RuleStatus | None = "admitted") -> list[Rule]:
        """Rules of one status; None: of any, without the one-premise candidates of head keys."""
        return [
            rule for rule in self._store.rules(scope, status=status) if not is_implication(rule)
        ]

    def history(self, entity: str, *, scope: str) -> list[Fact]:
        """All facts of an entity in temporal order, closed ones with their end."""
        facts = self._store.facts(scope, entity=entity)
        return sorted(facts, key=lambda f: (_sortable(f.began), f.id))

    def answer(self, id: int, *, scope: str) -> Answer:
        """A kept answer."""
        return self._store.answer(scope, id)

    def check(self, answer: Answer) -> list[str]:
        """What is wrong with an answer's proof; empty when it holds."""
        return check_proof(self._store, answer)

    def status(self, *, scope: str) -> Status:
        """What is stored, extracted, failed (and why) and pending."""
        failed = Counter(turn.reason for turn in self._store.turns(scope, state="failed"))
        return Status(scope=scope, counts=self._store.counts(scope), failed=dict(failed))

    def stats(self, *, scope: str) -> dict[str, Cost]:
        """Calls, tokens and seconds per stage since the scope began."""
        return self._store.costs(scope)

    def scopes(self) -> list[str]:
        """Names of all scopes."""
        return self._store.scopes()

    # --- rules by hand ---------------------------------------------------------------------
    def set_rule_status(self, rule: int, status: RuleStatus, *, scope: str) -> None:
        """Approve ("admitted") or disable a rule by hand."""
        if not self._store.rules(scope, ids=[rule]):
            raise NotFound(f"No rule {rule} in scope {scope!r}.")
        self._store.set_rule_status(scope, rule, status)

    def import_rules(self, pack: dict[str, Any], *, scope: str) -> int:
        """Add the rules of a pack; they count as admitted and carry the pack's name.

        Raises:
            InputError: not a pack, or a clause in it is malformed; nothing was written.
        """
        _require_scope(scope)
        rules = parse_pack(pack)
        known = {rule.clause for rule in self._store.rules(scope)}
        fresh = [rule for rule in rules if rule.clause not in known]
        embed = self._models.embedder.embed
        self._store.commit_rules(scope, fresh, embed([]), embed([r.head for r in fresh]))
        return len(fresh)

    def close(self) -> None:
        """Release the file."""
        self._store.close()

    # --- inside ----------------------------------------------------------------------------
    def _read(
        self, text: str, scope: str, *, as_of: datetime | None, now: datetime | None
    ) -> Question:
        people = self._store.speakers(scope)
        asker = "user" if "user" in people else ""
        return read_question(text, people, now=now, as_of=as_of, asker=asker)

    def _recall(
        self, scope: str, question: Question, limit: int, premises: Sequence[str] = ()
    ) -> Recalled:
        return recall(
            self._store,
            self._models.embedder,
            scope,
            question,
            limit=limit,
            config=self._recall_config,
            premises=premises,
        )

    def _forgotten_texts(
        self,
        scope: str,
        ids: Sequence[int] | None,
        conversation: str | None,
        session: str | None,
    ) -> list[str]:
        """Words by which cached replies about turns that go are found: theirs and their facts'.

        Too much is deleted rather than too little: a lost reply only costs its price again.
        """
        turns = self._store.turns(scope, ids=ids, conversation=conversation)
        turns = [turn for turn in turns if session in (None, turn.session)]
        facts = self._store.facts(scope, turn_ids=[turn.id for turn in turns])
        texts = [" ".join(turn.content.split())[:_TRACE] for turn in turns]
        texts += [line[:_TRACE] for turn in turns for line in turn.content.splitlines()]
        texts += [fact.text for fact in facts]
        return [text for text in dict.fromkeys(texts) if text.strip()]

    def _settle(self, scope: str) -> Cost:
        """Move what the model spent since the last time into the store's totals."""
        total = Cost()
        if self._models.text is not None:
            for stage, cost in self._models.text.take_costs().items():
                self._store.add_cost(scope, stage, cost)
                total += cost
        return total


def _require_scope(scope: str) -> None:
    if not isinstance(scope, str) or not scope.strip():
        raise ConfigError(f"scope must be a non-empty string, not {scope!r}.")


def _note(stored: AddReport, extracted: AddReport) -> str:
    if not (stored.turns_new or stored.turns_unchanged or stored.turns_edited):
        return "The source holds no turns."
    if stored.turns_new + stored.turns_edited and not extracted.facts_new:
        return "No facts came of the new turns; they are stored and searchable."
    return ""


def _sortable(at: datetime | None) -> tuple[bool, str]:
    return at is not None, at.isoformat() if at else ""


def _ignore(_progress: Progress) -> None:
    pass
