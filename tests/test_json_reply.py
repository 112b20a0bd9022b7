"""Reading JSON out of what models write."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rulemem.errors import ReplyRejected
from rulemem.prompts.json_reply import drop_thinking, parse_json

WANTED = {"facts": ["Ann likes tea"]}


@pytest.mark.parametrize(
    "reply",
    [
        '{"facts": ["Ann likes tea"]}',
        'Sure! {"facts": ["Ann likes tea"]} Hope it helps',
        '```json\n{"facts": ["Ann likes tea"]}\n```',
        'Here you go:\n```\n{"facts": ["Ann likes tea"]}\n```\nAnything else?',
        '<think>{"facts": ["no"]}</think>{"facts": ["Ann likes tea"]}',
        '<THINK>\n[1, {"a"\n</THINK>\n{"facts": ["Ann likes tea"]}',
        'first I weigh {"facts": []}</think>{"facts": ["Ann likes tea"]}',
        '{"facts": ["Ann likes tea"]}<think>was that right',
        '{"facts": ["Ann likes tea",],}',
        "{'facts': ['Ann likes tea']}",
        '{facts: ["Ann likes tea"]}',
        '{"facts": ["Ann likes tea"]',
        '{"facts": ["Ann likes tea"',
        '{"facts": ["Ann likes tea"] Hope it helps',
        '{"facts": ["Ann\x00 likes tea"]}',
        '{"facts": ["Ann\\u0000 likes tea"]}',
        '[Person] is Ann, see [1]: {"facts": ["Ann likes tea"]}',
        '{Ann} said: {"facts": ["Ann likes tea"]}',
        '\ufeff{"facts": ["Ann likes tea"]}',
        '{"facts": ["Ann likes tea"]} {"facts": ["a second try"]}',
    ],
)
def test_what_surrounds_or_bends_the_json_is_overlooked(reply: str) -> None:
    """Prose, fences, thoughts, loose syntax and NUL do not change what is read."""
    assert parse_json(reply) == WANTED


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("{}", {}),
        ("[]", []),
        ('{"Facts": []}', {"Facts": []}),
        ("[1, 2]", [1, 2]),
        ('Both [1] and [2] say so: [{"fact": 1}]', [{"fact": 1}]),
        ('[{"a": 1}, {"b": 2},]', [{"a": 1}, {"b": 2}]),
        ('{"facts": [{"a": 1}, {"b": [2]},], "n": 1,}', {"facts": [{"a": 1}, {"b": [2]}], "n": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": NaN, "b": 1e999}', {"a": None, "b": None}),
        ('{"a": "} ] <think>"}', {"a": "} ] <think>"}),
    ],
)
def test_values_are_read_whole(reply: str, value: object) -> None:
    """The outermost value is returned, whatever it is, free of numbers that are not finite."""
    assert parse_json(reply) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"facts": ["\\ud83d 東京"]}', {"facts": ["\ufffd 東京"]}),
        ('{"facts": ["\ud83d 東京"]}', {"facts": ["\ufffd 東京"]}),
        ('{"facts": ["\\ud83d\\ude00"]}', {"facts": ["😀"]}),
        ('{"facts": ["\\u12", "Ann likes tea"]}', {"facts": ["\ufffd", "Ann likes tea"]}),
        ('{"facts": ["\\uZZ", "b"]}', {"facts": ["\ufffdZZ", "b"]}),
        ('{"facts": ["C:\\\\u12"],}', {"facts": ["C:\\u12"]}),
        ('{"\\ud83d": 1}', {"\ufffd": 1}),
    ],
)
def test_bad_escapes_cost_one_character(reply: str, value: object) -> None:
    """A broken \\u escape or lone surrogate becomes U+FFFD; the other facts are kept."""
    found = parse_json(reply)
    assert found == value
    json.dumps(found, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "NONE",
        "I could not find any facts.",
        "[Person] likes [Drink] {as always}",
        '<think>{"facts": ["Ann likes tea"]}',
        '<think>so {"facts": []}</think> nothing to report',
        '"just a string"',
        "42",
        "null",
        "[" * 100_000,
        '{"a":' * 100_000,
        "{" * 100_000,
        "\x00",
        "\ud800",
    ],
)
def test_a_reply_without_json_is_rejected(reply: str) -> None:
    """No object and no array: rejected with a short excerpt, never an empty result or a crash."""
    with pytest.raises(ReplyRejected) as caught:
        parse_json(reply)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "reply",
    [
        '{"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}',
        'Of course: {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Facts"}',
    ],
)
def test_an_echoed_schema_is_rejected(reply: str) -> None:
    """The schema handed back is no answer."""
    with pytest.raises(ReplyRejected, match="echoed the schema"):
        parse_json(reply)


def test_an_answer_after_the_echoed_schema_is_found() -> None:
    """A model that repeats the schema first has still answered."""
    assert parse_json('{"type": "object", "properties": {}} {"facts": []}') == {"facts": []}


def test_the_excerpt_shows_the_beginning() -> None:
    """The error quotes what the model said."""
    with pytest.raises(ReplyRejected, match="I am sorry"):
        parse_json("I am sorry, I cannot help with that. " * 50)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ann.", "Ann."),
        ("<think>a</think> Ann. <think>b</think>", " Ann. "),
        ("<thinking>a\nb</thinking>Ann.", "Ann."),
        ("hm</think>Ann.", "Ann."),
        ("Ann.<think>b", "Ann."),
        ("1 < 2 and <b>Ann</b>", "1 < 2 and <b>Ann</b>"),
    ],
)
def test_reasoning_is_dropped_from_plain_text(text: str, left: str) -> None:
    """What is inside a reasoning block is no part of the reply."""
    assert drop_thinking(text) == left


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_JSON = st.recursive(
    _LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
_CONTAINERS = st.lists(_JSON) | st.dictionaries(st.text(), _JSON)
_PROSE = st.text().filter(lambda text: not set(text) & set("[]{}<"))


def is_ordinary(value: object) -> bool:
    """Whether a value is one that is to be returned unchanged: no schema, no odd characters."""
    written = json.dumps(value, ensure_ascii=False)
    is_schema = isinstance(value, dict) and ("$schema" in value or "properties" in value)
    return not is_schema and "Infinity" not in written and "\\u0000" not in written


@settings(deadline=None)
@given(_PROSE, _CONTAINERS.filter(is_ordinary), _PROSE)
@example("", {"a": '"}'}, "")
@example("He said: ", ["[1]"], " and left.")
def test_json_in_prose_reads_as_itself(before: str, value: object, after: str) -> None:
    """Valid JSON between any two texts without brackets is returned unchanged."""
    assert parse_json(f"{before}{json.dumps(value)}{after}") == value


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\u1aé<think>/ \n', max_size=60))
def test_any_text_is_read_or_rejected(text: str) -> None:
    """No reply, however broken, ends in anything but a container or ReplyRejected."""
    try:
        value = parse_json(text)
    except ReplyRejected:
        return
    assert isinstance(value, dict | list)
