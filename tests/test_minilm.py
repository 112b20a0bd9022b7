"""The MiniLM embedder against the equations of BERT written out in float64.

Most tests run on a network with random weights and a made-up vocabulary, so they need no model
file; those marked `embedded` use the real one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from rulemem.errors import ModelUnavailable
from rulemem.models.minilm import MiniLMEmbedder, _batches, _double_gelu
from rulemem.models.registry import locate

Doubles = NDArray[np.float64]

WORDS = [
    "the",
    "a",
    "dog",
    "cat",
    "ran",
    "sat",
    "slept",
    "in",
    "on",
    "under",
    "garden",
    "house",
    "rain",
    "sun",
    "blue",
    "old",
    "two",
    "very",
    ".",
]
TEXTS = [
    "the dog ran in the garden .",
    "rain",
    "",
    "a very old cat slept under the blue house .",
    "two dog sat on the sun",
    "the dog ran in the rain .",
    "cat " * 20,
    "unheard of words",
]


# --- the reference: one text, one head, one equation at a time ------------------------------------


def reference(w: dict[str, Doubles], ids: Sequence[int]) -> Doubles:
    """Mean-pooled, normalised output of BERT for one text, in float64."""
    n = len(ids)
    x = w["embeddings.word_embeddings.weight"][list(ids)]
    x = x + w["embeddings.position_embeddings.weight"][:n]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(w, "embeddings.LayerNorm", x)
    for layer in range(6):
        p = f"encoder.layer.{layer}"
        q, k, v = (linear(w, f"{p}.attention.self.{name}", x) for name in ("query", "key", "value"))
        heads = []
        for head in range(12):
            s = slice(32 * head, 32 * head + 32)
            a = np.exp(q[:, s] @ k[:, s].T / math.sqrt(32))
            heads.append(a / a.sum(axis=1, keepdims=True) @ v[:, s])
        attended = linear(w, f"{p}.attention.output.dense", np.hstack(heads))
        x = layer_norm(w, f"{p}.attention.output.LayerNorm", x + attended)
        wide = linear(w, f"{p}.intermediate.dense", x)
        gelu = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = layer_norm(w, f"{p}.output.LayerNorm", x + linear(w, f"{p}.output.dense", gelu))
    mean = x.mean(axis=0)
    return mean / np.sqrt((mean**2).sum())


def linear(w: dict[str, Doubles], name: str, x: Doubles) -> Doubles:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(w: dict[str, Doubles], name: str, x: Doubles) -> Doubles:
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]


# --- a network of the right shape with random weights ---------------------------------------------


def random_tensors(vocabulary: int) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(7)

    def normal(*shape: int, scale: float = 0.08) -> NDArray[np.float32]:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    def norm(name: str) -> dict[str, NDArray[np.float32]]:
        return {f"{name}.weight": 1 + normal(384), f"{name}.bias": normal(384)}

    def dense(name: str, outputs: int, inputs: int) -> dict[str, NDArray[np.float32]]:
        return {f"{name}.weight": normal(outputs, inputs), f"{name}.bias": normal(outputs)}

    tensors = {
        "embeddings.word_embeddings.weight": normal(vocabulary, 384),
        "embeddings.position_embeddings.weight": normal(512, 384, scale=0.02),
        "embeddings.token_type_embeddings.weight": normal(2, 384, scale=0.02),
        **norm("embeddings.LayerNorm"),
    }
    for layer in range(6):
        p = f"encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            tensors |= dense(f"{p}.attention.self.{name}", 384, 384)
        tensors |= dense(f"{p}.attention.output.dense", 384, 384)
        tensors |= norm(f"{p}.attention.output.LayerNorm")
        tensors |= dense(f"{p}.intermediate.dense", 1536, 384)
        tensors |= dense(f"{p}.output.dense", 384, 1536)
        tensors |= norm(f"{p}.output.LayerNorm")
    return tensors


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Weights and a word-level tokenizer, with the misleading settings of the published one."""
    folder = tmp_path_factory.mktemp("minilm")
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(random_tensors(len(vocabulary)), folder / "model.safetensors")
    return folder / "model.safetensors", folder / "tokenizer.json"


@pytest.fixture(scope="module")
def embedder(files: tuple[Path, Path]) -> MiniLMEmbedder:
    return MiniLMEmbedder(*files)


def expected_vectors(files: tuple[Path, Path], texts: Sequence[str]) -> Doubles:
    tensors = {name: tensor.astype(np.float64) for name, tensor in load_file(files[0]).items()}
    tokenizer = Tokenizer.from_file(str(files[1]))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return np.array([reference(tensors, tokenizer.encode(text).ids) for text in texts])


def test_vectors_follow_the_equations(files: tuple[Path, Path], embedder: MiniLMEmbedder) -> None:
    """Every vector equals the float64 reference up to float32 rounding, in the given order."""
    expected = expected_vectors(files, TEXTS)
    cosines = (embedder.embed(TEXTS) * expected).sum(axis=1)
    assert cosines.min() > 0.999999
    spread = (expected @ expected.T)[np.triu_indices(len(TEXTS), 1)]
    assert spread.min() < 0.99  # the random network tells texts apart, so the line above can fail


def test_text_is_cut_after_256_tokens(embedder: MiniLMEmbedder) -> None:
    """254 words between the two marks count, no more and no fewer, whatever the file says."""
    words = [WORDS[n % 7] for n in range(400)]
    long, cut, short = embedder.embed([" ".join(words[:n]) for n in (400, 254, 253)])
    np.testing.assert_allclose(long, cut, atol=1e-6)
    assert np.abs(long - short).max() > 1e-4


def test_no_texts_give_no_vectors(embedder: MiniLMEmbedder) -> None:
    """An empty list gives an empty matrix of the right width."""
    vectors = embedder.embed([])
    assert vectors.shape == (0, 384)
    assert vectors.dtype == np.float32


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(st.characters(codec=None), max_size=40), min_size=1, max_size=6))
def test_any_text_has_a_unit_vector(embedder: MiniLMEmbedder, texts: list[str]) -> None:
    """Empty, NUL, lone surrogates, any script: a finite vector of length 1 for each."""
    vectors = embedder.embed([*texts, "", " ", "\x00", "\ud800"])
    assert vectors.shape == (len(texts) + 4, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(TEXTS))), st.integers(1, len(TEXTS)))
def test_a_vector_does_not_depend_on_its_company(
    embedder: MiniLMEmbedder, order: list[int], count: int
) -> None:
    """Shuffling, repeating and leaving out other texts changes no vector."""
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    chosen = order[:count] + order[:1]
    together = embedder.embed([TEXTS[index] for index in chosen])
    np.testing.assert_allclose(together, alone[chosen], atol=2e-6)


def test_threads_get_the_same_vectors(files: tuple[Path, Path]) -> None:
    """Four threads that race for the first call all get what one thread gets."""
    fresh = MiniLMEmbedder(*files)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: fresh.embed(TEXTS), range(4)))
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], atol=2e-6)


@given(st.lists(st.integers(2, 256), max_size=200))
def test_batches_hold_each_text_once(lengths: list[int]) -> None:
    """Batches cover all indices once, shortest first, within 64 texts and 1024 tokens."""
    batches = list(_batches(lengths))
    flat = [index for batch in batches for index in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[index] for index in flat] == sorted(lengths)
    assert all(0 < len(batch) <= 64 for batch in batches)
    assert all(sum(lengths[index] for index in batch) <= 1024 for batch in batches)


def test_gelu_agrees_with_the_error_function() -> None:
    """x (1 + erf(x / sqrt 2)) is right to 3e-7 of x over the range where erf varies and beyond."""
    x = np.concatenate([np.linspace(-8, 8, 40_001), [-1e4, -50, 0, 50, 1e4]]).astype(np.float32)
    doubled = x.reshape(2, -1).copy()
    _double_gelu(doubled)
    expected = np.array([v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(np.float64)])
    assert np.abs(doubled.ravel() - expected).max() <= 3e-7 * 1e4
    small = np.abs(x) <= 8
    assert (np.abs(doubled.ravel() - expected)[small] <= 3e-7 * np.abs(x[small])).all()


def test_missing_file_says_how_to_get_it(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """Nothing is read before the first call; then the error names file and command."""
    lazy = MiniLMEmbedder(tmp_path / "model.safetensors", files[1])
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors.*rulemem models fetch"):
        lazy.embed(["rain"])
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json.*rulemem models fetch"):
        MiniLMEmbedder(files[0], tmp_path / "tokenizer.json").embed(["rain"])


def test_another_file_is_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    """Bytes that are no safetensors, a model without the layers, a broken tokenizer: refused."""
    broken = tmp_path / "broken"
    broken.write_bytes(b"{ not a tensor file")
    with pytest.raises(ModelUnavailable, match="broken"):
        MiniLMEmbedder(broken, files[1]).embed(["rain"])
    with pytest.raises(ModelUnavailable, match="broken"):
        MiniLMEmbedder(files[0], broken).embed(["rain"])
    other = tmp_path / "other.safetensors"
    save_file({"lm_head.weight": np.zeros((2, 2), np.float32)}, other)
    with pytest.raises(ModelUnavailable, match="word_embeddings"):
        MiniLMEmbedder(other, files[1]).embed(["rain"])
    not_a_tokenizer = tmp_path / "valid.json"
    not_a_tokenizer.write_text('{"version": "1.0"}')
    with pytest.raises(ModelUnavailable, match=r"valid\.json"):
        MiniLMEmbedder(files[0], not_a_tokenizer).embed(["rain"])


# --- the real model -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_files() -> tuple[Path, Path]:
    default = platformdirs.user_cache_dir("rulemem")
    cache = Path(os.environ.get("RULEMEM_CACHE_DIR", default))
    folder = locate("minilm-l6-v2", cache)
    if folder is None:
        pytest.skip(f"NO MODEL in {cache}: run `rulemem models fetch minilm-l6-v2` and test again")
    return folder / "model.safetensors", folder / "tokenizer.json"


@pytest.mark.embedded
def test_real_model_gives_the_published_cosines(real_files: tuple[Path, Path]) -> None:
    """Three sentences have the similarities that sentence-transformers documents for this model."""
    vectors = MiniLMEmbedder(*real_files).embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    similarities = vectors @ vectors.T
    assert similarities[0, 1] == pytest.approx(0.6660, abs=1e-4)
    assert similarities[0, 2] == pytest.approx(0.1046, abs=1e-4)
    assert similarities[1, 2] == pytest.approx(0.1411, abs=1e-4)


@pytest.mark.embedded
def test_real_model_follows_the_equations(real_files: tuple[Path, Path]) -> None:
    """With the real weights, too, every vector equals the float64 reference."""
    texts = [
        "",
        "Why did Ann leave the workshop early?",
        "Bo, 我们星期五见 🙂",
        "She sold two bowls at the market, then bought clay for the next ones.",
        "long " * 300,
    ]
    cosines = (MiniLMEmbedder(*real_files).embed(texts) * expected_vectors(real_files, texts)).sum(
        axis=1
    )
    assert cosines.min() > 0.999999
