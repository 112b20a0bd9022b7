"""The public test doubles: what they were told they say, and the rest they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulemem import Memory
from rulemem.errors import ModelUnavailable, ReplyRejected
from rulemem.ports import Continuation, TextReply, TextRequest
from rulemem.testing import HashEmbedder, ListExtractor, ScriptedText, TableLikelihood, stub_models
from rulemem.types import Turn


def a_request(user: str = "Who?") -> TextRequest:
    """A request that a test makes."""
    return TextRequest(stage="answer", prompt="test@1", system="Be brief.", user=user)


def test_scripted_text_replies_in_order() -> None:
    """Replies and failures come in the order of the script, and the requests are kept."""
    away = ModelUnavailable("away")
    model = ScriptedText(["one two", away])
    first, second = model.complete([a_request("a"), a_request("b")])
    assert isinstance(first, TextReply)
    assert (first.text, first.completion_tokens, first.prompt_tokens) == ("one two", 2, 3)
    assert second is away
    assert [request.user for request in model.requests] == ["a", "b"]


def test_a_script_that_has_ended_is_a_failure_of_the_test() -> None:
    """One request too many is not answered with anything."""
    with pytest.raises(AssertionError, match="no reply 1"):
        ScriptedText(["only one"]).complete([a_request(), a_request()])


def test_a_script_may_look_at_the_request() -> None:
    """A function from request to reply is a script too."""
    (reply,) = ScriptedText(lambda request: request.user.upper()).complete([a_request("who")])
    assert isinstance(reply, TextReply)
    assert reply.text == "WHO"


@given(st.lists(st.text(), max_size=4), st.integers(1, 80))
def test_hash_vectors_are_unit_and_repeatable(texts: list[str], dimension: int) -> None:
    """Whatever the text, the vector has length 1, and is the same each time."""
    embedder = HashEmbedder(dimension=dimension)
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors, HashEmbedder(dimension=dimension).embed(texts))


def test_hash_vectors_of_texts_that_share_words_are_near() -> None:
    """Two of three words in common beat none; another name gives other vectors."""
    ask, near, far = HashEmbedder().embed(["the blue kettle", "a blue kettle", "bees in June"])
    assert ask @ near > 0.5 > ask @ far
    (other,) = HashEmbedder("hash@2").embed(["the blue kettle"])
    assert ask @ other < 0.5


def test_the_table_scores_what_it_holds() -> None:
    """A known pair has its score; an unknown one the default, or is refused."""
    known, unknown = Continuation(prefix="a", text=" b"), Continuation(prefix="a", text=" c")
    table = {("a", " b"): 1.5}
    assert TableLikelihood(table).nll([known, known]) == [1.5, 1.5]
    assert TableLikelihood(table, default=3.0).nll([unknown]) == [3.0]
    with pytest.raises(AssertionError, match="no Continuation"):
        TableLikelihood(table).nll([unknown])


def test_the_list_knows_facts_and_failures_by_text() -> None:
    """A listed turn yields its facts with the time in its words, a failing one its reason."""
    extractor = ListExtractor(
        {"I moved on 3 May 2023.": [("Ann", "moved", "")]}, failures={"Hm.": "unreadable"}
    )
    turns = [
        Turn(id=n, conversation="c", key=str(n), speaker="Ann", text=text)
        for n, text in enumerate(["I moved on 3 May 2023.", "Hm.", "Hello."], start=1)
    ]
    moved, failing, nothing = extractor.extract(turns, [])
    assert moved.facts[0].turn_ids == (1,)
    assert moved.facts[0].time.raw == "3 May 2023"
    assert (failing.failed, failing.facts) == ("unreadable", ())
    assert (nothing.failed, nothing.facts) == ("", ())


def test_a_memory_works_on_doubles_alone() -> None:
    """add, search and ask run on the real store without any model file."""
    text = ScriptedText(['{"evidence": [1], "answer": "Ann"}'])
    models = stub_models(text=text, facts={"I live in Oslo.": [("Ann", "lives in", "Oslo")]})
    memory = Memory(":memory:", models=models)
    memory.add([{"role": "user", "name": "Ann", "content": "I live in Oslo."}], scope="s")
    assert [fact.object for fact in memory.facts(scope="s")] == ["Oslo"]
    assert memory.search("Oslo", scope="s")[0].turn.speaker == "Ann"
    answer = memory.ask("Who lives in Oslo?", scope="s")
    assert (answer.text, answer.cost.calls) == ("Ann", 1)
    assert memory.check(answer) == []
    memory.close()


def test_a_failure_of_the_script_reaches_the_caller() -> None:
    """An error in the script is an error of `ask`, as with a real model."""
    models = stub_models(text=ScriptedText(lambda _: ReplyRejected("empty")))
    memory = Memory(":memory:", models=models)
    memory.add([{"role": "user", "name": "Ann", "content": "I live in Oslo."}], scope="s")
    with pytest.raises(ReplyRejected):
        memory.ask("Who lives in Oslo?", scope="s")
    memory.close()
