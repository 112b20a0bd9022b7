"""Text generation with a GGUF model, in process, through the `xllamacpp` runtime.

Requests run one after the other: on two cores, four in parallel took six times as long as four in
a row. The server keeps a few slots so that the prefixes of several prompts stay cached; prompts
put their fixed instructions first for that. Knows nothing of prompts or replies' meaning.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulemem.errors import ModelError, ModelUnavailable, ReplyRejected
from rulemem.models._llama_c import RUNTIME, RUNTIME_VERSION
from rulemem.ports import TextReply, TextRequest

SLOTS = 3  # prefixes kept: the ones of a stage, of an answer and of an abduction
SLOT_TOKENS = 3072


class LlamaText:
    """Write text with a local GGUF model."""

    def __init__(self, path: Path, *, name: str, threads: int = 2) -> None:
        """Bind to a model file; it is loaded at the first call.

        Args:
            path: a GGUF file with a chat template.
            name: how the model is named beside what it made.
            threads: CPU threads.
        """
        self.name = name
        self._path = path
        self._threads = threads
        self._lock = threading.Lock()
        self._server: Any = None

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request at temperature 0; see `ports.TextModel`."""
        if not requests:
            return []
        server = self._load()
        return [_complete(server, request) for request in requests]

    def close(self) -> None:
        """Free the model; the next call loads it again."""
        with self._lock:
            self._server = None

    def _load(self) -> Any:
        with self._lock:
            if self._server is None:
                self._server = self._start()
            return self._server

    def _start(self) -> Any:
        try:
            import xllamacpp
        except ImportError as error:
            raise ModelUnavailable(
                f"{RUNTIME} is not installed.",
                hint=f"Install it with: pip install 'rulemem[embedded]' "
                f"({RUNTIME}=={RUNTIME_VERSION}).",
            ) from error
        if not self._path.is_file():
            raise ModelUnavailable(
                f"No model file at {str(self._path)!r}.", hint="Run: rulemem models fetch."
            )
        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.n_parallel = SLOTS
        params.n_ctx = SLOTS * SLOT_TOKENS
        params.fit_params = False
        params.warmup = False
        params.verbosity = -1
        params.cpuparams.n_threads = self._threads
        params.cpuparams_batch.n_threads = self._threads
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelUnavailable(
                f"{str(self._path)!r} cannot be loaded as a GGUF model: {error}."
            ) from error


def _complete(server: Any, request: TextRequest) -> TextReply | ModelError:
    body: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ],
        "max_tokens": request.max_tokens,
        "temperature": 0,
        "stop": list(request.stop),
        "cache_prompt": True,
    }
    if request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"schema": dict(request.schema)},
        }
    started = time.perf_counter()
    raw = server.handle_chat_completions(body)
    seconds = time.perf_counter() - started
    reply: Mapping[str, Any] = json.loads(raw) if isinstance(raw, str | bytes) else raw
    if "choices" not in reply:
        error = reply.get("error", reply)
        return ModelUnavailable(f"{request.prompt}: the runtime refused the request: {error}.")
    choice = reply["choices"][0]
    text = choice["message"].get("content") or ""
    if not text.strip():
        return ReplyRejected(f"{request.prompt}: the model returned an empty reply.")
    usage = reply["usage"]
    return TextReply(
        text=text,
        prompt_tokens=usage["prompt_tokens"],
        completion_tokens=usage["completion_tokens"],
        seconds=seconds,
        truncated=choice.get("finish_reason") == "length",
    )
