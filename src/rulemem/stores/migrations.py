"""Bring a SQLite file to the schema of this version, or refuse it and leave it as it is.

Each migration runs in one transaction together with its record, under the write lock, so that
two processes that open a new file at once do not both create it. Knows nothing of the tables.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence

from rulemem.errors import SchemaMismatch, StoreError
from rulemem.stores.connections import IN_MEMORY, transaction
from rulemem.stores.queries import Migration

APPLICATION_ID = 0x52756C4D  # "RulM": marks the file as ours

_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables
_PATIENCE = 30.0  # seconds to wait for another process that is opening the same new file

_RECORDS = "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"


def migrate(connection: sqlite3.Connection, path: str, migrations: Sequence[Migration]) -> None:
    """Apply the migrations that a file lacks.

    Raises:
        StoreError: the file belongs to another program, or SQLite is too old.
        SchemaMismatch: a newer version made the file.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreError(
            f"This Python has SQLite {sqlite3.sqlite_version}; {oldest} is needed.",
            hint="Use a newer Python.",
        )
    with transaction(connection, "BEGIN"):  # one view, or half of what another one makes is seen
        version = _version(connection, path, migrations)
    if path != IN_MEMORY:
        _use_wal(connection, path)  # kept in the file, unless another tool has turned it off
    for migration in migrations[version:]:
        with transaction(connection, "BEGIN IMMEDIATE"):
            if _version(connection, path, migrations) < migration.number:
                _apply(connection, migration)


def _version(connection: sqlite3.Connection, path: str, migrations: Sequence[Migration]) -> int:
    """Return the number of the last migration that a file has; 0 for an empty file."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not owner and not tables:
        return 0
    if owner != APPLICATION_ID:
        raise StoreError(
            f"{path!r} is a SQLite database of another program.",
            hint="Nothing was changed. Name another file.",
        )
    (last,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
    if last > len(migrations):
        raise SchemaMismatch(
            f"{path!r} was made by a newer RuleMem: it has schema {last}, this version knows "
            f"{len(migrations)}.",
            hint="Update rulemem. Nothing was changed.",
        )
    return int(last)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    if migration.number == 1:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_RECORDS)
    for statement in _statements(migration.sql):
        connection.execute(statement)
    record = "INSERT INTO migrations (number, name) VALUES (?, ?)"
    connection.execute(record, (migration.number, migration.name))


def _statements(sql: str) -> Iterator[str]:
    """Split a script: the driver's own `executescript` would commit before it starts."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    """Turn on the write-ahead log, once per file.

    SQLite does not wait here when another process does the same at the same moment: we do.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(
                f"{path!r} cannot have a write-ahead log (its journal mode stays {mode!r}).",
                hint="Keep the file on a local disk.",
            )
        return
