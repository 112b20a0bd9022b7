"""What the models can do here: each finding a `Check`, one line of `rulemem doctor`.

A server is asked for its list of models, and a scorer on a server for the likelihood of one short
sentence; a local model is run only when `deep` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rulemem.cli.session import Session
from rulemem.config import Settings
from rulemem.errors import ModelError, RuleMemError

if TYPE_CHECKING:
    from rulemem.ports import Embedder, LikelihoodModel, TextModel

State = Literal["ok", "warn", "fail"]

_SCORES = "log-probs of given text"
_OTHER_MODEL = "Bad replies are dropped and counted; another model loses fewer."
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
    "required": ["colour"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of the diagnosis."""

    what: str
    state: State
    found: str
    advice: str = ""  # what to do; "" when there is nothing to do


def failed(what: str, error: RuleMemError) -> Check:
    """An error of ours as a check that failed."""
    return Check(what=what, state="fail", found=error.message, advice=error.hint)


def check_text(session: Session, settings: Settings, deep: bool) -> Iterator[Check]:
    """Whether the language model is there; with `deep`, whether it answers and keeps to a schema.

    The schema is tested on the bare adapter, so that a cached reply cannot hide the model.
    """
    from rulemem.models.choose import choose_text

    if session.models is None and settings.llm.startswith("openai:"):
        yield from _check_server(settings)
    try:
        text = session.models.text if session.models else choose_text(settings)
    except RuleMemError as error:
        yield failed("language model", error)
        return
    if text is None:
        found = "none: facts, search and extracts work; rules come from packs"
        yield Check(what="language model", state="ok", found=found)
    elif not deep:
        yield Check(what="language model", state="ok", found=f"{text.name}, not run (see --deep)")
    else:
        yield from _probe_text(text)


def _probe_text(text: TextModel) -> Iterator[Check]:
    from rulemem.ports import TextRequest
    from rulemem.prompts.json_reply import parse_json

    request = TextRequest(
        stage="doctor",
        prompt="doctor@1",
        system="You answer questions.",
        user="What colour is a clear sky?",
        schema=_SCHEMA,
        max_tokens=200,
    )
    try:
        (reply,) = text.complete([request])
    except ModelError as error:
        reply = error
    if isinstance(reply, ModelError):
        yield failed("language model", reply)
        return
    found = f"{text.name} answers in {reply.seconds:.1f} s"
    yield Check(what="language model", state="ok", found=found)
    try:
        data = parse_json(reply.text)
    except ModelError as error:
        yield Check(what="JSON schema", state="warn", found=error.message, advice=_OTHER_MODEL)
        return
    if isinstance(data, dict) and data.get("colour") in {"blue", "green"}:
        yield Check(what="JSON schema", state="ok", found="respected")
    else:
        found = f"not respected: {reply.text[:60]!r}"
        yield Check(what="JSON schema", state="warn", found=found, advice=_OTHER_MODEL)


def _check_server(settings: Settings) -> Iterator[Check]:
    """Whether the server can be reached, takes the key and has the model."""
    try:
        import openai
    except ImportError:
        return  # said already, with the package
    url, model = settings.openai_base_url, settings.llm.removeprefix("openai:")
    client = openai.OpenAI(
        base_url=url, api_key=settings.openai_api_key or "none", timeout=10.0, max_retries=0
    )
    try:
        reply = client.get("/models", cast_to=object)
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        advice = "Set OPENAI_API_KEY to a key of this server."
        yield Check(what="server", state="fail", found="the key is refused", advice=advice)
    except openai.APIStatusError as error:
        state: State = "warn" if error.status_code >= 500 else "ok"
        found = f"reachable; it has no list of models (status {error.status_code})"
        yield Check(what="server", state=state, found=found)
    except openai.APIConnectionError as error:
        advice = "Is it running, and is OPENAI_BASE_URL right?"
        found = f"not reachable: {error.__cause__ or error}"
        yield Check(what="server", state="fail", found=found, advice=advice)
    except ValueError:  # a body that claims to be JSON
        yield _stranger(url)
    else:
        names = _names(reply)
        if names is None:
            yield _stranger(url)
        elif not names or model in names:
            yield Check(what="server", state="ok", found="reachable")
        else:
            found = f"reachable; it does not list {model!r}"
            advice = f"It has: {', '.join(names[:8])}"
            yield Check(what="server", state="warn", found=found, advice=advice)
    finally:
        client.close()


def _names(reply: object) -> list[str] | None:
    """The models that a server lists; None if this is no such list."""
    entries = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(entries, list):
        return None
    return [str(entry.get("id")) for entry in entries if isinstance(entry, dict)]


def _stranger(url: str) -> Check:
    found = f"{url} does not speak the OpenAI protocol"
    advice = 'Does OPENAI_BASE_URL lack its "/v1"?'
    return Check(what="server", state="warn", found=found, advice=advice)


def check_scorer(session: Session, settings: Settings, deep: bool) -> Iterator[Check]:
    """Whether given text can be scored; with `deep`, whether the scores make sense."""
    from rulemem.models.choose import choose_likelihood

    try:
        scorer = session.models.likelihood if session.models else choose_likelihood(settings)
    except RuleMemError as error:
        yield failed(_SCORES, error)
        return
    if scorer is None and settings.llm == "none":
        yield Check(what=_SCORES, state="ok", found="not needed without a language model")
    elif scorer is None:
        advice = "rulemem models fetch, or RULEMEM_SCORER=server:MODEL"
        yield Check(what=_SCORES, state="warn", found="none: rules stay candidates", advice=advice)
    elif not deep:
        how = getattr(scorer, "how", "not run (see --deep)")
        yield Check(what=_SCORES, state="ok", found=f"{scorer.name}, {how}")
    else:
        yield _probe_scorer(scorer)


def _probe_scorer(scorer: LikelihoodModel) -> Check:
    from rulemem.ports import Continuation

    prefix = "The sun rises in the"
    try:
        likely, unlikely = scorer.nll(
            [
                Continuation(prefix=prefix, text=" east."),
                Continuation(prefix=prefix, text=" spoon."),
            ]
        )
    except ModelError as error:
        return failed(_SCORES, error)
    found = f"{scorer.name}: {likely:.2f} and {unlikely:.2f} nats per token"
    if likely < unlikely:
        return Check(what=_SCORES, state="ok", found=found)
    advice = "A likely sentence should score lower: use another scorer."
    return Check(what=_SCORES, state="warn", found=found, advice=advice)


def check_embedder(session: Session, settings: Settings) -> tuple[Embedder | None, Check]:
    """The embedder, if there is one, and its dimension."""
    from rulemem.models.choose import choose_embedder

    try:
        embedder = session.models.embedder if session.models else choose_embedder(settings)
        dimension = embedder.dimension
    except RuleMemError as error:
        return None, failed("embedder", error)
    found = f"{embedder.name}, {dimension} dimensions"
    return embedder, Check(what="embedder", state="ok", found=found)
