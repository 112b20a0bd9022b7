"""Keep good replies on disk, so that an interrupted run resumes without paying twice.

The cache is addressed by content: the same request to the same model gives the same reply, in
whatever scope it is asked. It therefore holds dialogue text of every scope, and an entry can't
say whose it is: `forget` passes the words of the turns it removes to `drop_mentioning`, which
deletes every entry whose prompt or reply holds any of them. An entry too many costs one call.

Knows nothing of budgets: around a `MeteredText` it lets replies through that are already paid,
inside one its replies are counted as free.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from rulemem.errors import InputError, ModelError, ReplyRejected, StoreError
from rulemem.models._fingerprint import describe_request, fingerprint
from rulemem.ports import TextModel, TextReply, TextRequest
from rulemem.prompts.json_reply import parse_json

_SLICE = 16  # requests given to the model before their replies are on disk
_PATIENCE = 60.0  # seconds to wait for another process that writes
_TABLE = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY,                -- sha256 of the model's name and the whole request
    user BLOB NOT NULL,                  -- UTF-8; kept for drop_mentioning
    text BLOB NOT NULL,                  -- UTF-8; a blob, so that odd characters survive
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL
)
"""


class CachedTextModel:
    """A text model whose good replies are kept in one SQLite file.

    Kept is a reply that is not empty, not truncated and, where a schema was given, readable as
    JSON; anything else is asked again next time. Equal requests in one call are asked once.
    Several threads and processes may share the file. Replies are written every few requests, so
    that a killed run loses no more than those.

    Args:
        inner: The model that is asked for what is not in the cache.
        path: The file; it and its folder are made when missing, readable by their owner only.

    Raises:
        StoreError: The file cannot be opened, or is not a reply cache.
    """

    def __init__(self, inner: TextModel, path: Path) -> None:
        self.name = inner.name
        self._inner = inner
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
        except OSError as error:
            raise StoreError(f"The reply cache {str(path)!r} cannot be made: {error}.") from error
        with self._open() as cache:
            cache.execute(_TABLE)

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request, from disk where it can be; a hit has `cached` set.

        A hit carries the token counts of the original reply and no seconds.
        """
        keys = [self._key(request) for request in requests]
        known = self._read(keys)
        missing = {
            key: request for key, request in zip(keys, requests, strict=True) if key not in known
        }
        fresh: dict[str, TextReply | ModelError] = {}
        waiting = list(missing.items())
        for start in range(0, len(waiting), _SLICE):
            part = waiting[start : start + _SLICE]
            replies = self._inner.complete([request for _, request in part])
            fresh |= zip((key for key, _ in part), replies, strict=True)
            self._write({key: (request, fresh[key]) for key, request in part})
        return [known.get(key) or fresh[key] for key in keys]

    def drop_mentioning(self, words: Sequence[str]) -> int:
        """Delete entries whose prompt or reply contains any of the strings; return how many.

        The match is exact, by characters. What is deleted is overwritten in the file.

        Raises:
            InputError: An empty string, which every entry contains.
        """
        if any(not word for word in words):
            raise InputError("An empty string is mentioned by every entry of the reply cache.")
        dropped = 0
        with self._open() as cache:
            for word in words:
                for form in {word, json.dumps(word)[1:-1]}:  # as written, and as JSON escapes it
                    dropped += cache.execute(
                        "DELETE FROM reply WHERE instr(user, :word) OR instr(text, :word)",
                        {"word": _to_bytes(form)},
                    ).rowcount
        self._truncate_log()
        return dropped

    def purge(self) -> int:
        """Delete every entry; return how many."""
        with self._open() as cache:
            dropped = cache.execute("DELETE FROM reply").rowcount
        with self._open() as cache:
            cache.execute("VACUUM")
        self._truncate_log()
        return dropped

    def _key(self, request: TextRequest) -> str:
        return fingerprint({"model": self.name, **describe_request(request)})

    def _read(self, keys: Sequence[str]) -> dict[str, TextReply]:
        found: dict[str, TextReply] = {}
        with self._open() as cache:
            for key in keys:
                row = cache.execute(
                    "SELECT text, prompt_tokens, completion_tokens FROM reply WHERE key = ?", (key,)
                ).fetchone()
                if row is not None:
                    found[key] = TextReply(
                        text=row[0].decode("utf-8", "surrogatepass"),
                        prompt_tokens=row[1],
                        completion_tokens=row[2],
                        seconds=0.0,
                        cached=True,
                    )
        return found

    def _write(self, outcomes: dict[str, tuple[TextRequest, TextReply | ModelError]]) -> None:
        rows = [
            (
                key,
                _to_bytes(request.user),
                _to_bytes(reply.text),
                reply.prompt_tokens,
                reply.completion_tokens,
            )
            for key, (request, reply) in outcomes.items()
            if isinstance(reply, TextReply) and _is_good(request, reply)
        ]
        if rows:
            with self._open() as cache:
                cache.executemany("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?)", rows)

    def _truncate_log(self) -> None:
        """Leave no deleted text in the write-ahead log."""
        with self._open() as cache:
            cache.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction. Nothing stays open between calls, so that threads
        and forked processes never share a connection.
        """
        try:
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as cache, cache:
                cache.execute("PRAGMA journal_mode = WAL")
                cache.execute("PRAGMA synchronous = NORMAL")
                cache.execute("PRAGMA secure_delete = ON")
                yield cache
        except sqlite3.Error as error:
            raise StoreError(
                f"The reply cache {str(self._path)!r} cannot be used: {error}.",
                hint="It holds nothing that cannot be made again: delete the file.",
            ) from error


def _is_good(request: TextRequest, reply: TextReply) -> bool:
    """Say whether a reply is worth repeating."""
    if reply.truncated or not reply.text.strip():
        return False
    if request.schema is None:
        return True
    try:
        parse_json(reply.text)
    except ReplyRejected:
        return False
    return True


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
