"""The command line: what each command prints, how it ends, and what it leaves behind.

Most tests run the program in process on test doubles and a real store; some run it as a process
of its own.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rulemem import Memory
from rulemem.bottom_up.facts import Extraction
from rulemem.cli.app import app
from rulemem.cli.program import move_to_front
from rulemem.cli.screen import printable
from rulemem.errors import BudgetExceeded
from rulemem.models.cached import CachedTextModel
from rulemem.models.choose import Models
from rulemem.ports import TextRequest
from rulemem.testing import HashEmbedder, ListExtractor, ScriptedText, stub_models
from rulemem.types import Turn

EXAMPLES = Path(__file__).parents[1] / "examples"
FACTS = {
    "I moved to Oslo on 3 May 2023.": [("Ann", "moved to", "Oslo")],
    "My brother keeps bees.": [("Bob's brother", "keeps", "bees")],
    "I repaired the blue kettle.": [("Ann", "repaired", "the blue kettle")],
}
CHAT = [
    {"role": "user", "name": "Ann", "content": "I moved to Oslo on 3 May 2023."},
    {"role": "user", "name": "Bob", "content": "My brother keeps bees."},
    {"role": "user", "name": "Ann", "content": "I repaired the blue kettle."},
]
PACK = {
    "name": "small",
    "version": 1,
    "rules": [
        {"body": ["[Person] is hurt in [Sport]"], "head": "[Person] may rest from [Sport]"},
        {"body": ["[Person] buys [Boat]"], "head": "[Person] may learn to sail [Boat]"},
    ],
}
JSON_COMMANDS: dict[str, list[str]] = {
    "add": ["add", "chat.json"],
    "resume": ["resume"],
    "retry": ["retry", "--failed"],
    "learn": ["learn"],
    "search": ["search", "Oslo"],
    "ask": ["ask", "When did Ann move to Oslo?"],
    "explain": ["explain", "a1"],
    "forget": ["forget", "--turn", "t1", "--yes"],
    "facts": ["facts", "--entity", "Ann"],
    "turns": ["turns"],
    "history": ["history", "Ann"],
    "status": ["status"],
    "stats": ["stats"],
    "config": ["config"],
    "doctor": ["doctor"],
    "reembed": ["reembed"],
    "rules": ["rules", "--all"],
    "rules approve": ["rules", "approve", "r1"],
    "rules disable": ["rules", "disable", "r1"],
    "rules import": ["rules", "import", "pack.json"],
    "rules export": ["rules", "export", "out.json"],
    "models list": ["models", "list"],
    "models verify": ["models", "verify", "spacy-en-core-web-sm"],
}
ELSEWHERE = {"demo", "models fetch", "bench"}  # tested below, in test_registry, by their owner


class Cli:
    """The program with one memory file in the test's folder, on doubles."""

    def __init__(self, models: Models | None = None) -> None:
        self.models = models or stub_models(facts=FACTS)

    def run(self, *words: str, code: int | None = 0, stdin: str | None = None) -> Any:
        """Run one command; `code` is the exit code that is expected, None: any."""
        result = CliRunner().invoke(app, list(words), obj=self.models, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert code in (None, result.exit_code), result.output
        return result

    def data(self, *words: str, code: int | None = 0) -> Any:
        """Run a command with `--json` and return its document."""
        return json.loads(self.run(*words, "--json", code=code).stdout)


@pytest.fixture
def cli() -> Cli:
    """The program in a folder with a chat and a rule pack."""
    Path("chat.json").write_text(json.dumps(CHAT), encoding="utf-8")
    Path("pack.json").write_text(json.dumps(PACK), encoding="utf-8")
    return Cli()


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """The program with the chat and the pack in its memory, and an answer a1."""
    cli.run("add", "chat.json")
    cli.run("rules", "import", "pack.json")
    cli.run("ask", "When did Ann move to Oslo?")
    return cli


def run_process(
    *words: str, code: str = "", **environment: str
) -> subprocess.CompletedProcess[Any]:
    """Run the program, or some code, in a process of its own."""
    what = ["-c", code] if code else ["-m", "rulemem", *words]
    return subprocess.run(
        [sys.executable, *what],
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )


# --- options ---------------------------------------------------------------------------------


def test_options_of_the_program_stand_before_or_after_the_command(filled: Cli) -> None:
    """`rulemem --json turns` and `rulemem turns --json` say the same."""
    assert filled.run("--json", "turns").stdout == filled.run("turns", "--json").stdout
    assert filled.run("rules", "--json").stdout == filled.run("--json", "rules").stdout
    after = filled.data("turns", "--scope=other")
    assert after == filled.data("--scope", "other", "turns") == []


@given(
    words=st.lists(st.sampled_from(["ask", "Who?", "-", "--limit", "3", "--yes"]), max_size=5),
    cut=st.integers(0, 5),
)
def test_moving_options_changes_nothing_else(words: list[str], cut: int) -> None:
    """Wherever an option stands, the other words keep their order."""
    mixed = [*words[:cut], "--db", "x.db", *words[cut:], "--json"]
    assert move_to_front(mixed) == ["--db", "x.db", "--json", *words]


def test_what_follows_two_dashes_is_text(filled: Cli) -> None:
    """A query may look like an option."""
    assert move_to_front(["search", "--", "--json"]) == ["search", "--", "--json"]
    assert "Nothing found" in filled.run("search", "--", "--json").stdout


@pytest.mark.parametrize("words", [["--db"], ["--db", "--json", "turns"], ["turns", "--scope="]])
def test_an_option_without_its_value_is_a_usage_error(cli: Cli, words: list[str]) -> None:
    """The value is never taken from the next option."""
    assert "needs a value" in cli.run(*words, code=2).stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["statis"], "status"),
        (["search", "x", "--limt", "3"], "--limit"),
        (["ask", "x", "--scop", "me"], "--scope"),
        (["models", "fetch", "minilm-l6"], "minilm-l6-v2"),
        (["add", "chat.json", "--conversation", "x", "--jsn"], "--json"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(
    cli: Cli, words: list[str], near: str
) -> None:
    """Unknown commands, options and models are errors that name what was probably meant."""
    assert near in cli.run(*words, code=None).stderr


def test_a_misspelt_variable_is_answered_with_the_nearest(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RULEMEM_SCOP is an error before anything is read or written."""
    monkeypatch.setenv("RULEMEM_SCOP", "me")
    assert "'scope'" in cli.run("add", "chat.json", code=1).stderr
    assert not Path("rulemem.db").exists()


def test_the_version_is_shown(cli: Cli) -> None:
    """`rulemem --version` prints name and number."""
    assert re.fullmatch(r"rulemem \d+\.\d+\.\d+\S*\n", cli.run("--version").stdout)


def test_every_command_shows_the_options_of_the_program(cli: Cli) -> None:
    """`rulemem ask --help` lists --scope as well as --as-of."""
    shown = cli.run("ask", "--help").stdout
    assert all(option in shown for option in ("--as-of", "--scope", "--json", "--quiet"))


def test_the_benchmark_is_a_command_only_where_it_is_installed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rulemem.bench.cli:app` becomes `rulemem bench` when that module can be imported."""
    bench, commands = ModuleType("rulemem.bench.cli"), typer.Typer()
    bench.__spec__ = ModuleSpec("rulemem.bench.cli", None)
    commands.command("locomo")(lambda: None)
    commands.callback()(lambda: None)
    setattr(bench, "app", commands)  # noqa: B010
    monkeypatch.setitem(sys.modules, "rulemem.bench.cli", bench)
    assert "locomo" in cli.run("bench", "--help").stdout
    assert "bench" in cli.run("--help").stdout


# --- JSON ------------------------------------------------------------------------------------


def test_every_command_is_among_those_tested_for_json() -> None:
    """No command is left out of the next test."""
    root: Any = typer.main.get_command(app)
    context = root.make_context("rulemem", ["status"], resilient_parsing=True)
    names = set()
    for name in root.list_commands(context):
        inner = getattr(root.get_command(context, name), "commands", {})
        names |= {f"{name} {sub}" for sub in inner} if name != "bench" else set()
        names |= set() if name == "models" else {name}
    assert names | {"bench"} == set(JSON_COMMANDS) | ELSEWHERE


@pytest.mark.parametrize("command", JSON_COMMANDS)
def test_json_is_one_document_on_stdout(filled: Cli, command: str) -> None:
    """With `--json` stdout parses as one document, in ASCII, whatever else is said."""
    stdout = filled.run(*JSON_COMMANDS[command], "--json", code=None).stdout
    assert json.loads(stdout) is not None
    assert stdout.isascii()


def test_an_error_is_json_too(cli: Cli) -> None:
    """A program reads kind, message and hint; people read them on stderr."""
    result = cli.run("explain", "a9", "--json", "--db", "nowhere.db", code=1)
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "StoreError"
    assert error["message"] in result.stderr
    assert error["hint"] in result.stderr


def test_times_are_iso(cli: Cli) -> None:
    """A moment is written as ISO 8601 with its offset."""
    chat = [{**CHAT[0], "timestamp": "2023-05-08T13:56:00+02:00"}]
    Path("chat.json").write_text(json.dumps(chat), encoding="utf-8")
    cli.run("add", "chat.json")
    assert cli.data("turns")[0]["said_at"] == "2023-05-08T13:56:00+02:00"


# --- add -------------------------------------------------------------------------------------


def test_add_says_what_became_of_turns_and_facts(cli: Cli) -> None:
    """The first time all is new, the second time all is unchanged."""
    first = cli.run("add", "chat.json")
    assert "3 new" in first.stdout.splitlines()[0]
    second = cli.data("add", "chat.json")
    assert (second["turns_new"], second["turns_unchanged"], second["facts_new"]) == (0, 3, 0)


def test_add_names_a_file_that_is_not_there(cli: Cli) -> None:
    """The error names the file; there is no traceback."""
    result = cli.run("add", "missing.json", code=1)
    assert "missing.json" in result.stderr
    assert "Traceback" not in result.output


def test_progress_goes_to_stderr_in_plain_lines(cli: Cli) -> None:
    """Without a terminal each stage says how far it is; nothing of it is on stdout."""
    result = cli.run("add", "chat.json")
    assert "extract 3/3" in result.stderr.splitlines()
    assert "extract 3/3" not in result.stdout
    assert "\x1b" not in result.output


def test_quiet_says_nothing_when_all_is_well(cli: Cli) -> None:
    """A write that went well is silent; what is asked for is still shown."""
    assert cli.run("add", "chat.json", "--quiet").output == ""
    assert "Oslo" in cli.run("turns", "--quiet").stdout


def test_turns_that_could_not_be_read_are_no_success(cli: Cli) -> None:
    """Exit code 1, the turns stay, `status` says why, and `retry --failed` reads them."""
    broken = Cli(stub_models(facts=FACTS, failures={CHAT[1]["content"]: "the server was away"}))
    result = broken.run("add", "chat.json", code=1)
    assert "rulemem retry --failed" in result.stderr
    assert "the server was away" in broken.run("status").stdout
    assert broken.data("resume")["facts_new"] == 0
    assert cli.data("retry", "--failed")["facts_new"] == 1
    assert "the server was away" not in cli.run("status").stdout


def test_retry_wants_to_know_what(cli: Cli) -> None:
    """`rulemem retry` alone is a usage error that names `--failed`."""
    assert "--failed" in cli.run("retry", code=2).stderr


# --- learn -----------------------------------------------------------------------------------


def test_learn_without_a_language_model_says_so(filled: Cli) -> None:
    """Nothing is learned, and that is no error."""
    assert "No language model" in filled.run("learn").stdout


def test_learn_that_stops_at_a_cap_is_unfinished(filled: Cli) -> None:
    """Exit code 1, and the command that goes on, with the memory that was named."""
    capped = Cli(stub_models(facts=FACTS, text=ScriptedText(lambda _: BudgetExceeded("cap"))))
    result = capped.run("learn", "--db", "rulemem.db", code=1)
    assert "continue with: rulemem learn --db rulemem.db" in result.stderr


# --- search, ask, explain --------------------------------------------------------------------


def test_search_ranks_turns_with_their_facts(filled: Cli) -> None:
    """The turn that holds the words is first, its fact below it."""
    first, second = filled.run("search", "blue kettle").stdout.splitlines()[:2]
    assert "t3" in first
    assert "f3 Ann repaired the blue kettle" in second
    assert len(filled.data("search", "blue kettle", "--limit", "1")) == 1


def test_nothing_found_is_an_empty_result(filled: Cli) -> None:
    """A nonsense query finds nothing, and that is no error."""
    assert filled.data("search", "zxqv blorp") == []
    assert filled.run("search", "zxqv blorp").stdout == "Nothing found.\n"


def test_as_of_hides_what_was_said_later(cli: Cli) -> None:
    """`--as-of` counts its own day, and nothing after it."""
    dated = [
        {**turn, "timestamp": f"2023-05-0{day}T10:00:00"} for day, turn in enumerate(CHAT, start=7)
    ]
    Path("chat.json").write_text(json.dumps(dated), encoding="utf-8")
    cli.run("add", "chat.json")

    def found(*options: str) -> set[int]:
        hits = cli.data("search", "Oslo bees kettle", *options)
        return {hit["turn"]["id"] for hit in hits}

    assert found() == {1, 2, 3}
    assert found("--as-of", "2023-05-08") == {1, 2}
    assert found("--as-of", "2023-05-08T09:00") == {1}


def test_a_date_that_is_none_is_a_usage_error(filled: Cli) -> None:
    """The error shows how a date is written."""
    assert "2024-04-15" in filled.run("search", "x", "--as-of", "yesterday", code=2).stderr


def test_ask_shows_answer_reason_proof_and_cost(filled: Cli) -> None:
    """The answer is the first line, the quoted turn is indented, the id and cost are last."""
    lines = filled.run("ask", "When did Ann move to Oslo?").stdout.splitlines()
    assert lines[0] == "3 May 2023"
    assert any(re.match(r"    t1 .*I moved to Oslo on 3 May 2023", line) for line in lines)
    assert re.match(r"a2  extractive@\d+  no model calls", lines[-1])


def test_a_question_without_an_answer_ends_with_3(filled: Cli) -> None:
    """ "Not answerable" has an exit code of its own, with the reason."""
    result = filled.run("ask", "zxqv blorp?", code=3)
    assert result.stdout.startswith("No answer: ")
    assert result.stdout.count("No recalled message") + result.stdout.count("Nothing in") == 1
    assert filled.data("ask", "zxqv blorp?", code=3)["answerable"] is False


@pytest.mark.parametrize("id", ["a1", "1", "A1"])
def test_explain_takes_an_id_as_it_is_shown(filled: Cli, id: str) -> None:
    """The proof of a kept answer is shown and holds."""
    shown = filled.run("explain", id).stdout
    assert "I moved to Oslo" in shown
    assert shown.endswith("proof holds\n")
    assert filled.data("explain", id)["problems"] == []


def test_explain_of_what_is_not_there_is_an_error(filled: Cli) -> None:
    """An unknown answer, one of another scope, and a word that is no id."""
    assert "No answer 7" in filled.run("explain", "a7", code=1).stderr
    assert "No answer 1" in filled.run("explain", "a1", "--scope", "other", code=1).stderr
    assert "no id" in filled.run("explain", "first", code=2).stderr


def test_a_proof_that_does_not_hold_ends_with_1(
    filled: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the check finds is shown, and a program sees it in the exit code."""
    monkeypatch.setattr(Memory, "check", lambda self, answer: ["turn 1 does not exist"])
    assert "proof FAILS: turn 1 does not exist" in filled.run("explain", "a1", code=1).stdout


# --- rules -----------------------------------------------------------------------------------


def test_rules_are_listed_with_support_and_status(filled: Cli) -> None:
    """Admitted ones by default, the others on demand."""
    assert "[Person] buys [Boat] ⇒ [Person] may learn to sail [Boat]" in filled.run("rules").stdout
    assert filled.run("rules", "disable", "r1").stdout == "r1 is disabled now\n"
    assert [rule["id"] for rule in filled.data("rules")] == [2]
    assert [rule["id"] for rule in filled.data("rules", "--status", "disabled")] == [1]
    assert [rule["id"] for rule in filled.data("rules", "--all")] == [1, 2]
    filled.run("rules", "approve", "1")
    assert [rule["id"] for rule in filled.data("rules")] == [1, 2]


def test_a_pack_that_is_exported_can_be_imported(filled: Cli) -> None:
    """Clauses survive the round trip into another scope, and nothing else travels."""
    filled.run("rules", "export", "out.json")
    assert "Oslo" not in Path("out.json").read_text(encoding="utf-8")
    assert filled.data("rules", "import", "out.json", "--scope", "other")["rules_new"] == 2
    there, here = filled.data("rules", "--scope", "other"), filled.data("rules")
    assert [(r["body"], r["head"]) for r in there] == [(r["body"], r["head"]) for r in here]


def test_an_export_replaces_no_file(filled: Cli) -> None:
    """A file that exists stays as it is."""
    assert "it exists" in filled.run("rules", "export", "pack.json", code=1).stderr
    assert json.loads(Path("pack.json").read_text(encoding="utf-8")) == PACK


@pytest.mark.parametrize("content", ["[1, 2]", "{", '{"rules": []}', '{"name": "x", "rules": [3]}'])
def test_a_file_that_is_no_pack_is_refused(cli: Cli, content: str) -> None:
    """The error is ours, and no rule is stored."""
    Path("pack.json").write_text(content, encoding="utf-8")
    assert cli.run("rules", "import", "pack.json", code=1).stderr.startswith("error: ")


def test_an_unknown_rule_cannot_be_approved(filled: Cli) -> None:
    """The error names the rule."""
    assert "No rule 9" in filled.run("rules", "approve", "r9", code=1).stderr


# --- views -----------------------------------------------------------------------------------


def test_facts_and_history_are_those_of_one_entity(filled: Cli) -> None:
    """Ann's facts are hers; Bob's brother's are not among them."""
    assert {fact["subject"] for fact in filled.data("facts", "--entity", "Ann")} == {"Ann"}
    known = {fact["object"] for fact in filled.data("history", "Ann")}
    assert known == {"Oslo", "the blue kettle"}
    assert "3 May 2023" in filled.run("history", "Ann").stdout
    assert filled.run("history", "Zed").stdout == "No facts.\n"


def test_an_empty_scope_names_the_others(filled: Cli) -> None:
    """Who misspells a scope sees which ones there are."""
    assert "Others here: 'default'" in filled.run("status", "--scope", "defualt").stdout


def test_views_need_no_models(filled: Cli, tmp_path: Path) -> None:
    """With no model on the machine, what is stored can still be read, and forgotten."""
    empty = {"RULEMEM_CACHE_DIR": str(tmp_path / "empty")}
    for words in (["turns"], ["facts"], ["status"], ["rules"], ["explain", "a1"]):
        assert run_process(*words, **empty).returncode == 0
    assert run_process("forget", "--turn", "t1", "--yes", **empty).returncode == 0
    assert len(filled.data("turns")) == 2
    needing = run_process("search", "Oslo", **empty)
    assert needing.returncode == 1
    assert b"rulemem models fetch" in needing.stderr


@pytest.mark.parametrize("command", ["search", "ask", "history"])
def test_a_memory_that_does_not_exist_is_not_made_by_looking(cli: Cli, command: str) -> None:
    """A misspelt file name is an error and leaves no empty file behind."""
    assert "no memory at 'typo.db'" in cli.run(command, "x", "--db", "typo.db", code=1).stderr
    assert not Path("typo.db").exists()


def test_stats_add_up(filled: Cli) -> None:
    """The calls of a scripted model appear under their stage and in the total."""
    reply = '{"evidence": [1], "answer": "3 May 2023"}'
    asked = Cli(stub_models(facts=FACTS, text=ScriptedText(lambda _: reply)))
    answer = asked.data("ask", "When did Ann move to Oslo?")
    assert answer["cost"]["calls"] == 1
    assert asked.data("stats")["answer"]["calls"] == 1
    assert re.search(r"total\s+1\s", asked.run("stats").stdout)


def test_config_shows_origins_and_hides_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value names where it came from; neither key nor password is printed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hunter2@host.test/v1")
    for shown in (cli.run("config", "--llm", "none"), cli.run("config", "--llm", "none", "--json")):
        assert "sk-very-secret" not in shown.output
        assert "hunter2" not in shown.output
        assert "host.test/v1" in shown.stdout
    shown = cli.data("config", "--llm", "none")
    assert shown["llm"] == {"value": "none", "origin": "argument"}
    assert shown["openai_api_key"]["origin"] == "OPENAI_API_KEY"


# --- forget ----------------------------------------------------------------------------------


def test_forget_asks_first(filled: Cli) -> None:
    """A no, and nobody there to answer, leave everything; a yes forgets, with a receipt."""
    for answer in ("n\n", ""):
        result = filled.run("forget", "--everything", stdin=answer, code=1)
        assert "nothing was forgotten" in result.stderr
    assert len(filled.data("turns")) == 3
    assert "turns" in filled.run("forget", "--turn", "t1", stdin="y\n").stdout
    assert [turn["id"] for turn in filled.data("turns")] == [2, 3]


def test_forget_takes_the_answers_along(filled: Cli) -> None:
    """An answer that quotes a forgotten turn is gone, and the receipt counts it."""
    receipt = filled.data("forget", "--turn", "t1", "--turn", "2", "--yes")
    assert (receipt["turns"], receipt["answers"]) == (2, 1)
    filled.run("explain", "a1", code=1)


def test_forget_reaches_the_replies_that_are_kept_on_disk(
    filled: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a model once said about a forgotten turn goes too, though no model is loaded."""
    monkeypatch.setenv("RULEMEM_CACHE_DIR", str(tmp_path / "cache"))
    inner = ScriptedText(lambda _: "noted")
    replies = CachedTextModel(inner, tmp_path / "cache" / "replies.db")

    def ask(about: str) -> None:
        request = TextRequest(stage="s", prompt="p@1", system="", user=f"Read this: {about}")
        replies.complete([request])

    for message in (CHAT[0]["content"], CHAT[1]["content"]):
        ask(message)
    filled.run("forget", "--turn", "t1", "--yes")
    for message in (CHAT[1]["content"], CHAT[0]["content"]):
        ask(message)
    asked = [request.user for request in inner.requests]
    assert asked[2:] == [f"Read this: {CHAT[0]['content']}"]


def test_forget_of_what_is_not_there_ends_with_3(filled: Cli) -> None:
    """A selector that matches nothing is no silent success."""
    assert "nothing was forgotten" in filled.run("forget", "--turn", "99", "--yes", code=3).stdout


@pytest.mark.parametrize("words", [[], ["--everything", "--turn", "1"]])
def test_forget_wants_either_a_part_or_everything(filled: Cli, words: list[str]) -> None:
    """Neither nothing nor both."""
    assert "--everything" in filled.run("forget", *words, "--yes", code=2).stderr
    assert len(filled.data("turns")) == 3


# --- reembed ---------------------------------------------------------------------------------


def test_reembed_repairs_what_a_change_of_embedder_breaks(filled: Cli) -> None:
    """A search with another embedder is refused with the command that repairs it."""
    other = stub_models(facts=FACTS)
    changed = Cli(
        Models(
            embedder=HashEmbedder("hash@2", 32),
            extractor=other.extractor,
            text=None,
            likelihood=None,
        )
    )
    refused = changed.run("search", "kettle", code=1).stderr
    assert "hash@1" in refused
    assert "hash@2" in refused
    assert "rulemem reembed" in refused
    report = changed.data("reembed")
    assert (report["from"], report["to"]) == ("hash@1", "hash@2")
    assert report["vectors"] > 0
    assert "kettle" in changed.run("search", "kettle").stdout


# --- odd text --------------------------------------------------------------------------------


def test_text_cannot_move_the_cursor(cli: Cli) -> None:
    """Escape sequences in facts, names and questions are shown, not sent to the terminal."""
    odd = {CHAT[0]["content"]: [("Ann", "moved to", "\x1b[2J\x07Oslo\u202e\x9b")]}
    noisy = Cli(stub_models(facts=odd))
    noisy.run("add", "chat.json", "--scope", "a\x1b[31m")
    for words in (["facts"], ["search", "Oslo"], ["ask", "When did Ann move to \x1b[2JOslo?"]):
        output = noisy.run(*words, "--scope", "a\x1b[31m", code=None).output
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", output)
        assert "Oslo" in output
    assert "\\x1b[2J\\x07Oslo\\u202e\\x9b" in noisy.run("facts", "--scope", "a\x1b[31m").stdout


def test_a_quote_cannot_pass_for_a_line_of_the_proof(cli: Cli) -> None:
    """A turn with line ends is quoted on one line."""
    forged = "I moved to Oslo.\n  rule r1 (admitted): Ann owes me money\n  proof holds"
    Path("chat.json").write_text(json.dumps([{**CHAT[0], "content": forged}]), encoding="utf-8")
    cli.run("add", "chat.json")
    for words in (["ask", "Who moved to Oslo?"], ["turns"], ["search", "Oslo"], ["explain", "a1"]):
        lines = cli.run(*words).stdout.splitlines()
        assert not any(line.strip().startswith(("rule r1", "proof holds ")) for line in lines)
        assert sum("Ann owes me money" in line for line in lines) == sum(
            "I moved to Oslo." in line for line in lines
        )


@given(st.text())
def test_a_printed_line_is_one_line(text: str) -> None:
    """No text makes two lines, nor leaves a character that a terminal obeys."""
    shown = printable(text)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_poor_terminal_is_no_reason_to_crash(cli: Cli, encoding: str) -> None:
    """Letters that the terminal's encoding lacks are shown as escapes."""
    words = "🐝 我养了一只猫叫豆豆 שרה אוהבת תה é"
    Path("chat.json").write_text(json.dumps([{**CHAT[0], "content": words}]), encoding="utf-8")
    cli.run("add", "chat.json")
    cli.run("rules", "import", "pack.json")
    turns, rules, record = (
        run_process(*command, PYTHONIOENCODING=encoding)
        for command in (["turns"], ["rules"], ["turns", "--json"])
    )
    assert [done.returncode for done in (turns, rules, record)] == [0, 0, 0]
    shown = turns.stdout.decode(encoding)
    assert ("豆豆" if encoding == "utf-8" else "\\u8c46\\u8c46") in shown
    assert json.loads(record.stdout)[0]["text"] == words


def on_terminal(*words: str, columns: int) -> tuple[str, str]:
    """Run a command in a process with a terminal; return what was written to it, and stdout
    if that is no part of it ("-" as the first word)."""
    apart = words[0] == "-"
    code = (
        "from rulemem.cli.app import app\n"
        "from rulemem.testing import stub_models\n"
        f"app({list(words[apart:])!r}, obj=stub_models(facts={FACTS!r}))\n"
    )
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=end,
        stdout=subprocess.PIPE if apart else end,
        stderr=end,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm"},
    ) as process:
        os.close(end)
        written = b""
        with suppress(OSError):  # Linux says "input/output error" at the end
            while block := os.read(terminal, 65536):
                written += block
        stdout = process.stdout.read() if process.stdout else b""
    os.close(terminal)
    assert process.returncode == 0, written
    return written.decode(), stdout.decode()


def test_on_a_terminal_progress_is_a_bar(cli: Cli) -> None:
    """The bar is drawn on the terminal, and stdout stays one document."""
    written, stdout = on_terminal("-", "add", "chat.json", "--json", columns=80)
    assert "\x1b[" in written
    assert "3/3" in written
    assert json.loads(stdout)["turns_new"] == 3
    assert on_terminal("-", "add", "chat.json", "--quiet", columns=80) == ("", "")


def test_on_a_terminal_long_text_is_wrapped_beside_its_columns(filled: Cli) -> None:
    """The second line of a clause begins where the first one does."""
    lines = on_terminal("rules", columns=72)[0].splitlines()
    start = lines[0].index("clause")
    assert all(len(line) <= 72 for line in lines)
    folded = [line for line in lines[1:] if line.startswith(" " * start)]
    assert folded
    assert all(line[start] != " " for line in folded)


# --- being stopped ---------------------------------------------------------------------------


class Interrupted(ListExtractor):
    """An extractor during which Ctrl-C is pressed."""

    def extract(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extraction]:
        """Press it."""
        raise KeyboardInterrupt


def test_ctrl_c_leaves_a_memory_that_can_be_resumed(cli: Cli) -> None:
    """Exit code 130 and the command that goes on; the turns are stored, their facts follow."""
    models = stub_models()
    stopped = Cli(
        Models(embedder=models.embedder, extractor=Interrupted(), text=None, likelihood=None)
    )
    result = stopped.run("add", "chat.json", "--scope", "me too", code=130)
    assert result.stderr.splitlines()[-1] == (
        "stopped; everything up to here is stored, continue with: rulemem resume --scope 'me too'"
    )
    assert {turn["state"] for turn in cli.data("turns", "--scope", "me too")} == {"pending"}
    assert "rulemem resume" in cli.run("status", "--scope", "me too").stdout
    assert cli.data("resume", "--scope", "me too")["facts_new"] == 3


def test_a_process_that_is_interrupted_ends_with_130(cli: Cli) -> None:
    """The same with a real signal in a real process, without a traceback."""
    code = """
import sys, time
from rulemem.cli.app import app
from rulemem.models.cached import CachedTextModel
from rulemem.models.choose import Models
from rulemem.ports import TextRequest
from rulemem.testing import HashEmbedder
class Slow:
    name = "slow@1"
    def extract(self, turns, context):
        print("extracting", file=sys.stderr, flush=True)
        time.sleep(60)
app(["add", "chat.json"], obj=Models(
    embedder=HashEmbedder(), extractor=Slow(), text=None, likelihood=None))
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("extracting"):
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.splitlines() == [
        "stopped; everything up to here is stored, continue with: rulemem resume"
    ]
    assert len(cli.data("turns")) == 3


# --- importing -------------------------------------------------------------------------------


def test_importing_is_quick_and_touches_nothing() -> None:
    """`import rulemem` takes less than half a second of work, opens no socket and writes no
    file; neither does `from rulemem.cli import main`."""
    code = """
import sys
seen = []
def watch(event, arguments):
    if event.startswith("socket.") or event.startswith("sqlite3."):
        seen.append((event, str(arguments)))
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & 3:
        seen.append((event, str(arguments)))
    if event in {"os.mkdir", "subprocess.Popen"}:
        seen.append((event, str(arguments)))
sys.dont_write_bytecode = True
sys.addaudithook(watch)
import time
started = time.process_time()
import rulemem
spent = time.process_time() - started
assert "numpy" not in sys.modules
from rulemem.cli import main
assert not seen, seen
print(spent)
"""
    done = run_process(code=code)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.5


def test_all_that_is_promised_can_be_imported() -> None:
    """Every name of `__all__` is there, `Memory` included, and no other is."""
    import rulemem

    assert {name for name in rulemem.__all__ if not hasattr(rulemem, name)} == set()
    assert rulemem.Memory is Memory
    with pytest.raises(AttributeError, match="Memry"):
        _ = rulemem.Memry


# --- the demo, and the whole with real models -------------------------------------------------


def test_the_demo_says_where_the_examples_are(cli: Cli) -> None:
    """Outside a checkout the error names the option."""
    result = cli.run("demo", "--examples", "nowhere", code=1)
    assert "--examples" in result.stderr


@pytest.mark.embedded
def test_the_demo_runs_without_a_language_model() -> None:
    """Rules come from the pack and none are learned, which is said; three questions are answered,
    each with a proof that holds, and the false premise is refused with the one whose it is."""
    done = run_process("demo", "--llm", "none", "--examples", str(EXAMPLES), "--json")
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert steps["add"]["result"]["turns_new"] == 65
    assert steps["rule pack"]["result"]["rules_new"] == 12
    assert "No language model" in steps["learn"]["result"]["report"]["note"]
    asked = [entry["result"] for name, entry in steps.items() if name.startswith("ask")]
    assert [entry["answer"]["answerable"] for entry in asked] == [True, True, True, False]
    assert [entry["problems"] for entry in asked] == [[], [], [], []]
    assert "Priya" in asked[3]["answer"]["reason"]
    assert not Path("rulemem.db").exists()


@pytest.mark.embedded
def test_nothing_leaves_the_machine() -> None:
    """add from stdin, search, ask and explain with the local models open no socket."""
    code = """
import io, sys
def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        print("NETWORK", event, arguments, file=sys.stderr)
        sys.stderr.flush()
        import os
        os._exit(99)
sys.addaudithook(watch)
from rulemem.cli.app import app
for words in (["add", "-"], ["search", "kettle"], ["ask", "Who repaired a kettle?"],
              ["explain", "a1"], ["doctor"]):
    try:
        app([*words, "--llm", "none"])
    except SystemExit as end:
        assert end.code == 0, (words, end.code)
"""
    talk = b"Ann: I repaired the blue kettle.\nBob: My brother keeps bees.\n"
    done = subprocess.run(
        [sys.executable, "-c", code], input=talk, capture_output=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"proof holds" in done.stdout
