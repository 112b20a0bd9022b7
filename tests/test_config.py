"""Settings: where each value comes from, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulemem.config import CONFIG_FILE, Settings, resolve_settings
from rulemem.errors import ConfigError

NAMES = [field.name for field in fields(Settings)]
TEXTS = ["db", "scope", "llm", "scorer", "embedder", "cache_dir", "openai_base_url"]


def resolve(folder: Path, toml: str = "", env: dict[str, str] | None = None, **given: Any) -> Any:
    """Resolve settings from a folder with a `rulemem.toml` of this content, if any."""
    if toml:
        (folder / CONFIG_FILE).write_text(toml, encoding="utf-8")
    return resolve_settings(given, environment=env or {}, folder=folder)


def test_nothing_given_is_all_defaults(tmp_path: Path) -> None:
    """Without arguments, variables and file, every setting has its default and says so."""
    found = resolve(tmp_path)
    assert found.settings == Settings()
    assert found.origins == dict.fromkeys(NAMES, "default")


def test_argument_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    """The nearest origin wins, and each value names the one it came from."""
    toml = 'scope = "file"\nllm = "file"\ndb = "file"\n'
    env = {"RULEMEM_LLM": "variable", "RULEMEM_DB": "variable"}
    found = resolve(tmp_path, toml, env, db="argument")
    assert (found.settings.scope, found.origins["scope"]) == ("file", CONFIG_FILE)
    assert (found.settings.llm, found.origins["llm"]) == ("variable", "RULEMEM_LLM")
    assert (found.settings.db, found.origins["db"]) == ("argument", "argument")
    assert found.origins["embedder"] == "default"


@given(
    name=st.sampled_from(TEXTS),
    layers=st.lists(st.text("abc", min_size=1), min_size=3, max_size=3),
    given_layers=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_precedence_holds_for_every_setting(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    layers: list[str],
    given_layers: tuple[bool, bool, bool],
) -> None:
    """Whatever subset of origins gives a value, the first of argument, variable, file wins."""
    folder = tmp_path_factory.mktemp("config")
    argument, variable, file = (
        value if there else None for value, there in zip(layers, given_layers, strict=True)
    )
    toml = f"{name} = '{file}'\n" if file else ""
    env = {f"RULEMEM_{name.upper()}": variable} if variable else {}
    found = resolve(folder, toml, env, **{name: argument})
    expected = argument or variable or file or getattr(Settings(), name)
    assert getattr(found.settings, name) == expected


def test_an_empty_variable_and_none_are_not_given(tmp_path: Path) -> None:
    """`RULEMEM_LLM=` and `llm=None` leave the default."""
    found = resolve(tmp_path, env={"RULEMEM_LLM": ""}, llm=None)
    assert found.settings.llm == Settings().llm
    assert found.origins["llm"] == "default"


@pytest.mark.parametrize(
    ("toml", "env", "given", "wrong", "near"),
    [
        ("", {}, {"scop": "me"}, "scop", "scope"),
        ("", {"RULEMEM_EMBEDER": "x"}, {}, "RULEMEM_EMBEDER", "embedder"),
        ("max_call = 3\n", {}, {}, "max_call", "max_calls"),
    ],
    ids=["argument", "variable", "file"],
)
def test_an_unknown_name_raises_with_the_nearest_one(
    tmp_path: Path, toml: str, env: dict[str, str], given: dict[str, Any], wrong: str, near: str
) -> None:
    """A misspelt setting is an error from every origin, and never ignored."""
    with pytest.raises(ConfigError) as caught:
        resolve(tmp_path, toml, env, **given)
    assert wrong in caught.value.message
    assert f"'{near}'" in caught.value.hint


def test_a_name_like_no_other_raises_with_all_of_them(tmp_path: Path) -> None:
    """Where nothing is near, the error lists what there is."""
    with pytest.raises(ConfigError) as caught:
        resolve(tmp_path, zzzzqqq="1")
    assert all(name in caught.value.hint for name in NAMES)


def test_foreign_variables_are_ignored(tmp_path: Path) -> None:
    """Variables of other programs are not ours to judge; neither are those of the tests."""
    env = {"PATH": "x", "OPENAI_ORG_ID": "y", "RULEMEM_LOCOMO": "/data.json"}
    assert resolve(tmp_path, env=env).settings == Settings()


def test_the_key_and_address_of_a_server_come_from_the_usual_variables(tmp_path: Path) -> None:
    """OPENAI_BASE_URL and OPENAI_API_KEY are read under their own names."""
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "secret"}
    found = resolve(tmp_path, env=env)
    assert found.settings.openai_base_url == "http://127.0.0.1:1/v1"
    assert found.origins["openai_api_key"] == "OPENAI_API_KEY"


def test_numbers_are_read_from_text(tmp_path: Path) -> None:
    """A variable is text; the setting has its own type."""
    found = resolve(tmp_path, env={"RULEMEM_MAX_CALLS": "12", "RULEMEM_TAU": "0.25"})
    assert found.settings.max_calls == 12
    assert found.settings.tau == 0.25


def test_a_whole_number_is_a_float_where_one_is_due(tmp_path: Path) -> None:
    """`tau = 1` in a file is 1.0."""
    tau = resolve(tmp_path, "tau = 1\n").settings.tau
    assert (tau, type(tau)) == (1.0, float)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_calls", "many"),
        ("max_calls", 1.5),
        ("max_calls", True),
        ("max_calls", -1),
        ("max_tokens", -5),
        ("tau", "high"),
        ("tau", 1.5),
        ("alpha", -0.1),
        ("tau", float("nan")),
        ("extractor", "magic"),
    ],
)
def test_a_value_that_cannot_work_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    """A wrong type or range is an error that shows the name and the value."""
    with pytest.raises(ConfigError) as caught:
        resolve(tmp_path, **{name: value})
    assert name in caught.value.message
    assert repr(value) in caught.value.message


def test_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    """A `rulemem.toml` that is no TOML is an error, not an empty file."""
    with pytest.raises(ConfigError, match=r"rulemem\.toml"):
        resolve(tmp_path, "scope = \n")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are an error of ours."""
    (tmp_path / CONFIG_FILE).write_bytes(b'scope = "caf\xe9"\n')
    with pytest.raises(ConfigError, match=r"rulemem\.toml"):
        resolve(tmp_path)


def test_the_cache_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    """`cache_dir` names the folder; without it there is a default for the user."""
    assert resolve(tmp_path, cache_dir="/somewhere").settings.cache == Path("/somewhere")
    assert resolve(tmp_path).settings.cache.name == "rulemem"
