"""The file: kept, refused when it is not what it should be, and emptied of what was forgotten."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from tests.store_records import (
    NAME,
    HashEmbedder,
    a_fact,
    a_key,
    a_rule,
    a_turn,
    add_turns,
    an_answer,
    commit_facts,
    commit_rules,
    fill,
    index_all,
    open_store,
    vectors_of,
)

from rulemem.errors import SchemaMismatch, StoreError
from rulemem.stores.migrations import migrate
from rulemem.stores.queries import Migration, load_migrations, load_queries
from rulemem.stores.sqlite import SqliteStore


def test_a_file_opened_again_holds_all(tmp_path: Path) -> None:
    """Turns, facts, rules, answers and rankings are the same after closing and opening."""
    path = tmp_path / "a b?#%.db"
    store = open_store(path)
    fill(store, "s", "x")
    query = vectors_of(["x"])
    before = (
        store.turns("s"),
        store.facts("s"),
        store.rules("s"),
        store.counts("s"),
        store.costs("s"),
        store.nearest("s", "fact", query, 5),
        store.match_text("s", "turn", "xkettle", 5),
    )
    store.close()
    again = open_store(path)
    after = (
        again.turns("s"),
        again.facts("s"),
        again.rules("s"),
        again.counts("s"),
        again.costs("s"),
        again.nearest("s", "fact", query, 5),
        again.match_text("s", "turn", "xkettle", 5),
    )
    assert after == before
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".db"] == [path.name]
    again.close()


def test_a_relative_path_means_the_folder_it_was_opened_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the folder afterwards changes nothing."""
    monkeypatch.chdir(tmp_path)
    store = open_store("a.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with store._connections.borrow():  # the idle connection is taken: the next one is opened here
        store.add_turns("s", [a_turn()])
    assert list((tmp_path / "elsewhere").iterdir()) == []
    store.close()


def _other_program(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def _newer_version(path: Path) -> None:
    open_store(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO migrations (number, name) VALUES (99, 'later')")
    connection.close()


def _truncated(path: Path) -> None:
    store = open_store(path)
    fill(store, "s", "x")
    store.compact()
    store.close()
    path.write_bytes(path.read_bytes()[:20000])


def _scribbled_over(path: Path) -> None:
    store = open_store(path)
    fill(store, "s", "x")
    store.compact()
    store.close()
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)


BROKEN = {
    "text": (lambda path: path.write_text("Dear diary,\n" * 500), "not a SQLite database"),
    "short": (lambda path: path.write_bytes(b"hello"), "not a SQLite database"),
    "truncated": (_truncated, "damaged"),
    "scribbled over": (_scribbled_over, "damaged"),
    "other program": (_other_program, "another program"),
    "newer": (_newer_version, "newer RuleMem.*schema 99"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_used_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    """The error says what it is; not a byte of the file changes and nothing takes its place."""
    path = tmp_path / "a.db"
    make, words = BROKEN[kind]
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words) as raised:
        open_store(path)
    assert raised.value.hint
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} <= {"a.db", "a.db-wal", "a.db-shm"}


def test_damage_that_shows_later_is_an_error(tmp_path: Path) -> None:
    """A page that cannot be read is not taken for a page without rows."""
    path = tmp_path / "a.db"
    store = open_store(path)
    add_turns(store, "s", *(a_turn(f"turn {i} " + "lute " * 50) for i in range(300)))
    store.compact()
    store.close()
    content = bytearray(path.read_bytes())
    half = len(content) // 8192 * 4096
    content[half:] = b"\xff" * (len(content) - half)
    path.write_bytes(content)
    damaged = open_store(path)
    with pytest.raises(StoreError, match="damaged"):
        damaged.turns("s")
    assert damaged.check() != []
    damaged.close()


def test_paths_that_cannot_be_files_are_refused(tmp_path: Path) -> None:
    """A folder, a file in a folder that is not there, and no path at all."""
    with pytest.raises(StoreError, match="is a folder"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store(tmp_path / "missing" / "a.db")
    with pytest.raises(StoreError, match="empty"):
        open_store("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    """A file without permissions is not taken for an empty one."""
    path = tmp_path / "a.db"
    open_store(path).close()
    path.chmod(0)
    with pytest.raises(StoreError):
        open_store(path)


def test_another_embedder_is_refused_by_name(tmp_path: Path) -> None:
    """Another name or dimension: the error names both and the command that repairs it."""
    path = tmp_path / "a.db"
    open_store(path).close()
    for name, dimension in (("other@1", 16), (NAME, 768)):
        with pytest.raises(SchemaMismatch, match="reembed") as raised:
            SqliteStore(path, embedder_name=name, dimension=dimension)
        assert NAME in str(raised.value)
        assert name in str(raised.value)
        assert "16" in str(raised.value)
        assert str(dimension) in str(raised.value)


def test_reembedding_lets_the_new_embedder_in(tmp_path: Path) -> None:
    """After `for_reembedding` and `reembed` the file opens with the new embedder only."""
    path = tmp_path / "a.db"
    store = open_store(path)
    fill(store, "s", "x")
    facts = store.facts("s")
    store.close()
    repair = SqliteStore.for_reembedding(path)
    assert repair.embedder == (NAME, 16)
    repair.reembed(HashEmbedder("other@1", 8))
    repair.close()
    with pytest.raises(SchemaMismatch):
        open_store(path)
    opened = SqliteStore(path, embedder_name="other@1", dimension=8)
    assert opened.facts("s") == facts
    opened.close()


def test_reembedding_makes_no_file(tmp_path: Path) -> None:
    """Nothing to recompute: an error, and no empty file is left behind."""
    with pytest.raises(StoreError):
        SqliteStore.for_reembedding(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Work after closing is an error; closing twice is not."""
    store = open_store(tmp_path / "a.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.turns("s")


def test_a_vanished_file_is_not_made_anew(tmp_path: Path) -> None:
    """When the file is taken away, no empty one takes its place."""
    path = tmp_path / "a.db"
    store = open_store(path)
    with store._connections.borrow():
        for left in tmp_path.iterdir():
            left.unlink()
        with pytest.raises(StoreError, match="cannot be opened"):
            store.turns("s")
    assert not path.exists()
    store.close()


def test_a_full_disk_costs_the_call_and_nothing_else() -> None:
    """The call that does not fit is an error and leaves nothing; afterwards the store works."""
    store = open_store()
    fill(store, "s", "x")
    before = store.counts("s")
    with store._connections.borrow() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreError, match="disk is full"):
        store.add_turns("s", [a_turn(f"turn {i} " + "lute " * 2000) for i in range(50)])
    with store._connections.borrow() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert store.counts("s") == before
    assert store.check() == []
    assert store.add_turns("s", [a_turn("fits")])[0].outcome == "new"
    store.close()


# --- migrations ------------------------------------------------------------------------------


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    return [tuple(row) for row in connection.execute(query)]


def test_a_fresh_schema_is_all_migrations_applied(tmp_path: Path) -> None:
    """A store that is made now has the schema that the migrations make one by one."""
    store = open_store(tmp_path / "a.db")
    with store._connections.borrow() as connection:
        fresh = _schema(connection)
    store.close()
    step_by_step = sqlite3.connect(":memory:", isolation_level=None)
    migrations = load_migrations("sqlite")
    for number in range(1, len(migrations) + 1):
        migrate(step_by_step, ":memory:", migrations[:number])
    assert _schema(step_by_step) == fresh
    assert [m.number for m in migrations] == list(range(1, len(migrations) + 1))
    step_by_step.close()


def test_a_migration_is_applied_whole_or_not_at_all() -> None:
    """When its second statement fails, its first one and its record are gone too."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    good = load_migrations("sqlite")
    migrate(connection, ":memory:", good)
    before = _schema(connection)
    sql = "CREATE TABLE first (a INTEGER);\nCREATE TABLE second second;"
    bad = Migration(number=len(good) + 1, name="bad", sql=sql)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, ":memory:", [*good, bad])
    assert _schema(connection) == before
    migrate(connection, ":memory:", good)  # still the version it was
    connection.close()


def test_every_query_is_tied_to_a_scope() -> None:
    """Only those that find scopes, give ids, manage embedders or check the whole file are not."""
    free = {name for name, sql in load_queries("sqlite").items() if ":scope" not in sql}
    assert free == {
        "find_scope",
        "add_scope",
        "list_scopes",
        "next_id",
        "current_embedder",
        "find_embedder",
        "add_embedder",
        "delete_vectors_of_other_embedders",
        "delete_other_embedders",
        "make_embedder_current",
        "count_without",
        "find_orphans",
    }


# --- forgotten words leave the file ----------------------------------------------------------


def _bytes_of(path: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(path.parent.iterdir()))


def _fill_with_canary(store: SqliteStore) -> list[int]:
    ids = add_turns(
        store,
        "canaryscope",
        a_turn("the canaryword sings", speaker="canaryspeaker", conversation="canarytalk"),
        a_turn("what does it sing?", position=1, conversation="canarytalk"),
    )
    index_all(store, "canaryscope")
    [fact] = commit_facts(store, "canaryscope", a_fact("canaryone", "sings", "canarysong", ids[0]))
    key = a_key("canaryone may sing canarytunes", [fact], [ids[0]])
    commit_rules(store, "canaryscope", a_rule("[Person] may sing", key))
    turn = store.turns("canaryscope", ids=ids[:1])[0]
    store.save_answer("canaryscope", an_answer(turn, text="canaryanswer"))
    return ids


@pytest.mark.parametrize("everything", [True, False])
def test_a_canary_word_is_nowhere_after_compaction(tmp_path: Path, everything: bool) -> None:
    """Forgotten words, and those of derived rows, are in no byte of the file or its log."""
    path = tmp_path / "a.db"
    store = open_store(path)
    fill(store, "s", "kept")
    ids = _fill_with_canary(store)
    assert b"canaryword" in _bytes_of(path)
    if everything:
        store.forget("canaryscope")
    else:
        store.forget("canaryscope", turn_ids=ids[:1])
        store.forget("canaryscope", conversation="canarytalk")
        store.forget("canaryscope")
    store.compact()
    content = _bytes_of(path)
    assert b"canary" not in content
    assert b"keptkettle" in content
    assert store.check() == []
    assert store.turns("s")[0].text == "I repaired the keptkettle"
    store.close()


def test_forgotten_words_are_overwritten_in_the_file_at_once(tmp_path: Path) -> None:
    """Without compaction they are left in the log only, until it is written back."""
    path = tmp_path / "a.db"
    store = open_store(path)
    fill(store, "s", "kept")
    _fill_with_canary(store)
    store.forget("canaryscope")
    with store._connections.borrow() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"canary" not in _bytes_of(path)
    store.close()


def test_edited_words_leave_the_file_too(tmp_path: Path) -> None:
    """The old text of an edited turn is in no byte after compaction."""
    path = tmp_path / "a.db"
    store = open_store(path)
    add_turns(store, "s", a_turn("the canary sings", key="k"), a_turn("yes", position=1))
    index_all(store, "s")
    store.add_turns("s", [a_turn("the linnet sings", key="k")])
    store.compact()
    assert b"canary" not in _bytes_of(path)
    assert b"linnet" in _bytes_of(path)
    store.close()


def test_adding_and_forgetting_over_and_over_does_not_grow_the_file(tmp_path: Path) -> None:
    """Room that was freed is used again."""
    path = tmp_path / "a.db"
    store = open_store(path)
    sizes = []
    for _ in range(12):
        fill(store, "s", "x")
        store.forget("s")
        store.compact()
        sizes.append(path.stat().st_size)
    assert sizes[-1] <= sizes[1]
    store.close()
