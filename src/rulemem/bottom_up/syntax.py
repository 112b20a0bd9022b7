"""Turns -> quadruples without a language model: the clauses of a dependency parse.

Each clause with a resolvable subject becomes one fact. First person becomes the speaker, second
person the other speaker (of two). Questions, requests, small talk and clauses about "it" or
"that" yield nothing; they stay findable as turns. Costs no tokens; English only, so turns in
other languages yield no facts and stay findable as turns.

Source: RuleMem, Fact Memorization. The parser in place of an LLM is Assumption ADR-0006.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rulemem.bottom_up.facts import Extraction
from rulemem.dates import TimeMention, find_times
from rulemem.errors import ModelUnavailable
from rulemem.types import Fact, Turn, When

NAME = "syntax@1"

_FIRST = {"i", "me", "myself", "we", "us", "ourselves"}
_FIRST_POSSESSIVE = {"my", "mine", "our", "ours"}
_SECOND = {"you", "yourself", "ya", "u"}
_SECOND_POSSESSIVE = {"your", "yours"}
_EMPTY_SUBJECTS = {"it", "that", "this", "these", "those", "there", "what", "which", "who",
                   "everything", "something", "anything", "nothing", "all", "one", "they", "he",
                   "she", "them", "'s", "someone", "everyone"}  # fmt: skip
_SMALL_TALK = {"thank", "thanks", "hope", "wish", "bet", "guess", "congratulate", "glad", "hear",
               "appreciate", "see", "mean", "know", "let", "agree", "sound", "look"}  # fmt: skip
_OBJECTS = ("dobj", "attr", "acomp", "oprd", "dative", "ccomp", "xcomp")
_INFLECTED = {"am": "is", "'m": "is", "are": "is", "'re": "is", "have": "has", "'ve": "has",
              "were": "was", "do": "does"}  # fmt: skip
_CLAUSES = {"conj", "ccomp", "parataxis"}


class SyntacticExtractor:
    """Extract quadruples with a spaCy pipeline; see the module."""

    name = NAME

    def __init__(self, model: Path) -> None:
        """Bind to the folder of a spaCy model; it is loaded at the first call."""
        self._path = model
        self._lock = threading.Lock()
        self._parser: Any = None

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Extract the facts of each turn, in order.

        Args:
            turns: turns of one conversation.
            context: turns before them; only their speakers are used.
        """
        parser = self._load()
        speakers = list(dict.fromkeys(t.speaker for t in (*context, *turns)))
        with self._lock:
            parsed = list(parser.pipe([turn.text for turn in turns]))
        return [_read(turn, doc, speakers) for turn, doc in zip(turns, parsed, strict=True)]

    def _load(self) -> Any:
        with self._lock:
            if self._parser is None:
                try:
                    import spacy
                except ImportError as error:
                    raise ModelUnavailable(
                        "spaCy is not installed.",
                        hint="Install it with: pip install 'rulemem[embedded]'.",
                    ) from error
                self._parser = spacy.load(self._path)
            return self._parser


def _read(turn: Turn, doc: Any, speakers: Sequence[str]) -> Extraction:
    others = [name for name in speakers if name != turn.speaker]
    other = others[0] if len(others) == 1 else ""
    mentions = find_times(turn.text, turn.said_at)
    facts: list[Fact] = []
    dropped: Counter[str] = Counter()
    for sentence in doc.sents:
        for verb in _predicates(sentence):
            reason, fact = _clause(turn, sentence, verb, other, mentions)
            if fact is None:
                dropped[reason] += 1
            elif fact.text not in {f.text for f in facts}:
                facts.append(fact)
    if turn.caption:
        facts.append(_picture(turn))
    return Extraction(turn_id=turn.id, facts=tuple(facts), dropped=dict(dropped))


def _predicates(sentence: Any) -> Iterator[Any]:
    """The verbs that head a clause of their own."""
    for token in sentence:
        if token.pos_ not in {"VERB", "AUX"}:
            continue
        if token.dep_ == "ROOT" or (
            token.dep_ in _CLAUSES
            and token.head.pos_ in {"VERB", "AUX"}
            and (token.dep_ != "ccomp" or token.i < token.head.i)
        ):
            yield token


def _clause(
    turn: Turn, sentence: Any, verb: Any, other: str, mentions: Sequence[TimeMention]
) -> tuple[str, Fact | None]:
    """Turn one clause into a fact, or say why it is none."""
    if sentence.text.rstrip().endswith("?"):
        return "question", None
    subject, elided = _subject(verb)
    if subject is None and not elided:
        return "no subject", None
    if subject is not None and subject.lower_ in _EMPTY_SUBJECTS:
        return "empty subject", None
    second = subject is not None and subject.lower_ in _SECOND
    if second and (not other or any(c.tag_ == "MD" for c in verb.children)):
        return "suggestion", None
    first = elided or (subject is not None and subject.lower_ in _FIRST)
    if verb.lemma_.lower() in _SMALL_TALK and (first or second):
        return "small talk", None
    tokens = _own_tokens(verb)
    words = _Words(turn.speaker, other, subject, elided)
    name = turn.speaker if first else other if second else words.phrase(_phrase(subject))
    relation, object_token = _relation(verb)
    object_text = words.phrase(_phrase(object_token)) if object_token is not None else ""
    text = words.sentence(tokens)
    if len(text.split()) < 3 or not object_text:
        return "no object", None
    time = _time(tokens, mentions)
    return "", Fact(
        subject=name,
        relation=relation,
        object=object_text,
        text=text,
        time=time,
        said_at=turn.said_at,
        speaker=turn.speaker,
        turn_ids=(turn.id,),
        negated=any(c.dep_ == "neg" for c in verb.children),
        extractor=NAME,
    )


def _subject(verb: Any) -> tuple[Any, bool]:
    """The subject's head, inherited along conjunctions; or whether an "I" was left out."""
    token = verb
    while True:
        for child in token.children:
            if child.dep_ in {"nsubj", "nsubjpass"}:
                return child, False
        if token.dep_ != "conj" or token.head.pos_ not in {"VERB", "AUX"}:
            break
        token = token.head
    return None, token.tag_ in {"VBD", "VBG", "VBN"} and token.dep_ == "ROOT"


def _own_tokens(verb: Any) -> list[Any]:
    """The tokens of this clause without those of other clauses, in order."""
    other_heads = {t.i for t in _predicates(verb.sent) if t.i != verb.i}
    kept: list[Any] = []

    def collect(token: Any) -> None:
        kept.append(token)
        for child in token.children:
            if child.i not in other_heads and child.dep_ not in {"intj", "discourse"}:
                collect(child)

    collect(verb)
    kept.sort(key=lambda token: token.i)
    while kept and (kept[0].is_punct or kept[0].dep_ in {"cc", "mark"}):
        kept.pop(0)
    while kept and (kept[-1].is_punct or kept[-1].dep_ == "cc"):
        kept.pop()
    return kept


def _relation(verb: Any) -> tuple[str, Any]:
    """The relation's words and the head of its object."""
    relation = " ".join(
        [verb.lemma_.lower(), *(c.lower_ for c in verb.children if c.dep_ == "prt")]
    )
    children = [c for c in verb.children if c.i > verb.i]
    for label in _OBJECTS:
        for child in children:
            if child.dep_ == label:
                return relation, child
    for child in children:
        if child.dep_ in {"prep", "agent"}:
            for grandchild in child.children:
                if grandchild.dep_ in {"pobj", "pcomp"}:
                    return f"{relation} {child.lower_}", grandchild
    for child in children:
        if child.dep_ in {"advcl", "advmod", "npadvmod"}:
            return relation, child
    return relation, None


def _phrase(head: Any) -> list[Any]:
    """The core of a phrase: a noun with its compounds and adjectives, or a whole complement."""
    if head.pos_ in {"NOUN", "PROPN", "PRON", "NUM"}:
        kept = {"compound", "amod", "nummod", "poss", "nmod", "case", "quantmod"}
        tokens = [head]
        for child in head.children:
            if child.dep_ in kept and child.i < head.i:
                tokens.extend(t for t in child.subtree)
        return sorted(tokens, key=lambda token: token.i)
    tokens = list(head.subtree)
    while tokens and tokens[-1].is_punct:
        tokens.pop()
    return tokens


def _time(tokens: Sequence[Any], mentions: Sequence[TimeMention]) -> When:
    """The first resolved time within the clause, else the first one at all."""
    if not tokens:
        return When()
    start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
    inside = [m.when for m in mentions if start <= m.start < end]
    known = [when for when in inside if when.precision != "unknown"]
    return (known or inside or [When()])[0]


def _picture(turn: Turn) -> Fact:
    return Fact(
        subject=turn.speaker,
        relation="share picture of",
        object=turn.caption,
        text=f"{turn.speaker} shared a picture: {turn.caption}",
        said_at=turn.said_at,
        speaker=turn.speaker,
        turn_ids=(turn.id,),
        extractor=NAME,
    )


class _Words:
    """Puts names in the place of first and second person, and mends the verb."""

    def __init__(self, speaker: str, other: str, subject: Any, elided: bool) -> None:
        self._speaker = speaker
        self._other = other
        self._subject = subject
        self._elided = elided

    def phrase(self, tokens: Sequence[Any]) -> str:
        """The words of a phrase with names for persons."""
        return _join([(self._word(t), t.whitespace_) for t in tokens])

    def sentence(self, tokens: Sequence[Any]) -> str:
        """The words of a clause as a sentence in the third person."""
        words = [(self._word(t), t.whitespace_) for t in tokens]
        missing = self._elided or (self._subject is not None and self._subject not in tokens)
        if missing:
            name = self._speaker if self._elided else self.phrase(_phrase(self._subject))
            words.insert(0, (name, " "))
        return _join(words)

    def _word(self, token: Any) -> str:
        lower = token.lower_
        if lower in _FIRST:
            return self._speaker
        if lower in _FIRST_POSSESSIVE:
            return f"{self._speaker}'s"
        if self._other and lower in _SECOND:
            return self._other
        if self._other and lower in _SECOND_POSSESSIVE:
            return f"{self._other}'s"
        if self._is_inflected(token):
            return f" {_third(token)}" if lower.startswith("'") else _third(token)
        return str(token.text)

    def _is_inflected(self, token: Any) -> bool:
        """Whether this verb agrees with an "I" or "you" that became a name."""
        verb = token.head if token.dep_ in {"aux", "auxpass"} else token
        subject, _ = _subject(verb)
        persons = {"i", "we", *(_SECOND if self._other else ())}
        if subject is None or subject.lower_ not in persons:
            return False
        return token.tag_ == "VBP" or token.lower_ in {"were", *_INFLECTED}


def _third(token: Any) -> str:
    """A verb of the first or second person in the third."""
    lower = token.lower_
    if lower in _INFLECTED:
        return _INFLECTED[lower]
    if lower.endswith(("s", "sh", "ch", "x", "o")):
        return f"{lower}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{lower[:-1]}ies"
    return f"{lower}s"


def _join(words: Sequence[tuple[str, str]]) -> str:
    return " ".join("".join(word + space for word, space in words).split())
