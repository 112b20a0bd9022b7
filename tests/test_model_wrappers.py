"""The wrappers around any model: pool, reply cache, meter, recorder and player."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rulemem.errors import (
    BudgetExceeded,
    ConfigError,
    InputError,
    ModelError,
    ModelUnavailable,
    RateLimited,
    ReplyRejected,
    StoreError,
)
from rulemem.models._pool import Again, Clock, Pool
from rulemem.models.cached import CachedTextModel
from rulemem.models.metered import MeteredText
from rulemem.models.recorded import (
    RecordingEmbedder,
    RecordingLikelihood,
    RecordingText,
    ReplayEmbedder,
    ReplayLikelihood,
    ReplayText,
)
from rulemem.ports import Continuation, TextReply, TextRequest
from rulemem.types import Cost


def request(user: str = "Who likes tea?", **fields: object) -> TextRequest:
    given_fields = {"stage": "answer", "prompt": "answer@1", "system": "Be brief.", "user": user}
    return TextRequest(**{**given_fields, **fields})  # type: ignore[arg-type]


@dataclass
class Scripted:
    """A text model that answers every request by a function, and remembers what it was asked."""

    answer: Callable[[TextRequest], TextReply | ModelError]
    name: str = "scripted"
    asked: list[TextRequest] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        self.batches.append(len(requests))
        self.asked += requests
        return [self.answer(asked) for asked in requests]


def echo(asked: TextRequest) -> TextReply:
    return TextReply(text=f"re: {asked.user}", prompt_tokens=10, completion_tokens=5, seconds=0.5)


def texts_of(outcomes: Sequence[TextReply | ModelError]) -> list[str]:
    return [o.text if isinstance(o, TextReply) else type(o).__name__ for o in outcomes]


# --- pool -------------------------------------------------------------------------------------


class FakeTime:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.clock = Clock(now=lambda: self.now, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


def fails_then(times: int, failure: Again, value: str) -> Callable[[], str]:
    left = [failure] * times

    def call() -> str:
        if left:
            raise left.pop()
        return value

    return call


@settings(deadline=None)
@given(
    st.lists(st.integers(min_value=0, max_value=3), max_size=12),
    st.integers(min_value=1, max_value=5),
)
def test_outcomes_keep_the_order_of_the_calls(pauses: list[int], concurrency: int) -> None:
    """Whatever finishes first, outcome i belongs to call i."""

    def call(number: int, pause: int) -> Callable[[], int]:
        def run() -> int:
            time.sleep(pause / 10_000)
            if pause == 3:
                raise ModelError(f"call {number}")
            return number

        return run

    outcomes = Pool(concurrency=concurrency).run([call(n, p) for n, p in enumerate(pauses)])
    found = [str(o) if isinstance(o, ModelError) else o for o in outcomes]
    assert found == [f"call {n}" if p == 3 else n for n, p in enumerate(pauses)]


def test_pauses_double_and_end() -> None:
    """A call that keeps failing is made three times, with pauses of 0.5 and 1 seconds."""
    fake = FakeTime()
    again = Again(ModelUnavailable("down"))
    (outcome,) = Pool(concurrency=2, clock=fake.clock).run([fails_then(3, again, "ok")])
    assert outcome is again.error and fake.now == pytest.approx(1.5)
    (outcome,) = Pool(concurrency=2, clock=fake.clock).run([fails_then(2, again, "ok")])
    assert outcome == "ok"


def test_kinds_of_failure_are_counted_apart() -> None:
    """A server error does not use up the one retry of an empty reply."""
    failures = [Again(ReplyRejected("empty"), tries=2), Again(ModelUnavailable("down"))]

    def call() -> str:
        if failures:
            raise failures.pop()
        return "ok"

    assert Pool(concurrency=1, clock=FakeTime().clock).run([call]) == ["ok"]


def test_a_rate_limit_holds_back_every_call_of_the_pool() -> None:
    """While one call waits after a 429, a call made by another thread does not start either."""
    now, started = [0.0], dict[str, float]()

    def call(name: str) -> Callable[[], None]:
        def run() -> None:
            started[name] = now[0]

        return run

    def sleep(seconds: float) -> None:
        if now[0] == 0.0:  # the first call has begun to wait: the other one arrives
            now[0] = 0.1
            other = threading.Thread(target=pool.run, args=([call("other")],))
            other.start()
            other.join()
        now[0] += seconds

    pool = Pool(concurrency=1, clock=Clock(now=lambda: now[0], sleep=sleep))
    limited = fails_then(1, Again(RateLimited("slow down"), pause=20), "ok")
    assert pool.run([limited]) == ["ok"]
    assert started["other"] >= 20.0


def test_threads_share_one_limit() -> None:
    """Two threads that use one pool stay below its concurrency together."""
    pool = Pool(concurrency=2)
    lock, running, most = threading.Lock(), [0], [0]

    def call() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: pool.run([call] * 4), range(4)))
    assert most[0] == 2


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_defect_propagates(concurrency: int) -> None:
    """An exception that is no ModelError is not turned into an outcome, and stops the rest."""
    made: list[int] = []

    def call(number: int) -> Callable[[], None]:
        def run() -> None:
            made.append(number)
            if number == 0:
                raise ZeroDivisionError
            time.sleep(0.02)

        return run

    with pytest.raises(ZeroDivisionError):
        Pool(concurrency=concurrency).run([call(n) for n in range(50)])
    assert len(made) < 50


# --- cache ------------------------------------------------------------------------------------


def test_a_cached_reply_is_not_paid_again(tmp_path: Path) -> None:
    """The second model on the same file answers from disk, with the counts of the first reply."""
    path = tmp_path / "cache" / "replies.db"
    first = CachedTextModel(Scripted(echo), path)
    assert first.name == "scripted"
    assert first.complete([request("a"), request("b")]) == [
        echo(request("a")),
        echo(request("b")),
    ]
    inner = Scripted(echo)
    outcomes = CachedTextModel(inner, path).complete([request("b"), request("c"), request("a")])
    assert texts_of(outcomes) == ["re: b", "re: c", "re: a"]
    assert [asked.user for asked in inner.asked] == ["c"]
    assert outcomes[0] == TextReply(
        text="re: b", prompt_tokens=10, completion_tokens=5, seconds=0.0, cached=True
    )
    assert isinstance(outcomes[1], TextReply) and not outcomes[1].cached


@pytest.mark.parametrize(
    "other",
    [
        {"user": "other"},
        {"system": "other"},
        {"prompt": "answer@2"},
        {"schema": {"type": "object"}},
        {"max_tokens": 7},
        {"stop": ("x",)},
    ],
)
def test_every_part_of_a_request_counts(tmp_path: Path, other: dict[str, object]) -> None:
    """A request that differs in anything that can change its reply is another request."""
    inner = Scripted(lambda _: replace(echo(request()), text="{}"))
    cached = CachedTextModel(inner, tmp_path / "c.db")
    cached.complete([request()])
    cached.complete([replace(request(), **other)])  # type: ignore[arg-type]
    assert len(inner.asked) == 2


def test_stage_does_not_count_and_model_does(tmp_path: Path) -> None:
    """The stage only says who pays; another model gives another reply."""
    same, other = Scripted(echo), Scripted(echo, name="other")
    CachedTextModel(same, tmp_path / "c.db").complete([request(stage="answer")])
    CachedTextModel(same, tmp_path / "c.db").complete([request(stage="judge")])
    CachedTextModel(other, tmp_path / "c.db").complete([request()])
    assert (len(same.asked), len(other.asked)) == (1, 1)


def test_key_order_of_the_schema_does_not_count(tmp_path: Path) -> None:
    """Two spellings of one schema are the same request."""
    inner = Scripted(lambda _: replace(echo(request()), text="{}"))
    cached = CachedTextModel(inner, tmp_path / "c.db")
    cached.complete([request(schema={"type": "object", "title": "T"})])
    cached.complete([request(schema={"title": "T", "type": "object"})])
    assert len(inner.asked) == 1


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        (replace(echo(request()), text=" "), None),
        (replace(echo(request()), truncated=True), None),
        (replace(echo(request()), text="no JSON here"), {"type": "object"}),
        (ReplyRejected("empty"), None),
    ],
)
def test_bad_replies_are_not_kept(
    tmp_path: Path, reply: TextReply | ModelError, schema: dict[str, str] | None
) -> None:
    """Empty, truncated, unreadable and failed: asked again next time."""
    inner = Scripted(lambda _: reply)
    cached = CachedTextModel(inner, tmp_path / "c.db")
    for _ in range(2):
        assert cached.complete([request(schema=schema)]) == [reply]
    assert len(inner.asked) == 2


def test_equal_requests_of_one_call_are_asked_once(tmp_path: Path) -> None:
    """Duplicates share one reply, in all their places."""
    inner = Scripted(echo)
    outcomes = CachedTextModel(inner, tmp_path / "c.db").complete([request("a")] * 3)
    assert texts_of(outcomes) == ["re: a"] * 3
    assert len(inner.asked) == 1


def test_a_killed_run_loses_few_replies(tmp_path: Path) -> None:
    """Replies are on disk before the model is asked for many more."""
    count = 0

    def dies(asked: TextRequest) -> TextReply:
        nonlocal count
        count += 1
        if count > 40:
            raise KeyboardInterrupt
        return echo(asked)

    requests = [request(str(n)) for n in range(60)]
    with pytest.raises(KeyboardInterrupt):
        CachedTextModel(Scripted(dies), tmp_path / "c.db").complete(requests)
    inner = Scripted(echo)
    CachedTextModel(inner, tmp_path / "c.db").complete(requests)
    assert len(inner.asked) <= 60 - 32


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(), min_size=1).filter(str.strip))
@example(text="a\x00b \ud800 東京 שלום")
def test_any_text_survives_the_cache(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """NUL, lone surrogates and every script come back as they went in."""
    path = tmp_path_factory.mktemp("cache") / "c.db"
    cached = CachedTextModel(Scripted(lambda asked: replace(echo(asked), text=text)), path)
    cached.complete([request(text)])
    (again,) = cached.complete([request(text)])
    assert isinstance(again, TextReply) and again.cached and again.text == text


def on_disk(folder: Path, words: str) -> bool:
    return any(words.encode() in path.read_bytes() for path in folder.iterdir())


def test_what_is_forgotten_leaves_the_files(tmp_path: Path) -> None:
    """Entries that mention the words in prompt or reply are gone, down to the bytes on disk, also
    while another connection keeps the write-ahead log alive."""
    answers = {"a": "Zed lives in Oslo", "b": "Ann likes tea", "about Zed": "nothing"}
    inner = Scripted(lambda asked: replace(echo(asked), text=answers[asked.user]))
    cached = CachedTextModel(inner, tmp_path / "c.db")
    cached.complete([request(user) for user in answers])
    assert on_disk(tmp_path, "Zed")
    with closing(sqlite3.connect(tmp_path / "c.db")) as other:
        other.execute("SELECT count(*) FROM reply").fetchall()
        assert cached.drop_mentioning(["Zed"]) == 2
        assert not on_disk(tmp_path, "Zed")
    inner.asked.clear()
    cached.complete([request(user) for user in answers])
    assert [asked.user for asked in inner.asked] == ["a", "about Zed"]


def test_words_are_found_behind_json_escapes(tmp_path: Path) -> None:
    """A reply that writes its words as \\u escapes mentions them all the same."""
    reply = json.dumps({"facts": ["豆豆 is a cat"]})
    cached = CachedTextModel(
        Scripted(lambda asked: replace(echo(asked), text=reply)), tmp_path / "c.db"
    )
    cached.complete([request()])
    assert cached.drop_mentioning(["豆豆", "elephant"]) == 1


def test_wildcards_and_quotes_are_ordinary_words(tmp_path: Path) -> None:
    """Words are compared, not interpreted."""
    cached = CachedTextModel(Scripted(echo), tmp_path / "c.db")
    cached.complete([request("100% sure"), request("x'); DROP TABLE reply;--")])
    assert cached.drop_mentioning(["%%", "_"]) == 0
    assert cached.drop_mentioning(["x'); DROP TABLE reply;--"]) == 1
    assert cached.drop_mentioning(["0%"]) == 1


def test_an_empty_word_is_refused(tmp_path: Path) -> None:
    """The empty string would delete everything without being asked to."""
    cached = CachedTextModel(Scripted(echo), tmp_path / "c.db")
    cached.complete([request()])
    with pytest.raises(InputError):
        cached.drop_mentioning(["Zed", ""])
    assert cached.drop_mentioning([]) == 0
    assert cached.purge() == 1


def test_purge_empties_the_cache(tmp_path: Path) -> None:
    """After a purge nothing is left, in the table or on disk, and the space is given back."""
    cached = CachedTextModel(Scripted(echo), tmp_path / "c.db")
    empty = (tmp_path / "c.db").stat().st_size
    cached.complete([request(f"secret {n} " * 50) for n in range(100)])
    assert cached.purge() == 100
    assert not on_disk(tmp_path, "secret")
    assert (tmp_path / "c.db").stat().st_size == empty
    assert cached.purge() == 0


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """A file that is no SQLite database is an error that names it, and stays as it was."""
    path = tmp_path / "c.db"
    path.write_text("these are my notes, all of them\n" * 100)
    with pytest.raises(StoreError, match=r"c\.db"):
        CachedTextModel(Scripted(echo), path)
    assert path.read_text().startswith("these are my notes")


def test_a_cache_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A folder that is a file is reported with the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"c\.db"):
        CachedTextModel(Scripted(echo), tmp_path / "file" / "c.db")


def test_the_cache_is_private(tmp_path: Path) -> None:
    """Only the owner may read what was said."""
    CachedTextModel(Scripted(echo), tmp_path / "c.db")
    assert (tmp_path / "c.db").stat().st_mode & 0o077 == 0


def fill_cache(path: Path, worker: int) -> None:
    """Add 25 entries of one's own and 25 that every worker adds."""
    cached = CachedTextModel(Scripted(echo), path)
    for number in range(25):
        cached.complete([request(f"{worker}-{number}"), request(f"shared-{number}")])


def test_processes_and_threads_share_the_file(tmp_path: Path) -> None:
    """Two other processes and two threads write at once; nothing is lost or found locked."""
    path = tmp_path / "c.db"
    script = (
        "import runpy, sys, pathlib\n"
        "here = runpy.run_path(sys.argv[1])\n"
        "here['fill_cache'](pathlib.Path(sys.argv[2]), int(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", script, __file__, str(path)]
    others = [subprocess.Popen([*command, str(n)]) for n in range(2)]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda n: fill_cache(path, n), (2, 3)))
    assert [other.wait(240) for other in others] == [0, 0]
    with closing(sqlite3.connect(path)) as reader:
        (count,) = reader.execute("SELECT count(*) FROM reply").fetchone()
    assert count == 4 * 25 + 25


# --- meter ------------------------------------------------------------------------------------


def test_costs_add_up_per_stage() -> None:
    """Calls, tokens and seconds are summed per stage; a failed request is a call."""
    inner = Scripted(lambda asked: ModelUnavailable("down") if asked.user == "bad" else echo(asked))
    metered = MeteredText(inner)
    metered.complete([request("a", stage="extract"), request("b", stage="induce")])
    metered.complete([request("c", stage="extract"), request("bad", stage="induce")])
    assert metered.name == "scripted"
    assert metered.costs == {
        "extract": Cost(calls=2, prompt_tokens=20, completion_tokens=10, seconds=1.0),
        "induce": Cost(calls=2, prompt_tokens=10, completion_tokens=5, seconds=0.5),
    }


def test_cached_replies_cost_nothing(tmp_path: Path) -> None:
    """What comes from disk is free, of the budget too."""
    CachedTextModel(Scripted(echo), tmp_path / "c.db").complete([request("a")])
    metered = MeteredText(CachedTextModel(Scripted(echo), tmp_path / "c.db"), max_calls=1)
    assert texts_of(metered.complete([request("a")] * 5)) == ["re: a"] * 5
    assert metered.costs == {}
    assert texts_of(metered.complete([request("b")])) == ["re: b"]


def test_taking_costs_resets_them_but_not_the_budget() -> None:
    """Costs are handed over once; the cap holds for the life of the meter."""
    metered = MeteredText(Scripted(echo), max_calls=2)
    metered.complete([request()])
    assert metered.take_costs()["answer"].calls == 1
    assert metered.take_costs() == metered.costs == {}
    assert texts_of(metered.complete([request("a"), request("b")])) == ["re: a", "BudgetExceeded"]


def test_max_calls_is_never_passed() -> None:
    """Work that was paid for is handed back beside the refusals, in order."""
    inner = Scripted(echo)
    metered = MeteredText(inner, max_calls=3)
    outcomes = metered.complete([request(str(n)) for n in range(5)])
    assert texts_of(outcomes) == ["re: 0", "re: 1", "re: 2", "BudgetExceeded", "BudgetExceeded"]
    assert len(inner.asked) == 3
    refusal = outcomes[-1]
    assert isinstance(refusal, BudgetExceeded) and not refusal.retryable
    assert "max_calls=3" in str(refusal) and "again" in refusal.hint
    assert metered.costs["answer"].calls == 3


@settings(deadline=None)
@given(
    cap=st.integers(min_value=0, max_value=200),
    sizes=st.lists(st.integers(min_value=1, max_value=40), max_size=20),
)
def test_no_request_starts_beyond_max_tokens(cap: int, sizes: list[int]) -> None:
    """Where the guess is right, replies stop at the first request that finds the cap reached."""

    def reply(asked: TextRequest) -> TextReply:
        size = asked.max_tokens
        return TextReply(text="x", prompt_tokens=0, completion_tokens=size, seconds=0.0)

    metered = MeteredText(Scripted(reply), max_tokens=cap)
    requests = [request("", system="", max_tokens=size) for size in sizes]
    outcomes = metered.complete(requests)
    before = [sum(sizes[:n]) for n in range(len(sizes))]
    assert [isinstance(o, TextReply) for o in outcomes] == [paid < cap for paid in before]


def test_cheap_replies_leave_budget_for_more() -> None:
    """Requests are let through in parts, so that a guess too high stops nobody for good, and
    requests that fit go together."""
    inner = Scripted(echo)
    metered = MeteredText(inner, max_tokens=600)  # a guess of 256 and some each, 15 in truth
    outcomes = metered.complete([request(str(n)) for n in range(50)])
    assert texts_of(outcomes).count("BudgetExceeded") == 50 - 40
    assert inner.batches[0] == 3


def test_a_meter_shared_by_threads_keeps_its_cap() -> None:
    """Eight threads together never pass max_calls."""
    inner = Scripted(echo)
    metered = MeteredText(inner, max_calls=20)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: metered.complete([request(str(n))] * 5), range(16)))
    assert len(inner.asked) == 20


def test_an_interrupted_call_frees_its_share() -> None:
    """What was set aside for requests that never came back does not stay set aside."""
    failing = iter([True, False])

    def answer(asked: TextRequest) -> TextReply:
        if next(failing):
            raise KeyboardInterrupt
        return echo(asked)

    metered = MeteredText(Scripted(answer), max_calls=1)
    with pytest.raises(KeyboardInterrupt):
        metered.complete([request()])
    assert texts_of(metered.complete([request("a")])) == ["re: a"]


@pytest.mark.parametrize("caps", [{"max_calls": -1}, {"max_tokens": -5}])
def test_a_negative_cap_is_a_config_error(caps: dict[str, int]) -> None:
    """A budget below zero is a mistake, not a refusal of everything."""
    with pytest.raises(ConfigError, match=next(iter(caps))):
        MeteredText(Scripted(echo), **caps)


# --- recorder and player ----------------------------------------------------------------------


class TableLikelihood:
    name = "table"

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        return [len(item.text) / 7 for item in items]


class SquareEmbedder:
    name = "square"
    dimension = 4

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[len(t), 1, t.count("a"), 0.3] for t in texts], np.float32)
        rows = rows.reshape(-1, self.dimension)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def test_text_is_played_as_it_was_recorded(tmp_path: Path) -> None:
    """Replies come back equal, by request and not by order, without the model."""
    path = tmp_path / "records" / "text.jsonl"
    odd = "re: \ud800 東京"
    live = Scripted(
        lambda asked: replace(echo(asked), text=odd) if asked.user == "b" else echo(asked)
    )
    recorded = RecordingText(live, path).complete([request("a"), request("b")])
    player = ReplayText(path)
    assert player.name == "scripted"
    assert player.complete([request("b"), request("a", stage="judge")]) == recorded[::-1]


def test_an_unrecorded_request_fails_loudly(tmp_path: Path) -> None:
    """A request that is missing names its prompt and how to record it."""
    path = tmp_path / "text.jsonl"
    RecordingText(Scripted(echo), path).complete([request("a")])
    with pytest.raises(ModelUnavailable) as caught:
        ReplayText(path).complete([request("a", prompt="answer@2")])
    assert not caught.value.retryable
    for part in ("answer@2", "text.jsonl", "Recording", "scripted"):
        assert part in str(caught.value)


def test_records_never_played_are_listed(tmp_path: Path) -> None:
    """What a test run did not ask for can be found and removed."""
    path = tmp_path / "text.jsonl"
    RecordingText(Scripted(echo), path).complete([request("a"), request("b"), request("c")])
    player = ReplayText(path)
    player.complete([request("b")])
    assert player.unplayed() == ["answer@1 'a'", "answer@1 'c'"]


def test_failures_are_not_recorded(tmp_path: Path) -> None:
    """An error is passed on and leaves no record."""
    path = tmp_path / "text.jsonl"
    inner = Scripted(lambda _: ModelUnavailable("down"))
    (outcome,) = RecordingText(inner, path).complete([request()])
    assert isinstance(outcome, ModelUnavailable)
    assert ReplayText(path).unplayed() == []


def test_a_recording_grows_without_repeating(tmp_path: Path) -> None:
    """A second session adds what is new and keeps one line per request."""
    path = tmp_path / "text.jsonl"
    for users in ("ab", "bc", "cc"):
        RecordingText(Scripted(echo), path).complete([request(user) for user in users])
    assert len(path.read_text().splitlines()) == 1 + 3


def test_long_fixed_texts_are_kept_as_fingerprints(tmp_path: Path) -> None:
    """System prompt and schema do not fill the file, and still have to match."""
    path = tmp_path / "text.jsonl"
    asked = request("a", system="Be very brief. " * 200, schema={"title": "T" * 500})
    RecordingText(Scripted(echo), path).complete([asked])
    assert len(path.read_text()) < 1000
    for other in (replace(asked, system="Be brief."), replace(asked, schema=None)):
        with pytest.raises(ModelUnavailable):
            ReplayText(path).complete([other])


def test_scores_are_played_as_they_were_recorded(tmp_path: Path) -> None:
    """Likelihoods come back exactly; an item that is missing fails."""
    path = tmp_path / "nll.jsonl"
    items = [Continuation(prefix="Conclusion:", text=f" {word}") for word in ("tea", "coffee")]
    recorded = RecordingLikelihood(TableLikelihood(), path).nll(items)
    player = ReplayLikelihood(path)
    assert player.name == "table"
    assert player.unplayed() == ["' tea'", "' coffee'"]
    assert player.nll(items[::-1]) == recorded[::-1]
    assert player.unplayed() == []
    with pytest.raises(ModelUnavailable, match="milk"):
        player.nll([Continuation(prefix="Conclusion:", text=" milk")])


@settings(deadline=None)
@given(st.lists(st.text(), max_size=6))
def test_vectors_are_played_to_half_precision(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """Vectors come back as unit rows within the rounding of half precision."""
    path = tmp_path_factory.mktemp("records") / "vectors.jsonl"
    recorded = RecordingEmbedder(SquareEmbedder(), path).embed(texts)
    player = ReplayEmbedder(path)
    played = player.embed(texts)
    assert (player.name, player.dimension) == ("square", 4)
    assert played.shape == (len(texts), 4) and played.dtype == np.float32
    np.testing.assert_allclose(played, recorded, atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(played, axis=1), 1.0, atol=1e-6)
    assert player.unplayed() == []


def test_a_missing_vector_fails(tmp_path: Path) -> None:
    """A text that was not recorded has no vector."""
    path = tmp_path / "vectors.jsonl"
    RecordingEmbedder(SquareEmbedder(), path).embed(["tea"])
    with pytest.raises(ModelUnavailable, match="coffee"):
        ReplayEmbedder(path).embed(["tea", "coffee"])


def test_a_recording_belongs_to_one_model(tmp_path: Path) -> None:
    """Another model, or another port, does not write into it or play it."""
    path = tmp_path / "text.jsonl"
    RecordingText(Scripted(echo), path)
    with pytest.raises(ConfigError, match="'scripted', not of 'other'"):
        RecordingText(Scripted(echo, name="other"), path)
    with pytest.raises(ConfigError, match="not a recording of a likelihood model"):
        ReplayLikelihood(path)


@pytest.mark.parametrize("content", ["", "[]\n", "not json\n", '{"rulemem_recording": 99}\n'])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    """A damaged or foreign file is named, not taken for an empty recording."""
    path = tmp_path / "text.jsonl"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"text\.jsonl"):
        ReplayText(path)


def test_an_edited_recording_is_refused(tmp_path: Path) -> None:
    """A request changed by hand no longer matches its fingerprint."""
    path = tmp_path / "text.jsonl"
    RecordingText(Scripted(echo), path).complete([request("tea")])
    path.write_text(path.read_text().replace('"user": "tea"', '"user": "coffee"'))
    with pytest.raises(ConfigError, match="edited"):
        ReplayText(path)


def test_a_recording_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file is an error with its path."""
    with pytest.raises(ConfigError, match=r"gone\.jsonl"):
        ReplayText(tmp_path / "gone.jsonl")
