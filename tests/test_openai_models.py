"""Models over HTTP, against a local server that misbehaves on request."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.openai_server import (
    Canned,
    OpenAIServer,
    Received,
    chat,
    echo_scores,
    embeddings,
    failure,
    generated_scores,
    logprob_of,
    split_tokens,
    vllm_scores,
)

from rulemem.errors import (
    ConfigError,
    LogprobsUnavailable,
    ModelError,
    ModelUnavailable,
    RateLimited,
    ReplyRejected,
)
from rulemem.models._pool import Clock
from rulemem.models.openai import OpenAICompatibleEmbedder, OpenAICompatibleText
from rulemem.models.server_likelihood import ServerLikelihood, align_tokens
from rulemem.ports import Continuation, TextReply, TextRequest
from rulemem.prompts.json_reply import parse_json

KEY = "sk-very-secret"
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
}


class FakeTime:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.slept = 0.0

    def clock(self) -> Clock:
        return Clock(now=lambda: self.slept, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def model(server: OpenAIServer, time: FakeTime) -> OpenAICompatibleText:
    return OpenAICompatibleText(
        "small-1", base_url=server.base_url, api_key=KEY, timeout=5.0, clock=time.clock()
    )


def request(user: str = "Who likes tea?", **fields: object) -> TextRequest:
    given_fields = {"stage": "answer", "prompt": "answer@1", "system": "Be brief.", "user": user}
    return TextRequest(**{**given_fields, **fields})  # type: ignore[arg-type]


def reply_of(model: OpenAICompatibleText, asked: TextRequest) -> TextReply:
    (outcome,) = model.complete([asked])
    assert isinstance(outcome, TextReply), outcome
    return outcome


def error_of(model: OpenAICompatibleText, asked: TextRequest) -> ModelError:
    (outcome,) = model.complete([asked])
    assert isinstance(outcome, ModelError), outcome
    return outcome


# --- text: what is sent and what comes back --------------------------------------------------


def test_a_reply_carries_text_and_counts(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A completion is sent greedily with the key, and read with the server's token counts."""
    server.script(chat("Ann.", usage=(21, 3)))
    reply = reply_of(model, request(stop=("\n",), max_tokens=40))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Ann.", 21, 3)
    assert not reply.truncated and not reply.cached and reply.seconds > 0
    (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "small-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who likes tea?"},
        ],
        "max_tokens": 40,
        "temperature": 0,
        "seed": 0,
        "stop": ["\n"],
    }
    assert model.name == "openai:small-1"


def test_a_schema_is_sent_as_response_format(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """A request with a schema asks for it by json_schema, under a name the protocol allows."""
    server.script(chat('{"facts": []}'))
    reply_of(model, request(schema=SCHEMA, prompt="extract_facts@2"))
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "extract_facts_2", "schema": SCHEMA, "strict": False},
    }
    assert server.requests[0].user == "Who likes tea?"


def test_missing_usage_is_estimated(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """Where the server counts no tokens, four characters count as one."""
    server.script(chat("x" * 9, usage=None))
    reply = reply_of(model, request("u" * 11, system="s" * 8))
    assert (reply.prompt_tokens, reply.completion_tokens) == (5, 3)


def test_order_is_kept_under_concurrency(time: FakeTime, server: OpenAIServer) -> None:
    """Replies come in the order of the requests, and no more than max_concurrency run at once."""

    def slow_first(received: Received) -> Canned:
        return chat(received.user, delay=0.05 if int(received.user) % 3 == 0 else 0.0)

    server.otherwise = slow_first
    model = OpenAICompatibleText("m", base_url=server.base_url, api_key=KEY, max_concurrency=3)
    outcomes = model.complete([request(str(n)) for n in range(12)])
    assert [o.text for o in outcomes if isinstance(o, TextReply)] == [str(n) for n in range(12)]
    assert 2 <= server.most_at_once <= 3


def test_a_failed_item_does_not_cost_its_neighbours(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """One refused request yields its error in its place; the others are answered."""
    server.otherwise = lambda received: (
        failure(400, "No.") if received.user == "1" else chat(received.user)
    )
    outcomes = model.complete([request(str(n)) for n in range(3)])
    assert [type(o).__name__ for o in outcomes] == ["TextReply", "RequestRefused", "TextReply"]


def test_no_requests_make_no_call(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """An empty batch asks nothing."""
    assert model.complete([]) == []
    assert server.requests == []


def test_a_truncated_reply_says_so(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """finish_reason length marks the reply, also where it breaks a schema, and is not retried."""
    server.script(chat('{"facts": ["Ann li', finish="length"))
    reply = reply_of(model, request(schema=SCHEMA))
    assert reply.truncated
    assert len(server.requests) == 1


def test_text_ends_before_a_stop_word(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A server that ignores stop words does not get its surplus through."""
    server.script(chat("IF a THEN b\nIF c THEN d\n\n"))
    assert reply_of(model, request(stop=("\n\n", "\n"))).text == "IF a THEN b"


def test_lone_surrogates_are_sent_as_question_marks(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """Text that UTF-8 cannot carry does not break the request."""
    server.script(chat("ok"))
    reply_of(model, request("a\ud800b"))
    assert server.requests[0].user == "a?b"


@pytest.mark.parametrize(
    "text",
    [
        'Sure! Here it is:\n```json\n{"facts": ["Ann likes tea"]}\n```\nHope it helps.',
        '<think>{"facts": ["maybe"]}</think>{"facts": ["Ann likes tea"]}',
    ],
)
def test_prose_and_thoughts_around_json_are_left_to_the_reader(
    server: OpenAIServer, model: OpenAICompatibleText, text: str
) -> None:
    """JSON that can be read in spite of what surrounds it is taken as it is, at once."""
    server.script(chat(text))
    reply = reply_of(model, request(schema=SCHEMA))
    assert reply.text == text
    assert parse_json(reply.text) == {"facts": ["Ann likes tea"]}
    assert len(server.requests) == 1


# --- text: servers that accept less -----------------------------------------------------------


def test_a_server_without_response_format_gets_the_schema_in_the_prompt(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """A 400 that names response_format is remembered; the schema moves into the prompt."""
    good = chat('{"facts": []}')
    server.script(failure(400, "'response_format' is not supported by this model"), good, good)
    reply_of(model, request(schema=SCHEMA))
    reply_of(model, request(schema=SCHEMA))
    first, second, third = server.requests
    assert "response_format" in first.body
    for sent in (second, third):
        assert "response_format" not in sent.body
        assert '"required": ["facts"]' in sent.user


@pytest.mark.parametrize("ignored", ["Ann likes tea.", '{"people": ["Ann"]}', '["Ann"]', "{}"])
def test_a_server_that_ignores_the_schema_is_told_in_the_prompt(
    server: OpenAIServer, model: OpenAICompatibleText, ignored: str
) -> None:
    """A reply of another kind is asked again once with the schema in the prompt, and remembered;
    both tries are counted."""
    server.script(chat(ignored), chat('{"facts": []}'), chat('{"facts": []}'))
    reply = reply_of(model, request(schema=SCHEMA))
    assert (reply.text, reply.prompt_tokens) == ('{"facts": []}', 20)
    reply_of(model, request(schema=SCHEMA))
    told = ["JSON Schema" in sent.user for sent in server.requests]
    assert told == [False, True, True]


def test_a_schema_that_stays_ignored_is_not_asked_forever(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """After one more try the reply is handed on as it is, for the reader to reject."""
    server.otherwise = chat("Ann likes tea.")
    assert reply_of(model, request(schema=SCHEMA)).text == "Ann likes tea."
    assert len(server.requests) == 2


def test_what_a_server_refuses_by_name_is_dropped(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """Temperature, seed and stop words go, and max_tokens is renamed, when the server says so."""
    server.script(
        failure(400, "Unsupported value.", param="temperature"),
        failure(422, "[{'loc': ['body', 'seed'], 'msg': 'extra fields not permitted'}]"),
        failure(400, "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead."),
        failure(400, "'stop' is not supported with this model."),
        chat("Ann.#"),
    )
    assert reply_of(model, request(stop=("#",))).text == "Ann."
    assert set(server.requests[-1].body) == {"model", "messages", "max_completion_tokens"}


def test_a_prompt_too_long_is_no_refusal_of_the_schema(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """A 400 about the context length fails at once and leaves the schema in use."""
    server.script(failure(400, "Maximum context length is 8192 tokens (300 in the schema)."))
    error = error_of(model, request(schema=SCHEMA))
    assert not error.retryable and len(server.requests) == 1
    server.script(chat('{"facts": []}'))
    reply_of(model, request(schema=SCHEMA))
    assert "response_format" in server.requests[-1].body


# --- text: failures ---------------------------------------------------------------------------


def test_retry_after_is_honoured(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """After a 429 the request is made again when the server said, not earlier."""
    server.script(failure(429, "Slow down.", retry_after="7"), chat("Ann."))
    assert reply_of(model, request()).text == "Ann."
    assert time.slept == pytest.approx(7.0)


def test_retry_after_may_be_a_date(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """A Retry-After in the form of a date means the time until then."""
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.script(failure(429, "Slow down.", retry_after=moment), chat("Ann."))
    reply_of(model, request())
    assert 25 < time.slept <= 30


def test_a_long_retry_after_is_reported_instead(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """A pause beyond the limit is not waited for."""
    server.script(failure(429, "Come back tomorrow.", retry_after="86400"))
    error = error_of(model, request())
    assert isinstance(error, RateLimited) and error.retryable
    assert "Come back tomorrow" in str(error)
    assert (time.slept, len(server.requests)) == (0.0, 1)


def test_endless_429_ends(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """A server that always says 429 is asked a bounded number of times."""
    server.otherwise = failure(429, "Slow down.", retry_after="0")
    assert isinstance(error_of(model, request()), RateLimited)
    assert time.slept <= 60 and 3 <= len(server.requests) <= 8


def test_an_empty_account_is_not_retried(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A 429 for want of credit is final."""
    server.script(failure(429, "You exceeded your quota.", code="insufficient_quota"))
    error = error_of(model, request())
    assert isinstance(error, RateLimited) and not error.retryable
    assert len(server.requests) == 1


def test_a_bad_request_fails_at_once(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A 400 is made once, and its message holds status, model and the server's words."""
    server.script(failure(400, "messages: at least one is required"))
    error = error_of(model, request())
    assert not error.retryable and len(server.requests) == 1
    for part in ("400", "small-1", "at least one is required"):
        assert part in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_named_and_not_shown(
    server: OpenAIServer, model: OpenAICompatibleText, status: int
) -> None:
    """An authentication error names OPENAI_API_KEY, and never repeats the key."""
    server.script(failure(status, f"Incorrect API key provided: {KEY}"))
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and not error.retryable
    assert "OPENAI_API_KEY" in str(error) and KEY not in str(error)
    assert len(server.requests) == 1


def test_an_unknown_model_is_named(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A 404 names the model and the base URL."""
    server.script(failure(404, "The model does not exist"))
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and not error.retryable
    assert "'small-1'" in str(error) and server.base_url in str(error)


def test_a_server_error_passes(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """A 500 followed by a reply is a reply, after a short pause."""
    server.script(failure(500, "Oops."), chat("Ann."))
    assert reply_of(model, request()).text == "Ann."
    assert time.slept == pytest.approx(0.5)


def test_server_errors_end_after_three_tries(
    server: OpenAIServer, model: OpenAICompatibleText, time: FakeTime
) -> None:
    """Three 5xx in a row are a ModelUnavailable with the server's words; the pauses double."""
    server.otherwise = failure(503, "Loading model")
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and error.retryable
    assert "503" in str(error) and "Loading model" in str(error)
    assert error.__cause__ is not None
    assert len(server.requests) == 3
    assert time.slept == pytest.approx(1.5)


def test_a_timeout_is_an_error(server: OpenAIServer, time: FakeTime) -> None:
    """A server that stays silent is given up after three tries, never taken for an answer."""
    server.otherwise = chat("late", delay=2.0)
    model = OpenAICompatibleText(
        "m", base_url=server.base_url, api_key=KEY, timeout=0.1, clock=time.clock()
    )
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and "within 0.1 s" in str(error)
    assert len(server.requests) == 3


def test_a_refused_connection_is_an_error(time: FakeTime, server: OpenAIServer) -> None:
    """Nobody listening is a ModelUnavailable that names the URL."""
    with OpenAIServer() as gone:
        url = gone.base_url
    model = OpenAICompatibleText("m", base_url=url, api_key=KEY, clock=time.clock())
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and url in str(error)
    assert time.slept == pytest.approx(1.5)


@pytest.mark.parametrize("empty", ["", "  \n", None])
def test_an_empty_reply_is_asked_again(
    server: OpenAIServer, model: OpenAICompatibleText, empty: str | None
) -> None:
    """One empty reply costs a retry, whose tokens are added, and nothing else."""
    server.script(chat(empty, usage=(10, 1)), chat("Ann.", usage=(10, 3)))
    reply = reply_of(model, request())
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Ann.", 20, 4)


def test_two_empty_replies_are_rejected(server: OpenAIServer, model: OpenAICompatibleText) -> None:
    """A second empty reply ends the request."""
    server.otherwise = Canned(body={"choices": []})
    error = error_of(model, request())
    assert isinstance(error, ReplyRejected) and "empty reply" in str(error)
    assert len(server.requests) == 2


def test_a_reply_spent_on_thinking_is_not_repeated(
    server: OpenAIServer, model: OpenAICompatibleText
) -> None:
    """Empty because max_tokens ran out would repeat itself; the hint says what to do."""
    server.script(chat("", finish="length"))
    error = error_of(model, request())
    assert isinstance(error, ReplyRejected) and "raise max_tokens" in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "stranger",
    [
        Canned(body="<html>Welcome</html>"),
        Canned(body="{not json", headers={"content-type": "application/json"}),
        Canned(body=["a list"]),
    ],
)
def test_a_server_of_another_kind_is_recognised(
    server: OpenAIServer, model: OpenAICompatibleText, stranger: Canned
) -> None:
    """A 200 that is no JSON object says that the base URL may be wrong."""
    server.script(stranger)
    error = error_of(model, request())
    assert isinstance(error, ModelUnavailable) and not error.retryable
    assert "/v1" in error.hint and len(server.requests) == 1


def test_a_url_without_scheme_is_a_config_error() -> None:
    """The base URL is checked before anything is sent."""
    with pytest.raises(ConfigError, match="localhost:8000"):
        OpenAICompatibleText("m", base_url="localhost:8000/v1")


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the openai package the error says what to install."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'rulemem\[openai\]'"):
        OpenAICompatibleText("m", base_url="http://127.0.0.1:1/v1")


# --- embeddings -------------------------------------------------------------------------------


def embed_by_length(received: Received) -> Canned:
    """Three numbers per text, led by its length."""
    return embeddings([[float(len(text)), 1.0, 0.0] for text in received.body["input"]])


@pytest.fixture
def embedder(server: OpenAIServer, time: FakeTime) -> OpenAICompatibleEmbedder:
    server.otherwise = embed_by_length
    found = OpenAICompatibleEmbedder(
        "emb", base_url=server.base_url, api_key=KEY, clock=time.clock()
    )
    server.requests.clear()
    return found


def test_vectors_are_unit_length_and_in_order(
    server: OpenAIServer, embedder: OpenAICompatibleEmbedder
) -> None:
    """130 texts go out in batches of at most 64 and come back as unit rows in their order."""
    texts = ["x" * n for n in range(1, 131)]
    vectors = embedder.embed(texts)
    assert embedder.dimension == 3 and vectors.shape == (130, 3)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], range(1, 131), rtol=1e-5)
    assert sorted(len(sent.body["input"]) for sent in server.requests) == [2, 64, 64]


def test_no_texts_make_no_call(server: OpenAIServer, embedder: OpenAICompatibleEmbedder) -> None:
    """Nothing to embed: an empty array of the right width."""
    assert embedder.embed([]).shape == (0, 3)
    assert server.requests == []


def test_blank_texts_are_sent_as_a_full_stop(
    server: OpenAIServer, embedder: OpenAICompatibleEmbedder
) -> None:
    """Servers refuse empty input, so none is sent."""
    assert embedder.embed(["", " ", "tea"]).shape == (3, 3)
    assert server.requests[0].body["input"] == [".", ".", "tea"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1.0, 0.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0], [0.0, 1.0]], r"\[2\] dimensions instead of 3"),
        ([[1.0, 0.0, 0.0], [1.0, 0.0]], r"\[2, 3\] dimensions instead of 3"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "zero"),
        ([[1.0, 0.0, 0.0], [0.0, float("nan"), 1.0]], "not finite"),
        ([[1.0, 0.0, 0.0], ["a", "b", "c"]], "not numbers"),
    ],
)
def test_unusable_vectors_are_refused(
    server: OpenAIServer,
    embedder: OpenAICompatibleEmbedder,
    rows: list[list[float]],
    said: str,
) -> None:
    """Too few vectors, another dimension or no numbers: an error, never a shifted result."""
    server.script(embeddings(rows))
    with pytest.raises(ModelUnavailable, match=said):
        embedder.embed(["a", "b"])


def test_one_failed_batch_fails_the_whole(
    server: OpenAIServer, embedder: OpenAICompatibleEmbedder
) -> None:
    """There is no partial result."""
    server.script(failure(400, "input too long"))
    with pytest.raises(ModelError, match="input too long"):
        embedder.embed(["x"] * 100)


# --- likelihood -------------------------------------------------------------------------------

ITEMS = [
    Continuation(prefix="Premise: Ann is hurt. Conclusion:", text=" Ann may rest."),
    Continuation(prefix="Conclusion:", text=" It rains"),
]


def expected_nll(text: str) -> float:
    tokens = split_tokens(text)
    return -sum(map(logprob_of, tokens)) / len(tokens)


def scorer_at(server: OpenAIServer, time: FakeTime) -> ServerLikelihood:
    return ServerLikelihood("base-1", base_url=server.base_url, api_key=KEY, clock=time.clock())


def with_start_mark(received: Received) -> Canned:
    """Echo as vLLM does with a model that has a start token: shown, and counted in the offsets."""
    canned = echo_scores(received)
    logprobs = canned.body["choices"][0]["logprobs"]  # type: ignore[index]
    prompt = received.body["prompt"]
    tokens = ["<|begin_of_text|>", *split_tokens(prompt), " and"]
    logprobs["tokens"] = tokens
    logprobs["token_logprobs"] = [None, *map(logprob_of, tokens[1:])]
    logprobs["text_offset"] = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
    return canned


def in_another_alphabet(received: Received) -> Canned:
    """Echo with tokens as the vocabulary writes them, so that only the offsets can be used."""
    canned = echo_scores(received)
    logprobs = canned.body["choices"][0]["logprobs"]  # type: ignore[index]
    logprobs["tokens"] = [token.replace(" ", "Ġ") for token in logprobs["tokens"]]
    return canned


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (vllm_scores, "completions with prompt_logprobs"),
        (echo_scores, "completions with echo and logprobs"),
        (with_start_mark, "completions with echo and logprobs"),
        (in_another_alphabet, "completions with echo and logprobs"),
    ],
)
def test_given_text_is_scored(server: OpenAIServer, time: FakeTime, answer, how: str) -> None:  # type: ignore[no-untyped-def]
    """The mean is over exactly the continuation's tokens, in whatever way the server answers."""
    server.otherwise = answer
    scorer = scorer_at(server, time)
    assert scorer.how == how
    assert scorer.nll(ITEMS) == pytest.approx([expected_nll(item.text) for item in ITEMS])
    assert scorer.nll([]) == []


def test_a_server_that_scores_generated_tokens_only_is_refused(
    server: OpenAIServer, time: FakeTime
) -> None:
    """llama.cpp's server answers with the generated token: refused, naming both tries."""
    server.otherwise = generated_scores
    with pytest.raises(LogprobsUnavailable) as caught:
        scorer_at(server, time)
    for part in ("prompt_logprobs", "echo", "base-1", server.base_url, "embedded"):
        assert part in str(caught.value)


def all_zero(received: Received) -> Canned:
    canned = echo_scores(received)
    logprobs = canned.body["choices"][0]["logprobs"]  # type: ignore[index]
    logprobs["token_logprobs"] = [0.0 for _ in logprobs["tokens"]]
    return canned


def none_known(received: Received) -> Canned:
    canned = echo_scores(received)
    logprobs = canned.body["choices"][0]["logprobs"]  # type: ignore[index]
    logprobs["token_logprobs"] = [None for _ in logprobs["tokens"]]
    return canned


@pytest.mark.parametrize(
    "answer",
    [
        all_zero,
        none_known,
        failure(404, "This is a chat model."),
        failure(400, "Unrecognized request argument"),
        failure(501, "Not implemented"),
        Canned(body={"choices": [{"text": " and", "logprobs": None}]}),
    ],
)
def test_servers_without_prompt_logprobs_are_refused(
    server: OpenAIServer,
    time: FakeTime,
    answer: Canned,
) -> None:
    """Zeros, nulls, chat-only endpoints and refusals all mean: cannot score given text."""
    server.otherwise = answer
    with pytest.raises(LogprobsUnavailable):
        scorer_at(server, time)


def test_the_second_way_is_tried_when_the_first_breaks_the_server(
    server: OpenAIServer, time: FakeTime
) -> None:
    """A 500 on one way does not condemn the other."""
    server.otherwise = lambda received: (
        echo_scores(received) if "echo" in received.body else failure(500, "KeyError")
    )
    assert "echo" in scorer_at(server, time).how


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (failure(401, "Who are you?"), ModelUnavailable),
        (failure(503, "Loading"), ModelUnavailable),
        (failure(429, "Later.", retry_after="900"), RateLimited),
    ],
)
def test_a_server_out_of_reach_is_not_called_unable(
    server: OpenAIServer, time: FakeTime, answer: Canned, kind: type[ModelError]
) -> None:
    """A wrong key, a server that is down and a rate limit say nothing about log-probabilities."""
    server.otherwise = answer
    with pytest.raises(kind):
        scorer_at(server, time)


def test_a_failure_while_scoring_is_raised(server: OpenAIServer, time: FakeTime) -> None:
    """An item that cannot be scored fails the call; no score is made up."""
    server.otherwise = vllm_scores
    scorer = scorer_at(server, time)
    server.script(failure(400, "prompt too long"))
    with pytest.raises(ModelError, match="prompt too long"):
        scorer.nll(ITEMS)


def test_a_token_across_the_boundary_belongs_to_the_prefix(
    server: OpenAIServer, time: FakeTime
) -> None:
    """A token that begins in the prefix is not counted in the continuation."""
    server.otherwise = vllm_scores
    scorer = scorer_at(server, time)
    item = Continuation(prefix="Tea is del", text="icious today")  # tokens: Tea, is, delicious, ...
    assert scorer.nll([item]) == pytest.approx([expected_nll(" today")])


@pytest.mark.parametrize(
    ("tokens", "text", "offsets"),
    [
        (["<s>", "Tea", " is"], "Tea is", [0, 0, 3]),
        (["", " is"], "Tea is", [0, 3]),
        ([" Tea", " is"], "Tea is", [0, 3]),
        (["Tea", "is"], "Tea is", [0, 3]),
        (["I", " ", "\ufffd", "\ufffd", " eat"], "I 食 eat", [0, 1, 2, 2, 3]),
        (["I", " see", " \ufffd", ""], "I see 食", [0, 1, 5, 6]),
        (["Tea"], "Tea is", None),
        (["Tea", " was"], "Tea is", None),
        ([], "Tea", None),
    ],
)
def test_tokens_are_placed_in_the_text(
    tokens: list[str], text: str, offsets: list[int] | None
) -> None:
    """Start marks, hidden first tokens, lost spaces and split characters are placed; strangers
    are not."""
    assert align_tokens(tokens, text) == offsets


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=20))
def test_tokens_that_spell_the_text_are_placed_exactly(tokens: list[str]) -> None:
    """However a text is cut, each token begins where the ones before it end."""
    starts = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
    assert align_tokens(tokens, "".join(tokens)) == starts


@settings(deadline=None)
@given(st.lists(st.sampled_from([" tea", " te", "a", " a", "ab", "."]), min_size=2, max_size=12))
def test_a_hidden_first_token_does_not_move_the_others(tokens: list[str]) -> None:
    """The first token need not be shown for the others to be placed exactly."""
    starts = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
    assert align_tokens(["", *tokens[1:]], "".join(tokens)) == starts


_WORDS = st.lists(
    st.sampled_from(["tea", "I", "東京", "食べる", "😀", "שרה", "Привет", "café", "x", ".", "!!"]),
    min_size=1,
    max_size=6,
).map(" ".join)


@settings(deadline=None)
@given(_WORDS, _WORDS, st.data())
def test_characters_cut_into_bytes_do_not_move_the_boundary(
    prefix: str, words: str, data: st.DataObject
) -> None:
    """However the bytes of both parts are cut into tokens, those of the continuation are found."""
    parts: list[list[str]] = []
    for part in (f"{prefix}:", f" {words}"):
        raw = part.encode()
        widths = st.lists(st.integers(1, 4), min_size=len(raw), max_size=len(raw))
        ends = [0, *itertools.accumulate(data.draw(widths))]
        pieces = [raw[a:b] for a, b in itertools.pairwise(ends) if a < len(raw)]
        parts.append([piece.decode("utf-8", "replace") for piece in pieces])
    offsets = align_tokens([*parts[0], *parts[1]], f"{prefix}: {words}")
    assert offsets is not None
    assert sum(at > len(prefix) for at in offsets) == len(parts[1])
