"""From settings to models: which adapter stands behind each port.

Nothing is loaded here: adapters load at their first use, and a missing file says how to fetch it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rulemem.bottom_up.facts import Extractor, PromptedExtractor
from rulemem.bottom_up.syntax import SyntacticExtractor
from rulemem.config import Settings
from rulemem.errors import ConfigError, ModelUnavailable
from rulemem.models.cached import CachedTextModel
from rulemem.models.llama_likelihood import LlamaLikelihood
from rulemem.models.llama_text import LlamaText
from rulemem.models.metered import MeteredText
from rulemem.models.minilm import MiniLMEmbedder
from rulemem.models.openai import OpenAICompatibleEmbedder, OpenAICompatibleText
from rulemem.models.registry import locate, resolve_gguf
from rulemem.models.server_likelihood import ServerLikelihood
from rulemem.ports import Embedder, LikelihoodModel, TextModel

DEFAULT_SCORER = "qwen2.5-coder-1.5b"
PARSER = "spacy-en-core-web-sm"
MINILM = "minilm-l6-v2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of one memory; None where there is none."""

    embedder: Embedder
    extractor: Extractor
    text: MeteredText | None
    likelihood: LikelihoodModel | None
    replies: CachedTextModel | None = None  # the reply cache, from which `forget` deletes too
    rest: Callable[[], None] = lambda: None  # free local models; they load again when asked

    # The generator and the scorer are the same file but not the same memory: together they need
    # half as much again as one, so they take turns.


def choose_models(settings: Settings) -> Models:
    """Put adapters behind the ports.

    Raises:
        ConfigError: a name that means no model.
        ModelUnavailable: a local model that is not in the cache.
    """
    text = choose_text(settings)
    replies, metered = None, None
    if text is not None:
        replies = CachedTextModel(text, settings.cache / "replies.db")
        metered = MeteredText(
            replies,
            max_calls=settings.max_calls or None,
            max_tokens=settings.max_tokens or None,
        )
    likelihood = choose_likelihood(settings)

    def rest() -> None:
        for model in (text, likelihood):
            if isinstance(model, LlamaText | LlamaLikelihood):
                model.close()

    return Models(
        embedder=choose_embedder(settings),
        extractor=choose_extractor(settings, metered),
        text=metered,
        likelihood=likelihood,
        replies=replies,
        rest=rest,
    )


def choose_text(settings: Settings) -> TextModel | None:
    """The text model that `llm` names."""
    name = settings.llm
    if name == "none":
        return None
    if name.startswith("openai:"):
        return OpenAICompatibleText(
            name.removeprefix("openai:"),
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key,
        )
    return LlamaText(resolve_gguf(name, settings.cache), name=_short_name(name))


def choose_likelihood(settings: Settings) -> LikelihoodModel | None:
    """The scorer; with no language model there is nothing to score, so "auto" is none then."""
    name = settings.scorer
    if name == "none" or (name == "auto" and settings.llm == "none"):
        return None
    if name.startswith("server:"):
        return ServerLikelihood(
            name.removeprefix("server:"),
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key,
        )
    if name == "auto":
        if locate(DEFAULT_SCORER, settings.cache) is None and settings.llm.startswith("openai:"):
            return None
        name = DEFAULT_SCORER
    return LlamaLikelihood(resolve_gguf(name, settings.cache), name=_short_name(name))


def choose_embedder(settings: Settings) -> Embedder:
    """The embedding model."""
    name = settings.embedder
    if name.startswith("openai:"):
        return OpenAICompatibleEmbedder(
            name.removeprefix("openai:"),
            base_url=settings.openai_base_url,
            api_key=settings.openai_api_key,
        )
    if name != MINILM:
        raise ConfigError(f"Unknown embedder {name!r}.", hint=f"Use {MINILM!r} or 'openai:MODEL'.")
    folder = _located(MINILM, settings)
    return MiniLMEmbedder(folder / "model.safetensors", folder / "tokenizer.json")


def choose_extractor(settings: Settings, text: TextModel | None) -> Extractor:
    """The syntactic extractor for small local models and for none, the prompted one else."""
    hosted = settings.llm.startswith("openai:")
    wanted = settings.extractor
    if wanted == "auto":
        wanted = "llm" if hosted else "syntax"
    if wanted == "syntax":
        return SyntacticExtractor(_located(PARSER, settings))
    if text is None:
        raise ConfigError("extractor 'llm' needs a language model.", hint="Set llm, or use syntax.")
    return PromptedExtractor(text, window=10 if hosted else 3)


def _short_name(name: str) -> str:
    """A model's name beside what it made: the registry's, or the file's without its folder."""
    return Path(name).name.removesuffix(".gguf")


def _located(name: str, settings: Settings) -> Path:
    folder = locate(name, settings.cache)
    if folder is None:
        raise ModelUnavailable(
            f"Model {name!r} is not in {str(settings.cache)!r}.", hint="Run: rulemem models fetch."
        )
    return folder
