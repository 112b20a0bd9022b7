"""Many at once, and one that is killed: nothing is lost, doubled or left half done."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from tests.store_records import (
    a_fact,
    a_turn,
    add_turns,
    commit_facts,
    fill,
    index_all,
    open_store,
    vectors_of,
)

from rulemem.errors import SchemaMismatch, StoreError
from rulemem.stores import connections
from rulemem.stores.sqlite import SqliteStore

ROOT = Path(__file__).parents[1]


def _start(mode: str, path: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store_writer", mode, str(path), name]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def test_eight_threads_share_a_store(tmp_path: Path) -> None:
    """200 turns from 8 threads are stored once each, and the person they all name is one."""
    with_threads(open_store(tmp_path / "a.db"))


def test_eight_threads_share_a_store_in_memory() -> None:
    """The same without a file."""
    with_threads(open_store())


def with_threads(store: SqliteStore) -> None:
    start = Barrier(8)

    def work(worker: int) -> None:
        start.wait()
        for i in range(25):
            text = f"{worker} {i}"
            [id] = add_turns(store, "s", a_turn(text, conversation=str(worker), position=i))
            index_all(store, "s")
            commit_facts(store, "s", a_fact("Nora", "met", text, id))
            assert text in [turn.text for turn in store.turns("s", ids=[id])]
            assert id in [hit.item for hit in store.match_text("s", "turn", text, 300)]
            assert len(store.nearest("s", "fact", vectors_of([f"Nora met {text}"]), 1)[0]) == 1

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, worker) for worker in range(8)]:
            done.result()
    assert store.counts("s")["turns"] == 200
    assert store.entities("s")[0] == ("Nora", 200)
    assert len(store.nearest("s", "turn", vectors_of(["x"]), 300)[0]) == 200
    assert store.check() == []
    store.close()


def test_three_processes_share_a_file(tmp_path: Path) -> None:
    """Three processes open a file that is not there yet and add 60 turns each: 180, no error."""
    path = tmp_path / "a.db"
    writers = [_start("60", path, name) for name in ("x", "y", "z")]
    for writer in writers:
        _, errors = writer.communicate(timeout=240)
        assert (writer.returncode, errors) == (0, "")
    store = open_store(path)
    assert store.counts("s")["turns"] == 180
    assert store.entities("s")[0] == ("Nora", 180)
    assert store.check() == []
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_survives_a_fork(tmp_path: Path) -> None:
    """A child that inherits an open store writes to it after its parent has closed it."""
    path = tmp_path / "a.db"
    writer = _start("fork", path, "x")
    _, errors = writer.communicate(timeout=240)
    assert (writer.returncode, errors) == (0, "")
    store = open_store(path)
    assert store.counts("s")["turns"] == 43
    assert store.check() == []
    store.close()


def test_kill_at_any_moment_loses_nothing_committed(tmp_path: Path) -> None:
    """A writer is killed 15 times at random: the file opens, is sound, and has what it reported."""
    path = tmp_path / "a.db"
    moments = random.Random(7)
    reported: list[str] = []
    for round in range(15):
        writer = _start("until-killed", path, f"r{round}")
        assert writer.stdout is not None
        reported.append(writer.stdout.readline().strip())
        time.sleep(moments.uniform(0, 0.15))
        writer.kill()
        rest, errors = writer.communicate(timeout=60)
        assert errors == ""
        reported.extend(rest.split("\n")[:-1])  # the last one may have been cut short
        store = open_store(path)
        assert store.check() == []
        keys = [turn.key for turn in store.turns("s")]
        assert len(keys) == len(set(keys))
        said = {turn.text for turn in store.turns("s")}
        assert {f"{line} 1 lute" for line in reported} <= said
        assert "doomed" not in store.scopes() or len(store.turns("doomed")) == 3
        for rule in store.rules("s"):
            assert all(len(key.fact_ids) == 2 for key in rule.keys)
        store.close()
    assert len(reported) >= 15


def test_readers_do_not_wait_for_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process writes, all reads work; a write waits, then says what is wrong."""
    monkeypatch.setattr(connections, "_PATIENCE", 0.2)
    path = tmp_path / "a.db"
    store = open_store(path)
    fill(store, "s", "x")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert len(store.turns("s")) == 2
    assert len(store.match_text("s", "turn", "xkettle", 5)) == 2
    assert len(store.nearest("s", "turn", vectors_of(["x"]), 5)[0]) == 2
    with pytest.raises(StoreError, match="locked"):
        store.add_turns("s", [a_turn("too late")])
    other.execute("ROLLBACK")
    assert store.add_turns("s", [a_turn("in time")])[0].outcome == "new"
    other.close()
    store.close()


def test_what_another_process_writes_is_seen(tmp_path: Path) -> None:
    """Vectors that another connection adds, replaces or removes are in the next ranking."""
    path = tmp_path / "a.db"
    reader, writer = open_store(path), open_store(path)
    ids = fill(writer, "s", "x")["turns"]

    def ranked() -> set[int]:
        return {hit.item for hit in reader.nearest("s", "turn", vectors_of(["x"]), 9)[0]}

    assert ranked() == set(ids)
    [added] = add_turns(writer, "s", a_turn("later", position=5))
    index_all(writer, "s")
    assert ranked() == {*ids, added}
    writer.forget("s", turn_ids=[ids[0]])
    index_all(writer, "s")
    assert ranked() == {ids[1], added}
    writer.index_turns("s", [added], ["w"], vectors_of(["new"]), vectors_of(["new"]))
    best = reader.nearest("s", "turn", vectors_of(["new"]), 1)[0][0]
    assert (best.item, best.score) == (added, pytest.approx(1, abs=1e-5))
    writer.forget("s")
    assert ranked() == set()
    reader.close()
    writer.close()


def test_vectors_of_two_embedders_never_mix(tmp_path: Path) -> None:
    """A store that was open while another process re-embedded must be opened again."""
    path = tmp_path / "a.db"
    late = open_store(path)
    fill(late, "s", "x")
    [turn] = add_turns(late, "s", a_turn("late"))
    other = SqliteStore.for_reembedding(path)

    class Other:
        name, dimension = "other@1", 8

        def embed(self, texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 8), np.float32)

    other.reembed(Other())  # type: ignore[arg-type]
    with pytest.raises(SchemaMismatch, match="other@1"):
        late.index_turns("s", [turn], ["late"], vectors_of(["late"]), vectors_of(["late"]))
    with pytest.raises(SchemaMismatch, match="other@1"):
        late.nearest("s", "turn", vectors_of(["x"]), 5)
    assert [t.id for t in late.turns_without_vectors("s")] == [turn]
    assert other.check() == []
    late.close()
    other.close()
