"""Record what models answer, and play it back in tests without any model.

A recording is a JSON Lines file: a header that names port and model, then one line per distinct
request with its fingerprint, its fields and the reply. Long fixed texts (system prompt, schema)
are kept as fingerprints, vectors as half-precision floats, so that a recording can live in a
repository. A prompt that has changed no longer matches, and playing says so.

Failures are not recorded: a request that failed is missing from the recording.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import ConfigError, ModelError, ModelUnavailable
from rulemem.models._fingerprint import describe_request, fingerprint
from rulemem.ports import (
    Continuation,
    Embedder,
    LikelihoodModel,
    TextModel,
    TextReply,
    TextRequest,
)

_FORMAT = 1  # of the file
_EXCERPT = 60  # characters of a request in a message


class RecordingText:
    """A text model whose replies are written to a recording as they come."""

    def __init__(self, inner: TextModel, path: Path) -> None:
        self.name = inner.name
        self._inner = inner
        self._tape = _Tape(path, {"port": "text", "model": inner.name})

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request with the model; see `TextModel`."""
        outcomes = self._inner.complete(requests)
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, TextReply):
                self._tape.keep(_text_fields(request), _reply_fields(outcome))
        return outcomes


class RecordingLikelihood:
    """A likelihood model whose scores are written to a recording as they come."""

    def __init__(self, inner: LikelihoodModel, path: Path) -> None:
        self.name = inner.name
        self._inner = inner
        self._tape = _Tape(path, {"port": "likelihood", "model": inner.name})

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Score each continuation with the model; see `LikelihoodModel`."""
        scores = self._inner.nll(items)
        for item, score in zip(items, scores, strict=True):
            self._tape.keep({"prefix": item.prefix, "text": item.text}, {"nll": score})
        return scores


class RecordingEmbedder:
    """An embedder whose vectors are written to a recording as they come."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self.name = inner.name
        self.dimension = inner.dimension
        self._inner = inner
        header = {"port": "embedding", "model": inner.name, "dimension": inner.dimension}
        self._tape = _Tape(path, header)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed each text with the model; see `Embedder`."""
        vectors = self._inner.embed(texts)
        for text, vector in zip(texts, vectors, strict=True):
            halves = base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii")
            self._tape.keep({"text": text}, {"float16": halves})
        return vectors


class ReplayText:
    """The text model of a recording. Replies are as recorded, seconds and tokens included."""

    def __init__(self, path: Path) -> None:
        self._recording = _Recording(path, "text")
        self.name = self._recording.model

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Return the recorded replies.

        Raises:
            ModelUnavailable: One of the requests was not recorded.
        """
        replies: list[TextReply | ModelError] = []
        for request in requests:
            fields = self._recording.play(_text_fields(request), of=request.prompt)
            replies.append(TextReply(**fields))
        return replies

    def unplayed(self) -> list[str]:
        """Describe what was recorded and never asked, in the order of the recording."""
        return self._recording.unplayed()


class ReplayLikelihood:
    """The likelihood model of a recording."""

    def __init__(self, path: Path) -> None:
        self._recording = _Recording(path, "likelihood")
        self.name = self._recording.model

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Return the recorded scores.

        Raises:
            ModelUnavailable: One of the items was not recorded.
        """
        return [
            float(self._recording.play({"prefix": item.prefix, "text": item.text})["nll"])
            for item in items
        ]

    def unplayed(self) -> list[str]:
        """Describe what was recorded and never asked, in the order of the recording."""
        return self._recording.unplayed()


class ReplayEmbedder:
    """The embedder of a recording; vectors are exact to half precision."""

    def __init__(self, path: Path) -> None:
        self._recording = _Recording(path, "embedding")
        self.name = self._recording.model
        self.dimension = int(self._recording.header["dimension"])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the recorded vectors, brought back to unit length.

        Raises:
            ModelUnavailable: One of the texts was not recorded.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            halves = base64.b64decode(self._recording.play({"text": text})["float16"])
            vectors[row] = np.frombuffer(halves, "<f2")
            vectors[row] /= np.linalg.norm(vectors[row])
        return vectors

    def unplayed(self) -> list[str]:
        """Describe what was recorded and never asked, in the order of the recording."""
        return self._recording.unplayed()


class _Tape:
    """The writing end of a recording. An existing file of the same model is added to."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: set[str] = set()
        if path.exists() and path.stat().st_size:
            recording = _Recording(path, header["port"])
            if recording.header != {"rulemem_recording": _FORMAT, **header}:
                raise ConfigError(
                    f"{str(path)!r} is a recording of {recording.model!r}, not of "
                    f"{header['model']!r}.",
                    hint="Record into another file.",
                )
            self._known |= recording.keys
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"rulemem_recording": _FORMAT, **header})

    def keep(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Write one request with its reply, unless the request is there already."""
        key = fingerprint(request)
        with self._lock:
            if key not in self._known:
                self._known.add(key)
                self._append({"key": key, "request": request, "reply": reply})

    def _append(self, line: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


class _Recording:
    """The reading end of a recording: replies by request, and which were asked for."""

    def __init__(self, path: Path, port: str) -> None:
        self._path = path
        try:
            text = path.read_text(encoding="utf-8", errors="surrogatepass")
            lines = [json.loads(line) for line in text.split("\n") if line]
            self.header = dict(lines[0])
            entries = {line["key"]: line for line in lines[1:]}
            intact = all(fingerprint(e["request"]) == key for key, e in entries.items())
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ConfigError(f"{str(path)!r} cannot be read as a recording: {error}.") from error
        if self.header.get("rulemem_recording") != _FORMAT or self.header.get("port") != port:
            raise ConfigError(f"{str(path)!r} is not a recording of a {port} model.")
        if not intact:
            raise ConfigError(f"{str(path)!r} was edited: a request does not match its key.")
        self.model = str(self.header["model"])
        self._entries: dict[str, dict[str, Any]] = entries
        self._asked: set[str] = set()

    @property
    def keys(self) -> set[str]:
        """Fingerprints of all recorded requests."""
        return set(self._entries)

    def play(self, request: Mapping[str, Any], *, of: str = "") -> dict[str, Any]:
        """Return the reply to a request; `of` names its prompt in the error."""
        key = fingerprint(request)
        if key not in self._entries:
            error = ModelUnavailable(
                f"{str(self._path)!r} holds no reply of {self.model!r} to {_label(request, of)}.",
                hint=f"Record it: run once with a Recording model around {self.model!r} and "
                f"this file; delete the file first if the prompt has changed.",
            )
            error.retryable = False
            raise error
        self._asked.add(key)
        reply: dict[str, Any] = self._entries[key]["reply"]
        return reply

    def unplayed(self) -> list[str]:
        """Describe the recorded requests that were never asked."""
        return [
            _label(entry["request"], entry["request"].get("prompt", ""))
            for key, entry in self._entries.items()
            if key not in self._asked
        ]


def _label(request: Mapping[str, Any], prompt: str) -> str:
    words = str(request.get("user") or request.get("text"))[:_EXCERPT]
    return f"{prompt} {words!r}".strip()


def _text_fields(request: TextRequest) -> dict[str, Any]:
    fields = describe_request(request)
    fields["system"] = fingerprint({"system": request.system})
    fields["schema"] = None if request.schema is None else fingerprint(request.schema)
    return fields


def _reply_fields(reply: TextReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "seconds": round(reply.seconds, 3),
        "truncated": reply.truncated,
    }
