"""The documents say what is so: links, trees, commands, examples, samples, and the import table.

`python tests/test_docs.py --lock` writes the lock of the prompts.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "rulemem"
STAGES = ("bottom_up", "consistency", "top_down")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
)
ADRS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
LOCK = SOURCE / "prompts" / "prompts.lock"
LOCK_COMMAND = "python tests/test_docs.py --lock"

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BRANCH = re.compile(r"^( *)(\S+?)/?(?:  |$)")

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def _text(*parts: str) -> str:
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def _blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [body for found, body in _FENCE.findall(text) if found == language]


def _prose(text: str) -> str:
    return _FENCE.sub("", text)


def _tables(text: str) -> Iterator[list[list[str]]]:
    """Each table as rows of cells, without its header."""
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            yield rows[2:]
            rows = []


# --- links and trees -------------------------------------------------------------------------


@each_document
def test_relative_links_resolve(document: Path) -> None:
    """The file that a link names exists, and so does the heading."""
    broken = []
    for target in _LINK.findall(_prose(document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        path = document.parent / name if name else document
        if not path.exists() or (heading and heading not in _headings(path)):
            broken.append(target)
    assert broken == []


def _headings(path: Path) -> set[str]:
    """The anchors of a document's headings."""
    lines = _prose(path.read_text(encoding="utf-8")).splitlines()
    titles = (line.lstrip("#").strip().lower() for line in lines if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def test_readme_tree_is_the_tree_of_the_stages() -> None:
    """Each path of the README's tree exists, and no module of a stage is missing from it."""
    [tree] = [b for b in _blocks(_text("README.md"), "text") if b.startswith("src/")]
    listed = set(_paths(tree))
    assert [path for path in sorted(listed) if not (ROOT / path).exists()] == []
    modules = {
        path.relative_to(ROOT).as_posix()
        for stage in STAGES
        for path in (SOURCE / stage).iterdir()
        if path.name not in {"__init__.py", "__pycache__"}
    }
    assert modules - listed == set()


def _paths(tree: str) -> Iterator[str]:
    """The paths of an indented tree."""
    above: list[tuple[int, str]] = []
    for line in tree.splitlines():
        match = _BRANCH.match(line)
        assert match is not None, line
        indent, name = len(match[1]), match[2]
        above = [(depth, parent) for depth, parent in above if depth < indent]
        path = "/".join([*(parent for _, parent in above), name])
        above.append((indent, name))
        yield path


# --- examples and commands -------------------------------------------------------------------


@each_document
def test_python_blocks_compile(document: Path) -> None:
    """Every Python block of a document is Python."""
    for block in _blocks(document.read_text(encoding="utf-8"), "python"):
        compile(block, str(document), "exec")


def test_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The README's Python runs as it stands, here with doubles for the models, and answers."""
    import rulemem
    from rulemem.testing import stub_models

    booked = "I love Tove Jansson! I have a surprise, too. I booked a week in Lisbon, and my plane"
    messages = json.loads(_text("examples", "two_friends.json"))
    texts = [m["content"] for m in messages if str(m["content"]).startswith(booked)]
    facts = {text: [("Priya", "booked", "a week in Lisbon in June")] for text in texts}
    stubbed = partial(rulemem.Memory, models=stub_models(facts=facts))
    monkeypatch.setattr(rulemem, "Memory", stubbed)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    [example] = _blocks(_text("README.md"), "python")
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    names["memory"].close()
    assert texts
    assert names["answer"].answerable
    assert names["answer"].quotes[0].text in capsys.readouterr().out


@each_document
def test_commands_exist(document: Path) -> None:
    """Every `rulemem …` of a document is a command with these options."""
    text = document.read_text(encoding="utf-8")
    lines = [line for block in _blocks(text, "sh") for line in block.splitlines()]
    wrong = [
        line
        for line in [*lines, *_CODE.findall(_prose(text))]
        if line.startswith("rulemem ") and not _is_command(line.partition("#")[0].split()[1:])
    ]
    assert wrong == []


def _is_command(words: list[str]) -> bool:
    """Whether the words begin with a command, and the options among them are its own."""
    from typer.main import get_command

    from rulemem.cli.app import app

    command: Any = get_command(app)
    options = {name: option for option in command.params for name in option.opts}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--help":
            continue
        if word.startswith("--"):
            if word not in options:
                return False
            if not options[word].is_flag and waiting:
                waiting.pop(0)
        elif hasattr(command, "get_command"):  # a group: its arguments are commands
            command = command.get_command(None, word)
            if command is None:
                return False
            options |= {name: option for option in command.params for name in option.opts}
    return True


def test_make_targets_exist() -> None:
    """Every `make …` of a document is a target of the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", _text("Makefile"), re.MULTILINE))
    named = {
        match
        for document in DOCUMENTS
        for match in re.findall(r"(?:^|`)make ([\w-]+)", document.read_text("utf-8"), re.MULTILINE)
    }
    assert {"demo", "test"} <= named
    assert named - targets == set()


@each_document
def test_variables_are_settings(document: Path) -> None:
    """Every RULEMEM_ variable of a document is a setting."""
    from rulemem.config import Settings

    settings = {f"RULEMEM_{field.name.upper()}" for field in fields(Settings)}
    text = document.read_text(encoding="utf-8")
    assert set(re.findall(r"\bRULEMEM_[A-Z_]+\b", text)) - settings == set()


def test_readme_download_size() -> None:
    """The README's size of the download is that of the models which the default settings need."""
    from rulemem.cli.models import needed_models
    from rulemem.config import Settings
    from rulemem.models.registry import find_model

    size = sum(find_model(name).download_bytes for name in needed_models(Settings()))
    assert f"about {size / 1e9:.1f} GB to download" in _text("README.md").replace("\n", " ")


def test_format_samples_are_recognised() -> None:
    """Each format has a section, and its sample is read as that format without being refused."""
    from rulemem.formats import read_conversations
    from rulemem.formats.sniff import FORMATS

    sections = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*)", _text("docs", "formats.md"), re.M))
    for form in FORMATS:
        [(_, sample)] = _FENCE.findall(sections[form.name])
        read = read_conversations(sample)
        assert [one.format for one in read] == [form.name]
        assert len(read[0].turns) >= 2, form.name


def test_rule_pack_sample_holds() -> None:
    """The rules of the pack in the documentation are clauses that an import accepts."""
    from rulemem.clauses import check_clause

    section = _text("docs", "formats.md").split("## Rule packs")[1]
    [sample] = _blocks(section, "json")
    for rule in json.loads(sample)["rules"]:
        check_clause(rule["body"], rule["head"])


# --- the table of imports --------------------------------------------------------------------


@cache
def _architecture() -> tuple[dict[str, set[str]], set[tuple[str, str]]]:
    """What each room may import, and the single imports that are let through besides."""
    rooms, exceptions, *_ = _tables(_text("docs", "architecture.md"))
    named = {row[0].strip("`"): set(_CODE.findall(row[2])) for row in rooms}
    for row in rooms:
        if row[2].startswith("everything but"):
            room = row[0].strip("`")
            named[room] = set(named) - named[room]
    return named, {(row[0].strip("`"), row[1].strip("`")) for row in exceptions}


@cache
def _imports() -> set[tuple[str, str]]:
    """Every import of ours: (module, imported module), without the name of the package."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        parts = [p for p in path.relative_to(SOURCE).with_suffix("").parts if p != "__init__"]
        importer = ".".join(parts) or "rulemem"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found |= {(importer, target) for target in _targets(node)}
    return found


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        package, _, rest = name.partition(".")
        if package == "rulemem":
            yield _module(rest.split("."))


def _module(parts: list[str]) -> str:
    """The longest beginning that is a module; the rest are names in it."""
    for end in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:end])
        if path.is_dir() or path.with_suffix(".py").is_file():
            return ".".join(parts[:end])
    return "rulemem"


def test_imports_follow_the_table() -> None:
    """No module imports a room that its own room may not, save for the listed exceptions."""
    allowed, exceptions = _architecture()
    wrong = []
    for importer, target in sorted(_imports() - exceptions):
        room, other = importer.split(".")[0], target.split(".")[0]
        if other != room and other not in allowed.get(room, set()):
            wrong.append(f"{importer} imports {target}")
    assert wrong == []


def test_every_room_stands_in_the_table() -> None:
    """The table of rooms and the folder hold the same names."""
    allowed, _ = _architecture()
    folder = {
        path.stem
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").is_file())
    }
    assert set(allowed) == (folder - {"__init__"}) | {"rulemem"}


def test_listed_exceptions_are_in_use() -> None:
    """An exception from the table that no module needs any more must go."""
    _, exceptions = _architecture()
    assert exceptions - _imports() == set()


def test_table_of_rooms_has_no_cycle() -> None:
    """Rooms can be put in an order in which each one imports only rooms before it."""
    left = dict(_architecture()[0])
    while left:
        free = [room for room, needs in left.items() if not needs & set(left) - {room}]
        assert free, f"a cycle among {sorted(left)}"
        left = {room: needs for room, needs in left.items() if room not in free}


def test_nothing_imports_the_edges() -> None:
    """Nothing imports the command line or the benchmarks, however the table changes."""
    outside = {
        (importer, target)
        for importer, target in _imports()
        if target.split(".")[0] in {"cli", "bench"}
        and importer.split(".")[0] not in {target.split(".")[0], "__main__"}
    }
    assert outside == set()


# --- the method's map ------------------------------------------------------------------------


def test_method_names_exist() -> None:
    """Each name in the tables of the method is defined in a file that stands before it."""
    missing = []
    for rows in _tables(_text("docs", "method.md")):
        for row in rows:
            cell = row[-1]
            names: set[str] = set()
            for match in re.finditer(r"\]\((\S+?\.py)\)|`([\w.]+)`", cell):
                if match[1]:
                    names = _defined((ROOT / "docs" / match[1]).resolve())
                elif match[2] not in names:
                    missing.append(match[2])
    assert missing == []


@cache
def _defined(path: Path) -> set[str]:
    """Classes, functions and constants of a module, and members as Class.member."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set(_names(tree.body))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{member}" for member in _names(node.body)}
    return found


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


# --- decisions, dependencies, prompts --------------------------------------------------------


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem)
def test_decision_has_its_form(path: Path) -> None:
    """A decision has at most forty lines and the four sections in order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith(f"# {path.stem[:4]} ")
    sections = [line for line in lines if line.startswith("## ")]
    assert sections == ["## Context", "## Decision", "## Consequences", "## Evidence"]


def test_decisions_are_complete() -> None:
    """Decisions are numbered without gaps, listed, and each one that the code cites exists."""
    numbers = [path.stem[:4] for path in ADRS]
    assert numbers == [f"{n:04}" for n in range(1, len(ADRS) + 1)]
    listed = re.findall(r"\((\d{4})-", _text("docs", "adr", "README.md"))
    assert listed == numbers
    cited = {
        number
        for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.md"), ROOT / "pyproject.toml"]
        for number in re.findall(r"(?:ADR-|docs/adr/)(\d{4})", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert cited - set(numbers) == set()


def test_dependencies_are_explained() -> None:
    """The documented dependencies are those of pyproject.toml, group by group."""
    text = _text("pyproject.toml")
    project = tomllib.loads(text)
    extras = project["project"]["optional-dependencies"]
    groups = {
        "Always installed": project["project"]["dependencies"],
        **{f"Extra `{name}`": wanted for name, wanted in extras.items()},
        "To build": project["build-system"]["requires"],
    }
    sections = re.split(r"^## ", _text("docs", "dependencies.md"), flags=re.MULTILINE)
    documented = {
        title: {row[0].strip("`") for table in _tables(body) for row in table}
        for title, _, body in (section.partition("\n") for section in sections)
        if title in groups
    }
    wanted = {
        title: {re.split(r"[\[=<>]", entry)[0] for entry in entries} - {"rulemem"}
        for title, entries in groups.items()
    }
    assert documented == wanted


def test_prompts_match_their_lock() -> None:
    """A prompt's text changes with its version only, and each version is in the lock."""
    from rulemem.prompts import prompt_hashes

    locked, present = _read_lock(), prompt_hashes()
    changed = [tag for tag, digest in present.items() if locked.get(tag, digest) != digest]
    assert changed == [], "the text changed: raise its version, then run " + LOCK_COMMAND
    assert locked == present, "run " + LOCK_COMMAND


def _read_lock() -> dict[str, str]:
    if not LOCK.is_file():
        return {}
    lines = LOCK.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ") for line in lines if not line.startswith("#"))


def _write_lock() -> str:
    """Write the lock; return what was done, or why not."""
    from rulemem.prompts import prompt_hashes

    locked, present = _read_lock(), prompt_hashes()
    changed = [tag for tag, digest in present.items() if locked.get(tag, digest) != digest]
    if changed:
        raise SystemExit(f"{', '.join(changed)}: the text changed, so raise the version first.")
    lines = ["# prompt@version and sha256 of its file; written by: " + LOCK_COMMAND]
    lines += [f"{tag} {digest}" for tag, digest in sorted(present.items())]
    LOCK.write_text("\n".join(lines) + "\n", encoding="ascii")
    return f"{len(present)} prompts locked"


if __name__ == "__main__":
    if sys.argv[1:] != ["--lock"]:
        raise SystemExit(f"Usage: {LOCK_COMMAND}")
    print(_write_lock())
