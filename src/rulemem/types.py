"""The records that travel between the stages. Frozen, keyword-only, free of any engine.

Names follow the paper: a fact is a temporal quadruple, a rule is a Horn clause with a body (T_A)
and a head (T_C), evidence (T_E) is what a rule is tested against or an answer leans on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

Precision = Literal["minute", "day", "week", "month", "season", "year", "span", "unknown"]
TurnState = Literal["pending", "extracted", "failed"]
RuleStatus = Literal["candidate", "admitted", "rejected", "retired", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When something holds: a half-open interval with the precision that the words carry."""

    start: datetime | None = None  # first instant; None: open or unknown
    end: datetime | None = None  # first instant after it; None: open or unknown
    precision: Precision = "unknown"  # granularity at which it may be stated
    raw: str = ""  # the words it was read from


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance as it was given. Stored before any model is asked."""

    id: int = 0  # 0 until stored
    conversation: str
    session: str = ""  # label of the session within the conversation
    key: str  # identity within the conversation, such as "D3:7" or a content hash
    position: int = 0  # order within the conversation, from 0
    speaker: str
    text: str
    caption: str = ""  # description of an attached image
    said_at: datetime | None = None  # None: unknown, never "now"
    state: TurnState = "pending"
    reason: str = ""  # why extraction failed

    @property
    def content(self) -> str:
        """Text with the caption of an attached image, as it is indexed and quoted."""
        return f"{self.text} [image: {self.caption}]".strip() if self.caption else self.text

    @property
    def line(self) -> str:
        """The content with its speaker's name, who says "I" of himself: as it is indexed."""
        return f"{self.speaker}: {self.content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A temporal quadruple (subject, relation, object, time) with its sources."""

    id: int = 0
    subject: str
    relation: str
    object: str
    text: str  # the quadruple verbalised as one sentence in the third person
    time: When = field(default_factory=When)
    said_at: datetime | None = None  # when the source turn was spoken
    speaker: str  # who said it, whoever it is about
    turn_ids: tuple[int, ...]  # source turns, at least one
    negated: bool = False
    extractor: str  # "syntax@1" or "extract_facts@2/<model>"
    valid_until: datetime | None = None  # set when a newer fact closes this one
    closed_by: int | None = None  # id of the fact that closed it

    @property
    def began(self) -> datetime | None:
        """When it began to hold, as far as that is known; else when it was said."""
        return self.time.start or self.said_at

    @property
    def day(self) -> float:
        """`began` as days since the year 1, by the clock on the wall; undated facts come first."""
        began = self.began
        return began.replace(tzinfo=None).toordinal() + began.hour / 24 if began else 0.0

    @property
    def owner(self) -> str:
        """Whom it is about: its subject, or the owner of "Ann's kids"."""
        return self.subject.split("'s ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A coherent reasoning path P_c: facts in temporal order, consecutive ones share an entity."""

    facts: tuple[Fact, ...]
    links: tuple[str, ...]  # entity shared by facts i and i + 1; one fewer than facts


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadKey:
    """A rule instance: the facts that bound the body and the head under that binding."""

    id: int = 0
    rule_id: int = 0
    text: str  # bound head, such as "Ann may take a break from pottery"
    fact_ids: tuple[int, ...]
    turn_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What Rule Perplexity Consistency found. All likelihoods in mean nats per token."""

    nll_empty: float  # l(head | nothing)
    nll_body: float  # l(head | body)
    nll_evidence: float  # l(head | body + evidence)
    score: float  # alpha * s(delta_self) + (1 - alpha) * s(delta_fact)
    alpha: float
    tau: float
    form: str  # "paper" (unit sigmoid) or "calibrated"
    admitted: bool
    reason: str
    evidence_ids: tuple[int, ...]  # facts used as T_E
    self_supported: bool  # no held-out evidence: T_E is the rule's own path
    model: str

    @property
    def delta_self(self) -> float:
        """Delta_self = l(head | nothing) - l(head | body)."""
        return self.nll_empty - self.nll_body

    @property
    def delta_fact(self) -> float:
        """Delta_fact = l(head | body) - l(head | body + evidence)."""
        return self.nll_body - self.nll_evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A natural-language Horn clause B_1 and ... and B_n => H over typed placeholders."""

    id: int = 0
    body: tuple[str, ...]  # n >= 1 atoms, "[Person] is injured during [Event]"
    head: str
    status: RuleStatus = "candidate"
    keys: tuple[HeadKey, ...] = ()  # its support: one entry per instance
    verdict: Verdict | None = None
    inducer: str  # prompt id@version/model, or "pack:<name>"
    version: int = 1

    @property
    def clause(self) -> str:
        """The rule on one line."""
        return f"{' ∧ '.join(self.body)} ⇒ {self.head}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A rule called up by a question, with its placeholders bound where types allow."""

    rule: Rule
    similarity: float  # cos(e(question), e(head)), the best of head and its keys
    bindings: tuple[tuple[str, str], ...] = ()  # ("[Person]", "Ann")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One ranked item of a search: a turn with the facts that voted for it."""

    turn: Turn
    score: float  # fused; comparable within one search only
    facts: tuple[Fact, ...] = ()
    routes: tuple[str, ...] = ()  # which lists found it: "text", "dense", "fact", "rule:7", ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Premise:
    """One premise of the argument behind an answer."""

    text: str
    fact_ids: tuple[int, ...]  # facts that ground it; empty: not grounded
    turn_ids: tuple[int, ...]
    entity: str = ""  # the person or thing that it is claimed of
    grounded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Words of a turn, verbatim."""

    turn_id: int
    speaker: str
    said_at: datetime | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a stage or a call used."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
        )


class ProofChecker(Protocol):
    """Whoever can verify a proof: a `Memory`."""

    def check(self, answer: Answer) -> list[str]:
        """What is wrong with an answer's proof."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A short answer with its proof."""

    id: int = 0
    scope: str = ""  # whose memory answered
    question: str
    text: str
    answerable: bool
    reason: str  # why it is answerable or which premise fails
    activations: tuple[Activation, ...] = ()
    premises: tuple[Premise, ...] = ()
    facts: tuple[Fact, ...] = ()
    quotes: tuple[Quote, ...] = ()
    cost: Cost = field(default_factory=Cost)
    answerer: str = ""  # prompt id@version/model, or "extractive@1"
    proof: str = ""  # the argument as indented lines: rules, premises, facts, quoted turns

    def check(self, memory: ProofChecker) -> list[str]:
        """What is wrong with the proof, verified against the memory; empty when it holds."""
        return memory.check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """What became of one turn that was given to the store."""

    id: int
    outcome: Literal["new", "unchanged", "edited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOutcome:
    """What became of one fact: new, or one more source of a fact that was known."""

    id: int
    outcome: Literal["new", "duplicate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One row of a ranked list: higher is better."""

    item: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What `forget` removed."""

    turns: int = 0
    facts: int = 0
    entities: int = 0
    head_keys: int = 0
    rules_retired: int = 0
    answers: int = 0
    vectors: int = 0
