"""What the options of every command say, and the memory that they name."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rulemem.cli.screen import Screen
from rulemem.config import Resolved, Settings, resolve_settings
from rulemem.errors import ModelError, ModelUnavailable, StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rulemem import Memory
    from rulemem.bottom_up.facts import Extraction
    from rulemem.models.choose import Models
    from rulemem.ports import TextReply, TextRequest
    from rulemem.types import Turn

IN_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of the command line."""

    given: Mapping[str, Any] = field(default_factory=dict)  # settings typed as options; None: not
    screen: Screen = field(default_factory=Screen)
    models: Models | None = None  # ready adapters; None: those that the settings name

    def resolve(self) -> Resolved:
        """Return the settings and where each came from."""
        return resolve_settings(self.given)

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.resolve().settings

    @property
    def scope(self) -> str:
        """Whose memory."""
        return self.settings.scope

    @contextmanager
    def memory(self, *, create: bool = False) -> Iterator[Memory]:
        """Open the memory for one command.

        Args:
            create: whether a file that does not exist is made.

        Raises:
            StoreError: there is no such file.
        """
        from rulemem import Memory

        if not create:
            require_file(self.settings.db)
        memory = Memory(models=self.models, **self.given)
        try:
            yield memory
        finally:
            memory.close()

    @contextmanager
    def view(self) -> Iterator[Memory]:
        """Open the memory to read in it or to forget: no model need be there, nor any server.

        Raises:
            StoreError: there is no such file.
        """
        from rulemem import Memory

        settings = self.settings
        require_file(settings.db)
        memory = Memory(models=_stand_ins(settings), **self.given)
        try:
            yield memory
        finally:
            memory.close()

    def options(self) -> str:
        """The options that name this memory again, for a command that is suggested."""
        shown = ((name, self.given.get(name)) for name in ("db", "scope", "llm"))
        return "".join(
            f" --{name} {shlex.quote(value)}" for name, value in shown if value is not None
        )


def session_of(context: typer.Context) -> Session:
    """The session of the command that is running."""
    session = context.find_object(Session)
    assert session is not None  # the options of the program come before any command
    return session


def require_file(path: str) -> None:
    """Refuse to look into a memory that does not exist, rather than make an empty one.

    Raises:
        StoreError: no such file.
    """
    if path != IN_MEMORY and not Path(path).exists():
        raise StoreError(
            f"There is no memory at {path!r}.",
            hint="Name its file with --db, or begin one: rulemem add FILE",
        )


class _Absent:
    """Stands for the models that made a memory, where none is asked."""

    def __init__(self, name: str, dimension: int) -> None:
        self.name = name
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Refuse: a view embeds nothing."""
        raise self._refusal()

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Refuse: a view extracts nothing."""
        raise self._refusal()

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Refuse: a view asks nothing."""
        raise self._refusal()

    def _refusal(self) -> ModelUnavailable:
        return ModelUnavailable("No model was loaded for this command.")


def _stand_ins(settings: Settings) -> Models:
    """Return models that agree with the vectors of the file, with the replies kept on disk."""
    from rulemem.models.cached import CachedTextModel
    from rulemem.models.choose import Models
    from rulemem.stores.sqlite import SqliteStore

    store = SqliteStore.for_reembedding(settings.db)
    try:
        absent = _Absent(*store.embedder)
    finally:
        store.close()
    path = settings.cache / "replies.db"
    return Models(
        embedder=absent,
        extractor=absent,
        text=None,
        likelihood=None,
        replies=CachedTextModel(absent, path) if path.exists() else None,
    )
