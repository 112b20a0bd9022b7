"""A local server that speaks the OpenAI protocol as a script tells it to, for tests.

Answers are taken from the script one by one; when it is used up, `otherwise` answers. A canned
answer may be a function of what was received. Every request is kept in `requests`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def user(self) -> str:
        """The last message of a chat request."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned:
    """One answer: a body to be sent as JSON, or as it is when it is text."""

    body: object
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds before anything is sent


Answer = Canned | Callable[[Received], Canned]


class OpenAIServer:
    """The server, listening on a free port of 127.0.0.1 while its context is open."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.otherwise: Answer = failure(500, "The script has ended.")
        self.most_at_once = 0  # requests under way together, at the worst
        self._script: list[Answer] = []
        self._under_way = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Listener(self)
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *answers: Answer) -> None:
        """Append answers to the script."""
        with self._lock:
            self._script += answers

    def reply_to(self, received: Received) -> Canned:
        """Note a request and return its answer, after the answer's delay."""
        with self._lock:
            self.requests.append(received)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            answer = self._script.pop(0) if self._script else self.otherwise
        canned = answer if isinstance(answer, Canned) else answer(received)
        self._closing.wait(canned.delay)
        with self._lock:
            self._under_way -= 1
        return canned

    def __enter__(self) -> OpenAIServer:
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: OpenAIServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted = script

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that gave up waiting is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(path=self.path, body=json.loads(raw or b"{}"), headers=headers)
        canned = self.server.scripted.reply_to(received)
        body = canned.body
        kind = {"content-type": "text/html" if isinstance(body, str) else "application/json"}
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(canned.status)
        for name, value in {**kind, **canned.headers, "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal quiet."""


def chat(
    text: str | None,
    *,
    finish: str = "stop",
    usage: tuple[int, int] | None = (10, 5),
    delay: float = 0.0,
) -> Canned:
    """A chat completion; `usage` is prompt and completion tokens, None: not counted."""
    message = {"role": "assistant", "content": text}
    body: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), usage, strict=True))
    return Canned(body=body, delay=delay)


def failure(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    retry_after: str | None = None,
) -> Canned:
    """An error in the protocol's shape."""
    error = {"message": message, "type": "error", "param": param, "code": code}
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Canned(status=status, body={"error": error}, headers=headers)


def embeddings(rows: Sequence[Sequence[float]]) -> Canned:
    """An embedding reply, its rows sent in reverse order with their indices."""
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return Canned(body={"object": "list", "data": data[::-1]})


def split_tokens(text: str) -> list[str]:
    """Cut a text the way a byte-pair vocabulary does: words with the space before them."""
    return re.findall(r"\s?\w+|\s?[^\w\s]+|\s", text)


def logprob_of(token: str) -> float:
    """The log-probability that the scoring answers give a token: longer is less likely."""
    return -len(token) / 10


def vllm_scores(received: Received) -> Canned:
    """Answer a completion with `prompt_logprobs`, as vLLM does; ignore every other wish."""
    positions: list[dict[str, Any] | None] = [None]
    for number, token in enumerate(split_tokens(received.body["prompt"])[1:]):
        actual = {"logprob": logprob_of(token), "rank": 5, "decoded_token": token}
        best = {"logprob": -0.01, "rank": 1, "decoded_token": " the"}
        positions.append({str(1000 + number): actual, "7": best})
    wanted = "prompt_logprobs" in received.body
    choice = {"index": 0, "text": " and", "prompt_logprobs": positions if wanted else None}
    return Canned(body={"choices": [choice]})


def echo_scores(received: Received) -> Canned:
    """Answer a completion by echoing the prompt with log-probabilities and one more token."""
    prompt = received.body["prompt"]
    if not received.body.get("echo"):
        return generated_scores(received)
    tokens = [*split_tokens(prompt), " and"]
    offsets = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": [None, *map(logprob_of, tokens[1:])],
        "text_offset": offsets,
    }
    return Canned(body={"choices": [{"index": 0, "text": prompt + " and", "logprobs": logprobs}]})


def generated_scores(received: Received) -> Canned:
    """Answer with the log-probability of the generated token only, whatever was wanted."""
    logprobs = {"tokens": [" and"], "token_logprobs": [-0.5], "text_offset": [0]}
    return Canned(body={"choices": [{"index": 0, "text": " and", "logprobs": logprobs}]})
