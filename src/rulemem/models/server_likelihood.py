"""Likelihood of given text from a server that returns the log-probabilities of its prompt.

Few do. vLLM has `prompt_logprobs`; some completion endpoints (vLLM's and SGLang's among them) echo
the prompt with its log-probabilities. Hosted chat APIs and llama.cpp's own server return those of
generated tokens only, often under the same field names, so nothing is believed before a probe:
the tokens that come back must spell the text that was sent.

Which tokens belong to the continuation: those that begin at or after the end of the prefix. A
token that straddles the boundary begins in the prefix and is not counted; a continuation that
begins with a space, as the port asks, keeps the usual vocabularies from making one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rulemem.errors import LogprobsUnavailable, ModelError, ModelUnavailable
from rulemem.models._endpoint import Endpoint, first_choice, status_of, wire_safe
from rulemem.models._pool import Clock, Pool
from rulemem.ports import Continuation

_PROBE = Continuation(prefix="Water is wet, fire is hot, and snow is", text=" cold and white.")
_LONGEST_TOKEN = 64  # characters; how far a first token that is not shown may reach
_UNREADABLE = "\ufffd"  # what a token that holds part of a character is shown as

Tokens = list[tuple[str, float | None]]
"""Tokens of the prompt as the server shows them, each with its log-probability in nats."""


class ServerLikelihood:
    """A model that scores given text, behind an OpenAI-compatible completions endpoint.

    The server is asked once per item: servers keep the prefix in their own cache.

    Args:
        model: Name of the model as the server knows it.
        base_url: Root of the API, usually ending in "/v1".
        api_key: Key; empty for servers that ask for none.
        timeout: Seconds for connecting, and for each silence while reading.
        max_concurrency: Requests under way at once, over all threads that use this object.

    Attributes:
        how: The way of asking that this server answers, for `rulemem doctor`.

    Raises:
        LogprobsUnavailable: No way works; the message names each and what came of it.
        ModelUnavailable: The server cannot be reached, or refuses the key.

    Source: RuleMem, Rule Validation via RPC: l_M is the conditional negative log-likelihood under
    a separate open model. Assumption: mean nats per token.
    """

    how: str

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
        self.name = f"server:{model}"
        self._endpoint = Endpoint(model, base_url=base_url, api_key=api_key, timeout=timeout)
        self._pool = Pool(concurrency=max_concurrency, clock=clock)
        self.how, self._score = self._probe()

    def nll(self, items: Sequence[Continuation]) -> list[float]:
        """Return the mean negative log-likelihood of each continuation, in nats per token.

        Raises:
            ModelError: The first item that could not be scored; there is no partial result.
        """
        scores: list[float] = []
        for outcome in self._pool.run([partial(self._score, item) for item in items]):
            if isinstance(outcome, ModelError):
                raise outcome
            scores.append(outcome)
        return scores

    def _probe(self) -> tuple[str, Callable[[Continuation], float]]:
        """Find the way of asking that brings back log-probabilities of the given text."""
        ways: dict[str, Callable[[Continuation], float]] = {
            "completions with prompt_logprobs": self._by_prompt_logprobs,
            "completions with echo and logprobs": self._by_echo,
        }
        failures: dict[str, ModelError] = {}
        for how, score in ways.items():
            (outcome,) = self._pool.run([partial(score, _PROBE)])
            if not isinstance(outcome, ModelError):
                if outcome > 0:
                    return how, score
                outcome = LogprobsUnavailable("Every log-probability is zero.")
            if _is_about_the_server(outcome):
                raise outcome
            failures[how] = outcome
        if all(isinstance(e, ModelUnavailable) and status_of(e) != 404 for e in failures.values()):
            raise next(iter(failures.values()))  # the server is ill: this says nothing about it
        tried = " ".join(f"({n}) {how}: {why}" for n, (how, why) in enumerate(failures.items(), 1))
        raise LogprobsUnavailable(
            f"{self._endpoint.base_url} does not return log-probabilities of given text for "
            f"{self._endpoint.model!r}. Tried {tried}",
            hint="Use vLLM, or the embedded likelihood model, whatever model writes the text.",
        )

    def _by_prompt_logprobs(self, item: Continuation) -> float:
        """Ask in vLLM's way. Each position maps token ids to entries: the token that is there,
        and the likeliest one if that is another; the one that is there never has the better rank.
        """
        prompt = wire_safe(item.prefix + item.text)
        choice = self._ask(prompt, {"prompt_logprobs": 1})
        positions = choice.get("prompt_logprobs")
        tokens: Tokens = []
        for position in positions if isinstance(positions, list) else []:
            entries = list(position.values()) if isinstance(position, Mapping) else []
            entries = [entry for entry in entries if isinstance(entry, Mapping)]
            if not entries:  # the first token, which nothing predicts
                tokens.append(("", None))
                continue
            actual = max(entries, key=lambda entry: _number(entry.get("rank")) or 0.0)
            tokens.append((str(actual.get("decoded_token")), _number(actual.get("logprob"))))
        return self._mean(item, tokens, align_tokens([token for token, _ in tokens], prompt))

    def _by_echo(self, item: Continuation) -> float:
        """Ask for the prompt to be echoed; the last token may be a generated one."""
        prompt = wire_safe(item.prefix + item.text)
        choice = self._ask(prompt, {"echo": True, "logprobs": 1})
        found = choice.get("logprobs")
        found = found if isinstance(found, Mapping) else {}
        names, values = found.get("tokens"), found.get("token_logprobs")
        if not isinstance(names, list) or not isinstance(values, list):
            return self._mean(item, [], None)
        tokens: Tokens = [(str(n), _number(v)) for n, v in zip(names, values, strict=False)]
        shown = [token for token, _ in tokens]
        offsets = align_tokens(shown[:-1], prompt) or align_tokens(shown, prompt)
        if offsets is None and str(choice.get("text", "")).startswith(prompt):
            offsets = _stated_offsets(found.get("text_offset"), prompt, len(tokens))
        return self._mean(item, tokens, offsets)

    def _ask(self, prompt: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, **fields}
        return first_choice(self._endpoint.post("/completions", body))

    def _mean(self, item: Continuation, tokens: Tokens, offsets: list[int] | None) -> float:
        """Average over the tokens that begin in the continuation."""
        if offsets is None:
            raise LogprobsUnavailable(
                f"{len(tokens)} log-probabilities came back, and not for the tokens of the text."
            )
        begin = len(item.prefix)
        counted = [value for (_, value), at in zip(tokens, offsets, strict=False) if at >= begin]
        known = [value for value in counted if value is not None and math.isfinite(value)]
        if not counted or len(known) < len(counted):
            raise LogprobsUnavailable(
                f"{len(known)} of {len(counted)} tokens of {item.text!r} have a log-probability."
            )
        return max(0.0, -sum(known) / len(known))


def align_tokens(tokens: Sequence[str], text: str) -> list[int] | None:
    """Return where each token begins in the text; None unless the tokens spell all of it.

    The first token may be a start mark that is not in the text, or empty: not shown. Tokens that
    hold parts of characters begin as early as the readable ones around them allow.

    >>> align_tokens(["<s>", "Tea", " is", " hot"], "Tea is hot")
    [0, 0, 3, 6]
    >>> align_tokens(["", " is", " hot"], "Tea is hot")
    [0, 3, 6]
    >>> align_tokens([" cold"], "Tea is hot") is None
    True
    """
    if not tokens:
        return None
    return _align(tokens, text, _ends) or _align(tokens, text, _loose_ends)


def _align(
    tokens: Sequence[str], text: str, ends: Callable[[str, str, int], set[int]]
) -> list[int] | None:
    """Follow every way to lay the tokens along the text, and return the one that fills it."""
    starts: list[dict[int, int]] = []  # for each token, its earliest start by its end
    reached = {0}
    for number, token in enumerate(tokens):
        layer: dict[int, int] = {}
        for start in sorted(reached):
            found = ends(token, text, start)
            if number == 0:
                found |= {0} if token else set(range(min(len(text), _LONGEST_TOKEN) + 1))
            for end in found:
                layer.setdefault(end, start)
        starts.append(layer)
        reached = set(layer)
    at, offsets = len(text), list[int]()
    for layer in reversed(starts):
        if at not in layer:
            return None
        at = layer[at]
        offsets.append(at)
    return offsets[::-1]


def _ends(token: str, text: str, start: int) -> set[int]:
    """Return where a token that begins at `start` may end: nowhere, unless it is found there."""
    ends = {start}
    for piece in re.split(f"({_UNREADABLE}+)", token or _UNREADABLE):
        if piece.startswith(_UNREADABLE):  # up to so many characters, none of them ASCII
            ends = {
                end + width
                for end in ends
                for width in range(len(piece) + 1)
                if end + width <= len(text) and not re.search(r"[\0-\x7f]", text[end : end + width])
            }
        else:
            ends = {end + len(piece) for end in ends if text.startswith(piece, end)}
    return ends


def _loose_ends(token: str, text: str, start: int) -> set[int]:
    """As `_ends`, for servers that strip the space before a token or add one at the beginning."""
    ends = _ends(token, text, start) | _ends(f" {token}", text, start)
    return ends | _ends(token.removeprefix(" "), text, start) if start == 0 else ends


def _stated_offsets(offsets: object, prompt: str, count: int) -> list[int] | None:
    """Take the server's own offsets when its tokens are written in another alphabet.

    Tokens that begin behind the prompt are generated ones and are left out.
    """
    if not isinstance(offsets, list) or len(offsets) != count:
        return None
    stated = [at for at in offsets if isinstance(at, int)]
    if len(stated) < count or stated != sorted(stated) or stated[:1] != [0]:
        return None
    inside = [at for at in stated if at < len(prompt)]
    return inside if len(inside) > 1 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _is_about_the_server(error: ModelError) -> bool:
    """Say whether an error would be the same in whatever way one asks."""
    status = status_of(error)
    unreached = isinstance(error, ModelUnavailable) and status is None
    return unreached or status in (401, 403, 429)
