"""An OpenAI-compatible HTTP endpoint: one request out, one JSON object back, or an error of ours.

The SDK does the transport and nothing else: its own retries are off (they live in `_pool`), and
its typed replies are not used, because servers that call themselves compatible leave out fields
that its types promise. Every failure is translated here, so that callers see `rulemem.errors`
only; the API key never gets into a message.

Knows nothing of what the body means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from rulemem.errors import ConfigError, ModelError, ModelUnavailable, RateLimited
from rulemem.models._pool import Again

if TYPE_CHECKING:
    import openai

_EXCERPT = 300  # characters of the server's own words in a message
_TRANSIENT = (408, 409, 425)  # besides 429 and 5xx


class RequestRefused(ModelError):
    """The server will not serve the request (another 4xx, or 501); making it again is pointless.

    Attributes:
        words: What the server said, in full, in lower case, for whoever can change the request.
    """

    def __init__(self, message: str, *, words: str) -> None:
        super().__init__(message)
        self.words = words.lower()


class Endpoint:
    """One server and one model on it.

    Args:
        model: Name of the model as the server knows it.
        base_url: Root of the API, usually ending in "/v1".
        api_key: Key; empty for servers that ask for none.
        timeout: Seconds for connecting, and for each silence while reading.
    """

    def __init__(self, model: str, *, base_url: str, api_key: str, timeout: float) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(
                f"base_url must begin with http:// or https://, not {base_url!r}.",
                hint="Example: http://127.0.0.1:8000/v1",
            )
        try:
            import openai
        except ImportError as error:
            raise ModelUnavailable(
                f"The model {model!r} at {base_url} needs the openai package.",
                hint="pip install 'rulemem[openai]'",
            ) from error
        self.model = model
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._timeout = timeout
        self._sdk = openai
        # The SDK wants some key; servers without authentication don't look at it.
        self._client = openai.OpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=0
        )

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return the JSON object of the reply.

        Raises:
            Again: A failure that may pass: connection, timeout, 429, 5xx.
            RequestRefused: Another 4xx, or 501.
            ModelUnavailable: Wrong key, no such model or path, or not this protocol.
        """
        try:
            reply = self._client.post(path, body={"model": self.model, **body}, cast_to=object)
        except self._sdk.APITimeoutError as error:
            raise Again(
                ModelUnavailable(
                    f"{self.base_url} gave no answer from {self.model!r} within "
                    f"{self._timeout:g} s.",
                    hint="Raise the timeout or lower the concurrency.",
                )
            ) from error
        except self._sdk.APIConnectionError as error:
            cause = self._redact(str(error.__cause__ or error))
            raise Again(
                ModelUnavailable(
                    f"{self.base_url} cannot be reached: {cause}.",
                    hint="Is the server running, and is the base URL right?",
                )
            ) from error
        except self._sdk.APIStatusError as error:
            raise self._translate(error) from error
        except ValueError as error:  # a body that claims to be JSON
            raise self._stranger(path, str(error)) from error
        if not isinstance(reply, dict):
            raise self._stranger(path, repr(reply))
        return cast("dict[str, Any]", reply)

    def _translate(self, error: openai.APIStatusError) -> Again | ModelError:
        """Turn an HTTP status into what the caller can do about it."""
        status, words = error.status_code, self._redact(_words(error))
        said = f"{self.base_url} answered {status} for {self.model!r}: {_excerpt(words)}"
        if status == 429:
            return self._limited(error, said)
        if (status >= 500 and status != 501) or status in _TRANSIENT:
            return Again(ModelUnavailable(said), pause=_retry_after(error))
        if status in (401, 403):
            return _final(ModelUnavailable(said, hint="Check OPENAI_API_KEY."))
        if status == 404:
            return _final(
                ModelUnavailable(
                    said, hint="Check the model's name, and that the base URL ends as it should."
                )
            )
        return RequestRefused(said, words=words)

    def _limited(self, error: openai.APIStatusError, said: str) -> Again | ModelError:
        if error.code == "insufficient_quota":
            return _final(RateLimited(said, hint="The account has no credit left."))
        hint = "Run again later: finished work is kept. A lower concurrency helps."
        return Again(RateLimited(said, hint=hint), pause=_retry_after(error))

    def _stranger(self, path: str, what: str) -> ModelError:
        return _final(
            ModelUnavailable(
                f"{self.base_url}{path} did not answer with a JSON object: "
                f"{_excerpt(self._redact(what))}",
                hint='Does the base URL lack its "/v1"?',
            )
        )

    def _redact(self, words: str) -> str:
        return words.replace(self._api_key, "***") if self._api_key else words


def read_usage(reply: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens as the server counted them; None where it did not."""
    usage = reply.get("usage")
    if not isinstance(usage, Mapping):
        return None, None

    def count(name: str) -> int | None:
        value = usage.get(name)
        return value if isinstance(value, int) and value > 0 else None

    return count("prompt_tokens"), count("completion_tokens")


def first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of a reply, empty when there is none."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, Mapping) else {}


def status_of(error: ModelError) -> int | None:
    """Return the HTTP status behind an error; None if there was no answer with one."""
    status = getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None


def wire_safe(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot carry, one character by one."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _excerpt(words: str) -> str:
    return words.strip()[:_EXCERPT].rstrip(".") + "."


def _final(error: ModelError) -> ModelError:
    """Mark an error of a kind that often passes as one that will not."""
    error.retryable = False
    return error


def _words(error: openai.APIStatusError) -> str:
    """Return the server's message, whichever of the usual shapes it has."""
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("message"), str):
        param = body.get("param")
        return f"{body['message']} ({param})" if isinstance(param, str) else str(body["message"])
    return str(body or error.message)


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Read how many seconds the server asks us to wait; None: it does not say."""
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return None if math.isnan(seconds) else max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
