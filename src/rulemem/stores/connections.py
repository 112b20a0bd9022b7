"""Connections to one SQLite file, and transactions on them.

A thread borrows a connection for one transaction; there are never more of them than there were
threads at work at once. Writers of this process queue at a lock, those of other processes at
SQLite's own with a timeout, and each takes the write lock before it reads (BEGIN IMMEDIATE), so
that none fails half way because another one was faster. Readers never wait.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Lock
from typing import Any, cast

from rulemem.errors import InputError, StoreError
from rulemem.stores.forks import watch
from rulemem.stores.transaction import Parameter, Row, Scoped

IN_MEMORY = ":memory:"
_PATIENCE = 30.0  # seconds that a writer waits for those of other processes

_SETTINGS = (
    "PRAGMA foreign_keys = ON",
    # The WAL is written, not flushed, at each commit: the system keeps it when the process is
    # killed. Only a power cut can cost the newest commits, and never the file.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA temp_store = MEMORY",  # nothing outside the file, not even while it is compacted
    "PRAGMA cache_size = -16000",  # KiB
)


class Connections:
    """The connections of one store: the first one, and more when threads work at once."""

    def __init__(self, path: str, first: sqlite3.Connection) -> None:
        self.path = path
        self.writer = Lock()
        self._only = Lock()  # a database in memory is its one connection
        self._state = Condition(Lock())
        self._idle = [first]
        self._lent = 0
        self._closed = False
        if path != IN_MEMORY:
            watch(self)

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection; errors of SQLite leave as errors of RuleMem."""
        with _explained(self.path):
            if self.path == IN_MEMORY:
                with self._only, self._lend() as connection:
                    yield connection
            else:
                with self._lend() as connection:
                    yield connection

    @contextmanager
    def _lend(self) -> Iterator[sqlite3.Connection]:
        with self._state:
            if self._closed:
                raise StoreError(f"The store {self.path!r} is closed.")
            connection = self._idle.pop() if self._idle else connect(self.path)
            self._lent += 1
        try:
            yield connection
        finally:
            with self._state:
                self._lent -= 1
                self._idle.append(connection)
                if self._closed:
                    self._close_idle()
                self._state.notify_all()

    def close(self) -> None:
        """Close what is idle now, and the rest when it comes back."""
        with self._state:
            self._closed = True
            self._close_idle()

    def before_fork(self) -> None:
        """Wait for those at work, then close; see `forks.py`."""
        self._state.acquire()
        self._state.wait_for(lambda: not self._lent, _PATIENCE)
        self._close_idle()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; a child that was forked in the middle of a transaction cannot."""
        if in_child and self._lent:
            self._closed = True
        self._state.release()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


class SqliteTransactions:
    """Opens transactions on the connections of one store."""

    def __init__(self, connections: Connections, queries: Mapping[str, str]) -> None:
        self._connections = connections
        self._queries = queries

    @contextmanager
    def reading(self, scope: str | None) -> Iterator[Scoped]:
        """A snapshot of one scope; None: of what lies across scopes."""
        with self._connections.borrow() as connection, transaction(connection, "BEGIN"):
            yield self._scoped(connection, scope, create=False)

    @contextmanager
    def writing(self, scope: str | None, *, create: bool = True) -> Iterator[Scoped]:
        """The one writer; an exception undoes all that was done."""
        with (
            self._connections.borrow() as connection,
            self._connections.writer,
            transaction(connection, "BEGIN IMMEDIATE"),
        ):
            yield self._scoped(connection, scope, create=create)

    def _scoped(self, connection: sqlite3.Connection, scope: str | None, *, create: bool) -> Scoped:
        across = Scoped(transaction=SqliteTransaction(connection, self._queries), scope=0)
        if scope is None:
            return across
        id = across.value("find_scope", name=scope)
        if id is None and create:
            id = across.value("add_scope", name=scope)
        return Scoped(transaction=across.transaction, scope=id or 0)


class SqliteTransaction:
    """Named queries on one connection."""

    def __init__(self, connection: sqlite3.Connection, queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    def rows(self, query: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        """Run a named query and return all rows."""
        found = self._connection.execute(self._queries[query], _bound(parameters))
        return cast(list[Row], found.fetchall())

    def run(self, query: str, parameters: Mapping[str, Parameter]) -> int:
        """Run a named statement and return how many rows it changed, not counting cascades."""
        return self._connection.execute(self._queries[query], _bound(parameters)).rowcount

    def run_many(self, query: str, parameters: Iterable[Mapping[str, Parameter]]) -> None:
        """Run a named statement once per set of parameters."""
        self._connection.executemany(self._queries[query], map(_bound, parameters))


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    """Commit at the end; undo on any exception, KeyboardInterrupt included."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has undone it itself when the disk was full
            connection.execute("ROLLBACK")
        raise


def connect(path: str, *, create: bool = False) -> sqlite3.Connection:
    """Open a connection to an absolute path; a vanished file is made anew only if asked for."""
    mode = "rwc" if create else "rw"
    uri = "file::memory:" if path == IN_MEMORY else f"{Path(path).as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,  # transactions are begun and ended here, never by the driver
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _bound(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    return {
        name: json.dumps(value, default=int) if isinstance(value, (list, tuple)) else value
        for name, value in parameters.items()
    }


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn what SQLite says into an error that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(path, error) from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"Text that cannot be stored: {error.object[error.start : error.end]!r}.",
            hint="Remove lone surrogates first.",
        ) from error
    except OverflowError as error:
        raise InputError(f"A number that cannot be stored: {error}.") from error


def explain(path: str, error: sqlite3.Error) -> StoreError:
    """Return the error that says in our words what is wrong with a file."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, (message, hint) in _EXPLANATIONS.items():
        if name.startswith(prefix):
            return StoreError(f"{path!r} {message} ({error}).", hint=hint)
    return StoreError(f"{path!r}: {error}.")


_EXPLANATIONS = {
    "SQLITE_NOTADB": ("is not a SQLite database", "Nothing was changed. Name another file."),
    "SQLITE_CORRUPT": ("is damaged", "Nothing was replaced. Restore it from a backup."),
    "SQLITE_BUSY": ("is locked", f"Another process has been writing for {_PATIENCE:.0f} s."),
    "SQLITE_FULL": ("cannot grow: the disk is full", "Make room; what was committed is safe."),
    "SQLITE_READONLY": ("cannot be written", "Check the permissions of the file and its folder."),
    "SQLITE_CANTOPEN": ("cannot be opened", "Check that the folder exists and may be written."),
    "SQLITE_PERM": ("may not be opened", "Check the permissions of the file."),
    "SQLITE_IOERR": ("cannot be read or written", "Check the disk."),
}
