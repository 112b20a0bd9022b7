"""The one place with concurrency, retries and backoff, whatever a call does.

A call says "again" by raising `Again`; how often and how long to wait is decided here. One pool
stands for one server: its threads, its limit on calls under way, and its pause after a 429, which
holds back every call to that server and not only the one that was told to wait.

Knows nothing of HTTP, prompts or replies.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from rulemem.errors import ModelError, RateLimited

T = TypeVar("T")

TRIES = 3  # of a call that fails, the first one included
FIRST_PAUSE = 0.5  # seconds before the second try; doubled before each further one
LONGEST_WAIT = 60.0  # seconds that one call may spend waiting, over all its tries
_NAP = 1.0  # seconds; a waiting thread looks up this often to see whether it is still wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Time as the pool sees it; replaced in tests."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Again(Exception):
    """The call may succeed when it is made again: a request to the pool, never seen outside.

    Args:
        error: What is reported when patience ends. A `RateLimited` closes the whole pool for
            the pause and is tried until the waiting limit is used up.
        pause: Seconds that the server asked for; None: exponential backoff.
        tries: How often this kind of failure may happen to one call.
    """

    def __init__(
        self, error: ModelError, *, pause: float | None = None, tries: int = TRIES
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.pause = pause
        self.tries = tries


class Pool:
    """Calls to one server: at most `concurrency` at a time, each with patience.

    Safe to share between threads; the limit then holds for all of them together.
    """

    def __init__(self, *, concurrency: int, clock: Clock | None = None) -> None:
        self._concurrency = max(1, concurrency)
        self._clock = clock or Clock()
        self._slots = threading.BoundedSemaphore(self._concurrency)
        self._lock = threading.Lock()
        self._closed_until = 0.0

    def run(self, calls: Sequence[Callable[[], T]]) -> list[T | ModelError]:
        """Make all calls and return their outcomes in the order of the calls.

        A `ModelError` takes the place of the result. Any other exception is a defect or an
        interruption: it propagates, calls not yet begun are dropped, waiting ones give up.
        """
        stop = threading.Event()

        def outcome(call: Callable[[], T]) -> T | ModelError:
            try:
                return self._persist(call, stop)
            except ModelError as error:
                return error

        if self._concurrency == 1 or len(calls) <= 1:
            return [outcome(call) for call in calls]
        workers = ThreadPoolExecutor(min(self._concurrency, len(calls)), "rulemem-model")
        try:
            futures = [workers.submit(outcome, call) for call in calls]
            return [future.result() for future in futures]
        finally:
            stop.set()
            workers.shutdown(wait=False, cancel_futures=True)

    def _persist(self, call: Callable[[], T], stop: threading.Event) -> T:
        """Make one call until it succeeds, fails for good, or patience ends."""
        failures: Counter[type[ModelError]] = Counter()
        waited = 0.0
        while True:
            self._wait_until(self._closed_until, stop)
            if stop.is_set():
                raise CancelledError
            try:
                with self._slots:
                    return call()
            except Again as again:
                kind = type(again.error)
                failures[kind] += 1
                pause = max(again.pause or 0.0, FIRST_PAUSE * 2.0 ** (failures[kind] - 1))
                waited += pause
                limited = kind is RateLimited
                if waited > LONGEST_WAIT or (not limited and failures[kind] >= again.tries):
                    raise again.error from again.__cause__
            reopening = self._clock.now() + pause
            if limited:
                with self._lock:
                    self._closed_until = max(self._closed_until, reopening)
            self._wait_until(reopening, stop)

    def _wait_until(self, moment: float, stop: threading.Event) -> None:
        while not stop.is_set() and (left := moment - self._clock.now()) > 0:
            self._clock.sleep(min(left, _NAP))
