"""Count what text costs, per stage, and stop before a cap is passed.

The caps hold for the life of the object: one is made for each run that has a budget. Knows no
prices; tokens are what the model reports.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from rulemem.errors import BudgetExceeded, ConfigError, ModelError
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.types import Cost

_CHARACTERS_PER_TOKEN = 4  # to guess the size of a request that is not answered yet


@dataclass(slots=True)
class _Spending:
    """Calls and tokens, either paid or set aside for requests under way."""

    calls: int = 0
    tokens: int = 0

    def add(self, other: _Spending, sign: int = 1) -> None:
        self.calls += sign * other.calls
        self.tokens += sign * other.tokens


class MeteredText:
    """A text model that adds up its cost per stage and has an optional budget.

    A request starts only while what is paid, and what requests under way will probably take, is
    below both caps. So `max_calls` is never passed; `max_tokens` may be passed by the last
    request, whose size is known only afterwards. Requests that can't start any more yield
    `BudgetExceeded` in their places, beside the replies that were made before: nothing that was
    paid is lost, and the caller resumes with the rest. A failed request counts as a call without
    tokens. A cached reply costs nothing.

    Safe to share between threads.

    Args:
        inner: The model that is asked.
        max_calls: Requests that may be answered; None: any number.
        max_tokens: Prompt and completion tokens together; None: any number.

    Raises:
        ConfigError: A cap below zero.
    """

    def __init__(
        self, inner: TextModel, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> None:
        for name, cap in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if cap is not None and cap < 0:
                raise ConfigError(f"{name} must not be negative, not {cap!r}.")
        self.name = inner.name
        self._inner = inner
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._paid = _Spending()
        self._under_way = _Spending()
        self._costs: dict[str, Cost] = {}

    @property
    def costs(self) -> dict[str, Cost]:
        """What each stage has used since the last `take_costs`.

        Seconds are the model's: those of requests that overlap are added up.
        """
        with self._lock:
            return dict(self._costs)

    def take_costs(self) -> dict[str, Cost]:
        """Return the costs and begin again at zero, for a caller that keeps the totals.

        What counts towards the caps is not reset.
        """
        with self._lock:
            taken, self._costs = self._costs, {}
            return taken

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request while the budget lasts; `BudgetExceeded` in place of the rest."""
        outcomes: list[TextReply | ModelError] = []
        while len(outcomes) < len(requests):
            part, expected = self._admit(requests[len(outcomes) :])
            if not part:
                refused = len(requests) - len(outcomes)
                return [*outcomes, *(self._refuse() for _ in range(refused))]
            replies: list[TextReply | ModelError] = []
            try:
                replies = self._inner.complete(part)
            finally:
                self._settle(part, replies, expected)
            outcomes += replies
        return outcomes

    def _admit(self, requests: Sequence[TextRequest]) -> tuple[list[TextRequest], _Spending]:
        """Take as many requests from the front as may start now, and set aside what they need."""
        part: list[TextRequest] = []
        expected = _Spending()
        with self._lock:
            for request in requests:
                if self._is_spent(expected):
                    break
                part.append(request)
                expected.add(_Spending(1, _guess_tokens(request)))
            self._under_way.add(expected)
        return part, expected

    def _is_spent(self, expected: _Spending) -> bool:
        calls = self._paid.calls + self._under_way.calls + expected.calls
        tokens = self._paid.tokens + self._under_way.tokens + expected.tokens
        return (self._max_calls is not None and calls >= self._max_calls) or (
            self._max_tokens is not None and tokens >= self._max_tokens
        )

    def _settle(
        self,
        part: Sequence[TextRequest],
        replies: Sequence[TextReply | ModelError],
        expected: _Spending,
    ) -> None:
        """Replace what was set aside by what was used."""
        with self._lock:
            self._under_way.add(expected, -1)
            for request, reply in zip(part, replies, strict=False):
                cost = _cost_of(reply)
                self._paid.add(_Spending(cost.calls, cost.prompt_tokens + cost.completion_tokens))
                if cost.calls:
                    self._costs[request.stage] = self._costs.get(request.stage, Cost()) + cost

    def _refuse(self) -> BudgetExceeded:
        caps = {"max_calls": self._max_calls, "max_tokens": self._max_tokens}
        given = ", ".join(f"{name}={cap}" for name, cap in caps.items() if cap is not None)
        return BudgetExceeded(
            f"The budget ({given}) is used up: {self._paid.calls} calls and "
            f"{self._paid.tokens} tokens of {self.name!r}.",
            hint="Finished work is kept; run again with a new budget to go on.",
        )


def _cost_of(reply: TextReply | ModelError) -> Cost:
    if isinstance(reply, BudgetExceeded) or (isinstance(reply, TextReply) and reply.cached):
        return Cost()
    if isinstance(reply, ModelError):
        return Cost(calls=1)
    return Cost(
        calls=1,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        seconds=reply.seconds,
    )


def _guess_tokens(request: TextRequest) -> int:
    return (len(request.system) + len(request.user)) // _CHARACTERS_PER_TOKEN + request.max_tokens
