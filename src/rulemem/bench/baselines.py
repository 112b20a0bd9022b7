"""Baselines that need no language model to read a conversation.

    bm25, dense, hybrid   turns ranked; the best ones answer
    date-of-top-turn      the floor: BM25's best turn, and its date is the answer
    full-context          the last turns that fit a window, unranked

All of them see a turn as "[8 May 2024] Ann: text [image: caption]". What each method owes is said
in `systems.MemorySystem`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulemem.bench.locomo import base_key
from rulemem.bench.plain_answer import PLAIN_ANSWER, answer_plainly
from rulemem.bench.rankers import Ranker
from rulemem.bench.recall import count_tokens
from rulemem.bench.systems import Ingested, Passage, Reply
from rulemem.errors import ConfigError
from rulemem.ports import TextModel
from rulemem.types import Turn

WINDOW = 2000  # tokens of a conversation that full-context shows; see `recall.count_tokens`


def show_date(turn: Turn) -> str:
    """The day of a turn in words; "" where it is unknown.

    >>> from datetime import datetime
    >>> show_date(Turn(conversation="c", key="1", speaker="Ann", text="Hi",
    ...     said_at=datetime(2024, 5, 8)))
    '8 May 2024'
    """
    return f"{turn.said_at.day} {turn.said_at:%B %Y}" if turn.said_at else ""


def show_turn(turn: Turn) -> str:
    """A turn as every system of the benchmark shows it."""
    date = show_date(turn)
    return f"{f'[{date}] ' if date else ''}{turn.speaker}: {' '.join(turn.content.split())}"


class TurnRetriever:
    """Turns ranked by a ranker.

    Args:
        name: of the arm.
        ranker: how turns are ranked.
        text: the language model that answers; None: retrieval only.
    """

    ranked = True

    def __init__(self, name: str, ranker: Ranker, text: TextModel | None) -> None:
        self.name = name
        self.settings: Mapping[str, Any] = {
            "ranker": type(ranker).__name__,
            "answer_prompt": PLAIN_ANSWER.tag,
        }
        self._ranker = ranker
        self._text = text
        self._turns: Sequence[Turn] = ()
        self._folder = Path()

    def open(self, conversation: str, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def ingest(self, turns: Sequence[Turn]) -> Ingested:
        self._turns = turns
        began = time.perf_counter()
        self._ranker.index([turn.line for turn in turns], self._folder)
        return Ingested(turns=len(turns), seconds={"index": time.perf_counter() - began})

    def retrieve(self, query: str, k: int) -> list[Passage]:
        return [
            Passage(text=show_turn(turn), turns=(base_key(turn.key),), score=score)
            for turn, score in self._best(query, k)
        ]

    def render(self, passages: Sequence[Passage]) -> str:
        return "\n".join(passage.text for passage in passages)

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        if self._text is None:
            raise ConfigError("To answer, a language model is needed.", hint="Set llm.")
        return answer_plainly(self._text, question, self.render(passages), preamble=preamble)

    def close(self) -> None:
        self._turns = ()

    def _best(self, query: str, k: int) -> list[tuple[Turn, float]]:
        return [(self._turns[place], score) for place, score in self._ranker.rank(query)[:k]]


class DateOfTopTurn(TurnRetriever):
    """The floor of temporal questions: the date of the best turn, whatever is asked."""

    def answer(self, question: str, passages: Sequence[Passage], *, preamble: str = "") -> Reply:
        date = next((show_date(turn) for turn, _ in self._best(question, 1)), "")
        return Reply(text=date, refused=not date, cited=passages[0].turns if passages else ())


class FullContext(TurnRetriever):
    """No retrieval: the end of the conversation, as much of it as a window holds."""

    ranked = False

    def __init__(self, name: str, text: TextModel | None, window: int = WINDOW) -> None:
        super().__init__(name, _InOrder(), text)
        self.settings = {"window_tokens": window, "answer_prompt": PLAIN_ANSWER.tag}
        self._window = window

    def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return the last turns that fit, in their order; neither query nor k is read."""
        left = self._window
        kept: list[Passage] = []
        for turn in reversed(self._turns):
            text = show_turn(turn)
            left -= count_tokens(text)
            if left < 0:
                break
            kept.append(Passage(text=text, turns=(base_key(turn.key),), score=0.0))
        return kept[::-1]


class _InOrder:
    """Ranks nothing."""

    def index(self, texts: Sequence[str], folder: Path) -> None:
        pass

    def rank(self, query: str) -> list[tuple[int, float]]:
        return []
