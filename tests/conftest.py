"""What holds for every test: a clean environment, a home and a folder of its own, no network.

Tests marked `embedded` need the model files; without them they are skipped, and the last lines of
the run say so and how to fetch them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from hypothesis import settings

from rulemem.cli.models import needed_models
from rulemem.config import Settings
from rulemem.models.registry import locate

KEPT = {"RULEMEM_CACHE_DIR", "RULEMEM_LOCOMO"}
CLEANED = ("RULEMEM_", "OPENAI_", "XDG_")
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
CACHE = Path(os.environ.get("RULEMEM_CACHE_DIR") or platformdirs.user_cache_dir("rulemem"))
MISSING = [name for name in needed_models(Settings()) if locate(name, CACHE) is None]
LOOPBACK = {"127.0.0.1", "::1", "localhost"}

# A machine that is busy is no failure; how long the whole may take is limited elsewhere.
settings.register_profile("rulemem", settings(), deadline=None)
settings.load_profile("rulemem")

_skipped: list[str] = []
_refused: list[str] = []
_watching = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs models that are not here."""
    if MISSING:
        for item in items:
            if item.get_closest_marker("embedded"):
                item.add_marker(pytest.mark.skip(reason=f"models missing: {', '.join(MISSING)}"))
                _skipped.append(item.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say loudly what was not tested."""
    if _skipped:
        terminalreporter.section("MODELS ARE MISSING", red=True, bold=True)
        terminalreporter.write_line(
            f"{len(_skipped)} tests did not run: {', '.join(MISSING)} not in {CACHE}.\n"
            "Fetch them with `make models` or `rulemem models fetch`, then test again."
        )


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings and keys of whoever runs the tests do not reach them, nor does their home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.upper() in PROXIES or (name.startswith(CLEANED) and name not in KEPT):
                patch.delenv(name)
        patch.setenv("RULEMEM_CACHE_DIR", str(CACHE))
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test works in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """No test reaches beyond this machine, not even one that hides the refusal."""
    global _watching
    _watching = True
    _refused.clear()
    yield
    _watching = False
    assert not _refused, f"the network was asked for: {_refused}"


def _watch_sockets(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse every address but those of this machine; called by Python itself."""
    if not _watching or event not in {"socket.connect", "socket.sendto", "socket.getaddrinfo"}:
        return
    target = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
    host = target[0] if isinstance(target, tuple) else target
    host = host.decode() if isinstance(host, bytes) else host
    if event != "socket.getaddrinfo" and not isinstance(target, tuple):
        return  # a path: a socket of this machine
    if host is not None and host not in LOOPBACK:
        _refused.append(f"{event} {target!r}")
        raise PermissionError(f"tests do not use the network: {event} {target!r}")


sys.addaudithook(_watch_sockets)
