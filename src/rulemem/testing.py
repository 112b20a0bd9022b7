"""Test doubles for the model ports, for tests of RuleMem and of programs that use it.

    from rulemem import Memory
    from rulemem.testing import ListExtractor, ScriptedText, stub_models

    models = stub_models(facts={"I live in Oslo.": [("Ann", "lives in", "Oslo")]})
    memory = Memory(":memory:", models=models)

They answer at once, the same each time, and need no file and no network. The store is not
doubled: the real one works in memory. What a double was not told, it refuses loudly.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rulemem.bottom_up.facts import Extraction
from rulemem.dates import find_times
from rulemem.errors import ModelError
from rulemem.models.choose import Models
from rulemem.models.metered import MeteredText
from rulemem.ports import Continuation, LikelihoodModel, TextModel, TextReply, TextRequest
from rulemem.types import Fact, Turn, When

__all__ = ["HashEmbedder", "ListExtractor", "ScriptedText", "TableLikelihood", "stub_models"]

Reply: TypeAlias = str | ModelError
Script: TypeAlias = Sequence[Reply] | Callable[[TextRequest], Reply]
Triple: TypeAlias = tuple[str, str, str]

_WORD = re.compile(r"\w+")


class ScriptedText:
    """A text model that says what its script says.

    Args:
        script: replies in order, or a function from request to reply. A `ModelError` takes the
            place of the reply, as a model's failure does.
        name: how it is named beside what it made.

    Attributes:
        requests: every request so far.
    """

    def __init__(self, script: Script, *, name: str = "scripted@1") -> None:
        self.name = name
        self.requests: list[TextRequest] = []
        self._script = script

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request; a word counts as a token.

        Raises:
            AssertionError: the script has ended.
        """
        return [self._reply(request) for request in requests]

    def _reply(self, request: TextRequest) -> TextReply | ModelError:
        self.requests.append(request)
        if callable(self._script):
            said = self._script(request)
        else:
            place = len(self.requests) - 1
            assert place < len(self._script), f"the script has no reply {place}: {request!r}"
            said = self._script[place]
        if isinstance(said, ModelError):
            return said
        return TextReply(
            text=said,
            prompt_tokens=len(f"{request.system} {request.user}".split()),
            completion_tokens=len(said.split()),
            seconds=0.0,
        )


class HashEmbedder:
    """Sentence vectors from hashed words: texts that share words are near each other.

    Args:
        name: two embedders with different names give different vectors.
        dimension: of the vectors; the larger, the fewer words collide.
    """

    def __init__(self, name: str = "hash@1", dimension: int = 64) -> None:
        self.name = name
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension)."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.casefold()) or [""]:
                digest = hashlib.blake2b(f"{self.name} {word}".encode(), digest_size=8).digest()
                number = int.from_bytes(digest, "big")
                row[(number >> 1) % self.dimension] += 1.0 if number & 1 else -1.0
            if not row.any():  # words that cancel each other out
                row[0] = 1.0
            row /= np.linalg.norm(row)
        return rows


class TableLikelihood:
    """A likelihood model that looks its scores up.

    Args:
        table: (prefix, text) -> mean negative log-likelihood in nats per token.
        default: for what is not in the table; None: refuse it.
        name: how it is named beside its verdicts.
    """

    def __init__(
        self,
        table: Mapping[tuple[str, str], float],
        *,
        default: float | None = None,
        name: str = "table@1",
    ) -> None:
        self.name = name
        self._table = table
        self._default = default

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Return the score of each continuation.

        Raises:
            AssertionError: one that is not in the table, and there is no default.
        """
        return [self._score(item) for item in items]

    def _score(self, item: Continuation) -> float:
        score = self._table.get((item.prefix, item.text), self._default)
        assert score is not None, f"the table has no {item!r}"
        return score


class ListExtractor:
    """An extractor that knows the facts of each text.

    Times are read from the text as the real ones do: the first expression dates all its facts.

    Args:
        facts: text of a turn -> its facts as (subject, relation, object). A text that is not
            listed has none.
        failures: text of a turn -> why it cannot be read.
    """

    name = "list@1"

    def __init__(
        self,
        facts: Mapping[str, Sequence[Triple]] | None = None,
        *,
        failures: Mapping[str, str] | None = None,
    ) -> None:
        self._facts = facts or {}
        self._failures = failures or {}

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Look the facts of each turn up, in order."""
        return [
            Extraction(
                turn_id=turn.id,
                facts=tuple(self._fact(turn, triple) for triple in self._facts.get(turn.text, ())),
                failed=self._failures.get(turn.text, ""),
            )
            for turn in turns
        ]

    def _fact(self, turn: Turn, triple: Triple) -> Fact:
        subject, relation, object = triple
        times = [mention.when for mention in find_times(turn.text, turn.said_at)]
        return Fact(
            subject=subject,
            relation=relation,
            object=object,
            text=f"{subject} {relation} {object}",
            time=times[0] if times else When(),
            said_at=turn.said_at,
            speaker=turn.speaker,
            turn_ids=(turn.id,),
            extractor=self.name,
        )


def stub_models(
    *,
    text: TextModel | None = None,
    likelihood: LikelihoodModel | None = None,
    facts: Mapping[str, Sequence[Triple]] | None = None,
    failures: Mapping[str, str] | None = None,
) -> Models:
    """Put doubles behind all ports of a memory.

    Args:
        text: a text model, mostly a `ScriptedText`; None: no language model.
        likelihood: a scorer; None: rules stay candidates.
        facts: what the extractor knows; see `ListExtractor`.
        failures: what it cannot read; see `ListExtractor`.
    """
    return Models(
        embedder=HashEmbedder(),
        extractor=ListExtractor(facts, failures=failures),
        text=None if text is None else MeteredText(text),
        likelihood=likelihood,
    )
