"""`rulemem doctor` and `rulemem models`: what they find, and what they advise."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rulemem import Memory
from rulemem.cli.app import app
from rulemem.cli.models import needed_models
from rulemem.config import Settings
from rulemem.errors import ModelUnavailable
from rulemem.models.choose import DEFAULT_SCORER, MINILM, PARSER, Models
from rulemem.models.registry import MODELS
from rulemem.testing import HashEmbedder, ScriptedText, TableLikelihood, stub_models

PREFIX = "The sun rises in the"
SENSIBLE = TableLikelihood({(PREFIX, " east."): 0.5, (PREFIX, " spoon."): 6.0})
UPSIDE_DOWN = TableLikelihood({(PREFIX, " east."): 6.0, (PREFIX, " spoon."): 0.5})


def run(*words: str, models: Models | None = None, code: int | None = None) -> Any:
    """Run one command."""
    result = CliRunner().invoke(app, list(words), obj=models)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert code in (None, result.exit_code), result.output
    return result


def examine(*words: str, models: Models | None = None) -> dict[str, dict[str, str]]:
    """Run the doctor; return its checks by name."""
    checks = json.loads(run("doctor", "--json", *words, models=models).stdout)
    return {check["what"]: check for check in checks}


@contextmanager
def serving(status: int, body: object) -> Iterator[str]:
    """A server on this machine that answers every GET like this; yields its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            kind = "text/html" if isinstance(body, str) else "application/json"
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# --- the machine and the files ---------------------------------------------------------------


def test_missing_models_fail_with_the_command_that_fetches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every model that the settings need is a line, and the exit code is 1."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path / "empty"))
    found = examine()
    for name in (Settings().llm, MINILM, PARSER):
        assert found[f"model {name}"]["state"] == "fail"
        assert found[f"model {name}"]["advice"] == f"rulemem models fetch {name}"
    run("doctor", code=1)
    assert not (tmp_path / "empty").exists()


def test_half_a_model_is_a_missing_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another size does not count."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path))
    (tmp_path / MINILM).mkdir()
    for file in MODELS[MINILM].files:
        (tmp_path / MINILM / file.name).write_bytes(b"half")
    assert examine("--llm", "none")[f"model {MINILM}"]["state"] == "fail"


def test_without_a_language_model_none_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--llm none` needs embedder and parser only, and no runtime for GGUF files."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path))
    found = examine("--llm", "none")
    assert {what for what in found if what.startswith("model ")} == {
        f"model {MINILM}",
        f"model {PARSER}",
    }
    assert found["language model"]["state"] == "ok"
    assert "xllamacpp" not in found


def test_settings_that_cannot_work_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable is one line of the diagnosis, with the nearest name."""
    monkeypatch.setenv("RULEMEM_EMBEDER", "x")
    found = examine()["settings"]
    assert found["state"] == "fail"
    assert "'embedder'" in found["advice"]


# --- the models ------------------------------------------------------------------------------


def test_no_model_is_run_unless_asked_for() -> None:
    """Without `--deep` a language model and a scorer are named, not called."""
    text = ScriptedText([])
    models = stub_models(text=text, likelihood=TableLikelihood({}))
    found = examine(models=models)
    assert "not run" in found["language model"]["found"]
    assert "not run" in found["log-probs of given text"]["found"]
    assert text.requests == []


@pytest.mark.parametrize(
    ("reply", "answers", "schema"),
    [
        ('{"colour": "blue"}', "ok", "ok"),
        ('Sure! {"colour": "blue"}', "ok", "ok"),
        ('{"color": "blue"}', "ok", "warn"),
        ("It is blue.", "ok", "warn"),
        (ModelUnavailable("the server is away", hint="Start it."), "fail", None),
    ],
    ids=["kept", "prose around it", "another key", "no JSON", "no reply"],
)
def test_deep_asks_the_language_model(reply: Any, answers: str, schema: str | None) -> None:
    """It is a failure if the model is silent, a warning if it does not keep to a schema."""
    found = examine("--deep", models=stub_models(text=ScriptedText([reply])))
    assert found["language model"]["state"] == answers
    assert found.get("JSON schema", {}).get("state") == schema


@pytest.mark.parametrize(("scorer", "state"), [(SENSIBLE, "ok"), (UPSIDE_DOWN, "warn")])
def test_deep_asks_the_scorer(scorer: TableLikelihood, state: str) -> None:
    """A scorer that finds nonsense likelier than sense is warned of."""
    models = stub_models(text=ScriptedText(lambda _: "{}"), likelihood=scorer)
    assert examine("--deep", models=models)["log-probs of given text"]["state"] == state


def test_a_language_model_without_a_scorer_is_a_warning() -> None:
    """Its rules stay candidates, and the line says how to change that."""
    found = examine(models=stub_models(text=ScriptedText([])))["log-probs of given text"]
    assert found["state"] == "warn"
    assert "RULEMEM_SCORER" in found["advice"]


@pytest.mark.parametrize(
    ("status", "body", "state", "said"),
    [
        (200, {"data": [{"id": "small"}]}, "ok", "reachable"),
        (200, {"data": []}, "ok", "reachable"),
        (200, {"data": [{"id": "other"}]}, "warn", "does not list 'small'"),
        (200, "<html>Welcome</html>", "warn", "does not speak"),
        (200, {"models": []}, "warn", "does not speak"),
        (401, {"error": {"message": "no"}}, "fail", "key"),
        (403, {"error": {"message": "no"}}, "fail", "key"),
        (404, {"error": {"message": "no"}}, "ok", "no list of models"),
        (503, {"error": {"message": "no"}}, "warn", "503"),
    ],
)
def test_a_server_is_asked_for_its_models(
    monkeypatch: pytest.MonkeyPatch, status: int, body: object, state: str, said: str
) -> None:
    """What the server answers decides; the key is never shown."""
    with serving(status, body) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        result = run("doctor", "--llm", "openai:small", "--json")
    found = {check["what"]: check for check in json.loads(result.stdout)}["server"]
    assert (found["state"], said in found["found"]) == (state, True), found
    assert "sk-secret" not in result.output


def test_a_server_that_is_not_there_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connection refused is said with what to look at."""
    with serving(200, {}) as url:
        pass
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    found = examine("--llm", "openai:small")["server"]
    assert found["state"] == "fail"
    assert "OPENAI_BASE_URL" in found["advice"]


# --- the memory ------------------------------------------------------------------------------


def make_memory(path: str, models: Models | None = None) -> None:
    """Make a memory with one turn."""
    memory = Memory(path, models=models or stub_models())
    memory.add([{"role": "user", "name": "Ann", "content": "I repaired the kettle."}], scope="s")
    memory.close()


def test_a_memory_that_is_not_there_is_not_made() -> None:
    """No file is fine, and stays no file."""
    assert examine(models=stub_models())["memory"]["state"] == "ok"
    assert not Path("rulemem.db").exists()


@pytest.mark.parametrize("words", [[], ["--deep"]])
def test_a_good_memory_is_good(words: Sequence[str]) -> None:
    """It opens, and its vectors are of the embedder."""
    make_memory("rulemem.db")
    found = examine(*words, models=stub_models())
    assert (found["memory"]["state"], found["vectors"]["state"]) == ("ok", "ok")
    assert "1 scope" in found["memory"]["found"]


def test_vectors_of_another_embedder_fail_with_the_repair() -> None:
    """The line names both and the command."""
    make_memory("rulemem.db")
    models = Models(
        embedder=HashEmbedder("hash@2", 32),
        extractor=stub_models().extractor,
        text=None,
        likelihood=None,
    )
    found = examine(models=models)["vectors"]
    assert (found["state"], found["advice"]) == ("fail", "rulemem reembed")
    assert "hash@1" in found["found"]


def test_a_file_that_is_no_memory_fails_and_stays() -> None:
    """A text file by that name is reported, not replaced."""
    Path("rulemem.db").write_text("my diary, which is longer than a header of SQLite" * 40)
    before = Path("rulemem.db").read_bytes()
    assert examine(models=stub_models())["memory"]["state"] == "fail"
    assert Path("rulemem.db").read_bytes() == before


# --- models ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        (Settings(), {DEFAULT_SCORER, MINILM, PARSER}),
        (Settings(llm="none"), {MINILM, PARSER}),
        (Settings(llm="smollm2-135m"), {"smollm2-135m", DEFAULT_SCORER, MINILM, PARSER}),
        (Settings(llm="smollm2-135m", scorer="none"), {"smollm2-135m", MINILM, PARSER}),
        (Settings(llm="openai:x"), {DEFAULT_SCORER, MINILM}),
        (Settings(llm="openai:x", scorer="server:y", embedder="openai:z"), set()),
        (Settings(llm="openai:x", scorer="none", extractor="syntax"), {MINILM, PARSER}),
        (Settings(llm="/models/own.gguf", scorer="gemma-3-270m"), {"gemma-3-270m", MINILM, PARSER}),
    ],
)
def test_what_is_needed_follows_from_the_settings(settings: Settings, needed: set[str]) -> None:
    """Local models that are named, each once; hosted ones and files of one's own are not ours."""
    found = needed_models(settings)
    assert set(found) == needed
    assert len(found) == len(needed)


def test_the_list_says_what_is_needed_and_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every model of the registry is listed, whether it is here or not."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path))
    found = {m["name"]: m for m in json.loads(run("models", "list", "--json").stdout)}
    assert set(found) == set(MODELS)
    assert found[MINILM]["needed"]
    assert found[MINILM]["path"] is None
    assert not found["smollm2-135m"]["needed"]


def test_a_wrong_name_stops_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unknown name among several, and no download begins."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path / "cache"))
    result = run("models", "fetch", MINILM, "smolm2-135m", code=1)
    assert "'smollm2-135m'" in result.stderr
    assert not (tmp_path / "cache").exists()


def test_a_damaged_model_does_not_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right sizes and wrong bytes end with 1; an empty cache has nothing to verify."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path))
    assert "No models" in run("models", "verify", code=0).stdout
    for file in MODELS[PARSER].files:
        path = tmp_path / PARSER / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(file.bytes))
    assert "sha256" in run("models", "verify", code=1).stdout
    assert run("models", "verify", PARSER, code=1).stdout
    assert "not in" in run("models", "verify", MINILM, code=1).stdout


@pytest.mark.embedded
def test_the_real_parser_verifies() -> None:
    """What was fetched has the right hash."""
    assert run("models", "verify", PARSER, code=0).stdout == f"{PARSER}  ok\n"
