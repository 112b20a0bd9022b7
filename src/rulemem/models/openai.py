"""Text and embeddings from any server that speaks the OpenAI protocol.

Hosted APIs, vLLM, llama.cpp's server, Ollama and LM Studio differ in what they accept. A client
starts with everything we would like to send, and drops for good what its server refuses by name:
the seed, the temperature, the stop words, the JSON schema. A schema that the server refuses or
ignores is put into the prompt instead.

Reasoning blocks and prose around JSON are left in the text: `prompts.json_reply` reads them.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rulemem.errors import ModelError, ModelUnavailable, ReplyRejected
from rulemem.models._endpoint import Endpoint, RequestRefused, first_choice, read_usage, wire_safe
from rulemem.models._pool import Again, Clock, Pool
from rulemem.ports import TextReply, TextRequest
from rulemem.prompts.json_reply import parse_json

EMBEDDING_BATCH = 64  # texts per request
CHARACTERS_PER_TOKEN = 4  # the estimate where a server counts nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """What a server has been found to accept. It only ever shrinks."""

    temperature: bool = True
    seed: bool = True
    stop: bool = True
    response_format: bool = True
    max_tokens: bool = True  # False: it is called max_completion_tokens here
    tell_schema: bool = False  # the schema is also written into the prompt

    def without(self, refusal: RequestRefused) -> _Dialect:
        """Drop what the server names in its refusal; the same dialect if it names nothing."""
        named = set(re.findall(r"[a-z_]+", refusal.words))
        if "context" in named:  # too long, whatever else the message counts up
            return self
        changes: dict[str, bool] = {
            name: False for name in ("temperature", "seed", "stop") if name in named
        }
        if named & {"response_format", "json_schema", "schema", "grammar", "guided_json"}:
            changes |= {"response_format": False, "tell_schema": True}
        if "max_completion_tokens" in named:
            changes["max_tokens"] = False
        return replace(self, **changes)


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What all tries of one request cost together."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class OpenAICompatibleText:
    """A chat model behind an OpenAI-compatible API.

    Decoding is greedy (temperature 0, seed 0) where the server allows it. Token counts are the
    server's, over all tries of a request; where it counts nothing they are estimated at four
    characters a token, because a zero would let a budget run on forever.

    Args:
        model: Name of the model as the server knows it.
        base_url: Root of the API, usually ending in "/v1".
        api_key: Key; empty for servers that ask for none.
        timeout: Seconds for connecting, and for each silence while reading.
        max_concurrency: Requests under way at once, over all threads that use this object.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str = "",
        timeout: float = 60.0,
        max_concurrency: int = 4,
        clock: Clock | None = None,
    ) -> None:
        self.name = f"openai:{model}"
        self._endpoint = Endpoint(model, base_url=base_url, api_key=api_key, timeout=timeout)
        self._pool = Pool(concurrency=max_concurrency, clock=clock)
        self._lock = threading.Lock()
        self._dialect = _Dialect()

    def complete(self, requests: Sequence[TextRequest]) -> list[TextReply | ModelError]:
        """Complete each request; a request that fails yields its error in its place."""
        return self._pool.run([partial(self._attempt, r, _Tally()) for r in requests])

    def _attempt(self, request: TextRequest, tally: _Tally) -> TextReply:
        """Ask once, and at once again whenever the dialect had to change."""
        while True:
            dialect = self._dialect
            try:
                reply = self._ask(request, dialect, tally)
            except RequestRefused as refusal:
                if not self._learn(dialect, dialect.without(refusal)):
                    raise
                continue
            if request.schema is None or reply.truncated or _obeys(reply.text, request.schema):
                return reply
            if not self._learn(dialect, replace(dialect, tell_schema=True)):
                return reply

    def _learn(self, used: _Dialect, found: _Dialect) -> bool:
        """Remember a change of dialect; False if the request would go out as it just did."""
        with self._lock:
            if self._dialect == used:
                self._dialect = found
            return self._dialect != used

    def _ask(self, request: TextRequest, dialect: _Dialect, tally: _Tally) -> TextReply:
        begun = time.perf_counter()
        body = _chat_body(request, dialect)
        answer = self._endpoint.post("/chat/completions", body)
        tally.seconds += time.perf_counter() - begun
        choice = first_choice(answer)
        message = choice.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        text = content if isinstance(content, str) else ""
        prompt_tokens, completion_tokens = read_usage(answer)
        sent = sum(len(part["content"]) for part in body["messages"])
        tally.prompt_tokens += prompt_tokens or -(-sent // CHARACTERS_PER_TOKEN)
        tally.completion_tokens += completion_tokens or -(-len(text) // CHARACTERS_PER_TOKEN)
        truncated = choice.get("finish_reason") == "length"
        if not text.strip():
            raise self._empty(request, str(choice.get("finish_reason")), truncated)
        return TextReply(
            text=_cut(text, request.stop),
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            seconds=tally.seconds,
            truncated=truncated,
        )

    def _empty(self, request: TextRequest, reason: str, truncated: bool) -> Again | ReplyRejected:
        if truncated:  # the same would happen again
            return ReplyRejected(
                f"empty reply from {self.name!r} to {request.prompt!r}: all "
                f"{request.max_tokens} tokens were spent before the first visible word.",
                hint="The model reasons at length: raise max_tokens or switch its thinking off.",
            )
        return Again(
            ReplyRejected(
                f"empty reply from {self.name!r} to {request.prompt!r} (finish_reason {reason})."
            ),
            tries=2,
        )


class OpenAICompatibleEmbedder:
    """An embedding model behind an OpenAI-compatible API.

    Its dimension is asked of the server on construction, so that a wrong key, URL or model shows
    at once. A text without a visible character is sent as a full stop: servers refuse empty
    input. Texts longer than the model reads are the caller's business.

    Args:
        model, base_url, api_key, timeout, max_concurrency: As for `OpenAICompatibleText`.

    Raises:
        ModelError: The server cannot be reached or refuses the probe.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str = "",
        timeout: float = 60.0,
        max_concurrency: int = 4,
        clock: Clock | None = None,
    ) -> None:
        self.name = f"openai:{model}"
        self._endpoint = Endpoint(model, base_url=base_url, api_key=api_key, timeout=timeout)
        self._pool = Pool(concurrency=max_concurrency, clock=clock)
        self.dimension = 0  # unknown until the probe
        self.dimension = int(self.embed(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimension).

        Raises:
            ModelError: Any part of the texts could not be embedded; there is no partial result.
        """
        batches = [
            list(texts[start : start + EMBEDDING_BATCH])
            for start in range(0, len(texts), EMBEDDING_BATCH)
        ]
        vectors: list[NDArray[np.float32]] = []
        for outcome in self._pool.run([partial(self._embed_batch, batch) for batch in batches]):
            if isinstance(outcome, ModelError):
                raise outcome
            vectors.append(outcome)
        return np.concatenate(vectors) if vectors else np.zeros((0, self.dimension), np.float32)

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        body = {"input": [_visible(text) for text in texts], "encoding_format": "float"}
        items = self._endpoint.post("/embeddings", body).get("data")
        rows = _embedding_rows(items)
        if len(rows) != len(texts):
            raise self._unusable(f"returned {len(rows)} vectors for {len(texts)} texts")
        dimensions = {len(row) for row in rows}
        wanted = self.dimension or len(rows[0])
        if dimensions != {wanted} or not wanted:
            raise self._unusable(f"returned {sorted(dimensions)} dimensions instead of {wanted}")
        try:
            vectors = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._unusable("returned vectors that are not numbers") from error
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
            raise self._unusable("returned a vector that is zero or not finite")
        unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit

    def _unusable(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self._endpoint.base_url} {what} ({self.name!r}).",
            hint="Is this an embedding model, and the one that the store was made with?",
        )


def _chat_body(request: TextRequest, dialect: _Dialect) -> dict[str, Any]:
    """Write a request in the server's dialect."""
    user = request.user
    if request.schema is not None and dialect.tell_schema:
        schema = json.dumps(request.schema, ensure_ascii=False)
        user = f"{user}\n\nAnswer with one JSON value that fits this JSON Schema:\n{schema}"
    messages = [("system", request.system), ("user", user)]
    body: dict[str, Any] = {
        "messages": [
            {"role": role, "content": wire_safe(text)} for role, text in messages if text.strip()
        ],
        "max_tokens" if dialect.max_tokens else "max_completion_tokens": request.max_tokens,
    }
    if dialect.temperature:
        body["temperature"] = 0
    if dialect.seed:
        body["seed"] = 0
    if request.stop and dialect.stop:
        body["stop"] = list(request.stop)
    if request.schema is not None and dialect.response_format:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", request.prompt)[:64] or "reply"
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": name, "schema": dict(request.schema), "strict": False},
        }
    return body


def _obeys(text: str, schema: Mapping[str, Any]) -> bool:
    """Say whether a reply looks as if its writer had seen the schema: kind and required names."""
    try:
        value = parse_json(text)
    except ReplyRejected:
        return False
    if schema.get("type") == "array":
        return isinstance(value, list)
    return isinstance(value, dict) and all(name in value for name in schema.get("required", ()))


def _cut(text: str, stop: Sequence[str]) -> str:
    """End the text before the first stop word, which some servers ignore or refuse."""
    ends = [at for word in stop if word and (at := text.find(word)) >= 0]
    return text[: min(ends)] if ends else text


def _visible(text: str) -> str:
    return wire_safe(text) if text.strip() else "."


def _embedding_rows(items: object) -> list[list[float]]:
    """Return the vectors of a reply in the order of the texts."""
    if not isinstance(items, list):
        return []
    found = [item for item in items if isinstance(item, Mapping)]
    indices = [item.get("index") for item in found]
    if sorted(i for i in indices if isinstance(i, int)) == list(range(len(found))):
        found.sort(key=lambda item: int(item["index"]))
    rows = [item.get("embedding") for item in found]
    return [row for row in rows if isinstance(row, list)]
