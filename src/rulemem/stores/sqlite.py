"""The embedded store: everything in one SQLite file, or in memory.

    SqliteStore("alice.db", embedder_name="all-MiniLM-L6-v2", dimension=384)

A file that is not ours, damaged, or newer than this version is refused and left as it is; so is
one whose vectors come from another embedder. Knows nothing of what the records mean.
"""

from __future__ import annotations

import sqlite3
from os import PathLike, fspath
from pathlib import Path

from rulemem.errors import SchemaMismatch, StoreError
from rulemem.stores.connections import (
    IN_MEMORY,
    Connections,
    SqliteTransactions,
    connect,
    explain,
)
from rulemem.stores.migrations import migrate
from rulemem.stores.queries import load_migrations, load_queries
from rulemem.stores.reembedding import find_or_add
from rulemem.stores.sql_store import SqlStore
from rulemem.stores.vectors import StoredEmbedder


class SqliteStore(SqlStore):
    """A store in one SQLite file. Safe to use from many threads and many processes at once."""

    def __init__(self, path: str | PathLike[str], *, embedder_name: str, dimension: int) -> None:
        """Open a file, or make it when there is none.

        Args:
            path: a file in a folder that exists, or ":memory:".
            embedder_name: the embedder whose vectors are stored.
            dimension: of its vectors.

        Raises:
            StoreError: the file cannot be used; it is left as it is.
            SchemaMismatch: made by a newer version, or with another embedder.
        """
        self._connections = _open(fspath(path), create=True)
        transactions = SqliteTransactions(self._connections, load_queries("sqlite"))
        try:
            embedder = _agree(transactions, fspath(path), embedder_name, dimension)
        except BaseException:
            self._connections.close()
            raise
        super().__init__(transactions, embedder)

    @classmethod
    def for_reembedding(cls, path: str | PathLike[str]) -> SqliteStore:
        """Open a file whatever embedder its vectors come from, so that `reembed` can change it.

        Raises:
            StoreError: there is no such file, or it cannot be used.
        """
        connections = _open(fspath(path), create=False)
        try:
            transactions = SqliteTransactions(connections, load_queries("sqlite"))
            with transactions.reading(None) as tx:
                stored = tx.row("current_embedder")
        finally:
            connections.close()
        if stored is None:
            raise StoreError(f"{fspath(path)!r} has no embedder yet: nothing to recompute.")
        return cls(path, embedder_name=stored["name"], dimension=stored["dimension"])

    @property
    def embedder(self) -> tuple[str, int]:
        """Name and dimension of the embedder that the vectors come from."""
        return self._embedder.name, self._embedder.dimension

    def compact(self) -> None:
        """Rewrite the file without what was deleted, and empty the write-ahead log.

        Deleted words are overwritten in the file at once, but stay in the log until then.

        Raises:
            StoreError: another process was reading or writing all the time.
        """
        with self._connections.borrow() as connection, self._connections.writer:
            connection.execute("VACUUM")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreError(
                f"{self._connections.path!r} was compacted, but its log is still being read.",
                hint="Close other users of the file, then compact again.",
            )

    def check(self) -> list[str]:
        """Return what is wrong with the file, as sentences; empty when it is sound."""
        with self._connections.borrow() as connection:
            try:
                integrity = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            except sqlite3.DatabaseError as error:
                integrity = [f"not readable: {error}"]
            if integrity != ["ok"]:
                return integrity  # what cannot be read cannot be checked any further
            broken = [tuple(row) for row in connection.execute("PRAGMA foreign_key_check")]
        with self._transactions.reading(None) as tx:
            orphans = [tuple(row) for row in tx.rows("find_orphans")]
        return [
            *(f"broken reference: {row}" for row in broken),
            *(f"{what}: {kind} {item} in scope {scope}" for what, scope, kind, item in orphans),
        ]

    def close(self) -> None:
        """Release the file."""
        self._connections.close()


def _open(path: str, *, create: bool) -> Connections:
    """Open a file at the schema of this version."""
    if not path:
        raise StoreError("The path of the store is empty.", hint='Name a file, or ":memory:".')
    if path != IN_MEMORY:
        path = str(Path(path).absolute())  # so that a later change of folder changes nothing
        if Path(path).is_dir():
            raise StoreError(f"{path!r} is a folder.", hint="Name a file in it.")
    try:
        connection = connect(path, create=create)
        try:
            migrate(connection, path, load_migrations("sqlite"))
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(path, error) from error
    return Connections(path, connection)


def _agree(
    transactions: SqliteTransactions, path: str, name: str, dimension: int
) -> StoredEmbedder:
    """Return the embedder of the store, which must be the given one."""
    with transactions.reading(None) as tx:
        stored = tx.row("current_embedder")
    if stored is None:
        with transactions.writing(None) as tx:
            stored = tx.row("current_embedder")  # another process may have been faster
            if stored is None:
                return find_or_add(tx, name, dimension, current=True)
    if (stored["name"], stored["dimension"]) != (name, dimension):
        raise SchemaMismatch(
            f"The vectors in {path!r} come from {stored['name']!r} ({stored['dimension']} "
            f"dimensions), not from {name!r} ({dimension}).",
            hint="Use that embedder, or run `rulemem reembed`.",
        )
    return StoredEmbedder(id=stored["id"], name=name, dimension=dimension)
