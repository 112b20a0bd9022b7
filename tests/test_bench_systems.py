"""Systems under test: what they rank, how they answer, and what each arm changes."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.bench_records import tiny_file

from rulemem.bench.arms import FLOOR, FULL, Workshop, list_systems, make_system, resolve_systems
from rulemem.bench.baselines import FullContext
from rulemem.bench.locomo import load_locomo
from rulemem.bench.plain_answer import NOT_MENTIONED, answer_plainly
from rulemem.bench.rankers import BM25, Dense, Fused, Ranker
from rulemem.bench.recall import count_tokens
from rulemem.bench.rulemem_arms import list_arms
from rulemem.bench.shared_store import SCOPE, SharedStores
from rulemem.errors import BudgetExceeded, ConfigError, ModelUnavailable
from rulemem.models.choose import Models
from rulemem.stores.sqlite import SqliteStore
from rulemem.testing import HashEmbedder, ScriptedText, stub_models
from rulemem.top_down.guided_recall import RecallConfig
from rulemem.types import Fact, HeadKey, Rule, Turn

TEXTS = ["Ann: my kayak leaks", "Ann: kayak, kayak, and a long day at the lake", "Ben: tea?"]
MODELS = {"llm": "none", "scorer": "none", "embedder": "hash@1", "extractor": "list@1"}


@pytest.fixture
def turns(tmp_path: Path) -> tuple[Turn, ...]:
    """The turns of a small sample."""
    return load_locomo(tiny_file(tmp_path)).samples[0].turns


def _stores(folder: Path, models: Models | None = None, **names: str) -> SharedStores:
    names = MODELS | names
    return SharedStores(
        folder=folder,
        models=models or stub_models(facts={TEXTS[0]: [("Ann", "owns", "kayak")]}),
        builder={"models": {role: {"name": name} for role, name in names.items()}},
        report=lambda _progress: None,
    )


def _workshop(folder: Path, models: Models | None = None) -> Workshop:
    stores = _stores(folder, models)
    return Workshop(models=stores.models, stores=stores, seed=0)


# --- rankers ---------------------------------------------------------------------------------
def test_bm25_by_hand(tmp_path: Path) -> None:
    """Scores are Okapi's with k1 1.5 and b 0.75; a text without a common word is left out."""
    ranker = BM25()
    ranker.index(["red kayak", "red tea tea tea", "green lake"], tmp_path)
    ((first, high), (second, low)) = ranker.rank("tea, red?")
    idf_tea, idf_red = np.log(1 + 2.5 / 1.5), np.log(1 + 1.5 / 2.5)
    long, short = 1.5 * (0.25 + 0.75 * 4 / (8 / 3)), 1.5 * (0.25 + 0.75 * 2 / (8 / 3))
    assert (first, second) == (1, 0)
    assert high == pytest.approx(idf_tea * 3 * 2.5 / (3 + long) + idf_red * 2.5 / (1 + long))
    assert low == pytest.approx(idf_red * 2.5 / (1 + short))
    assert ranker.rank("submarine") == []


def test_dense_keeps_its_vectors(tmp_path: Path) -> None:
    """Vectors are computed once for the same texts, and again for others."""

    class Counting(HashEmbedder):
        texts = 0

        def embed(self, texts):  # type: ignore[no-untyped-def]
            self.texts += len(texts)
            return super().embed(texts)

    embedder = Counting()
    for texts in (TEXTS, TEXTS, TEXTS[:2]):
        Dense(embedder).index(texts, tmp_path)
    assert embedder.texts == len(TEXTS) + 2
    ranker = Dense(embedder)
    ranker.index(TEXTS, tmp_path)
    assert ranker.rank("Ben: tea?")[0] == (2, pytest.approx(1.0))


def test_fusion_adds_reciprocal_ranks(tmp_path: Path) -> None:
    """Each ranking gives 1 / (60 + rank); what only one of them finds is there too."""

    class Fixed:
        def __init__(self, *places: int) -> None:
            self._places = places

        def index(self, texts: object, folder: Path) -> None:
            pass

        def rank(self, query: str) -> list[tuple[int, float]]:
            return [(place, 9.0) for place in self._places]

    rankers: list[Ranker] = [Fixed(0, 1), Fixed(1, 2)]
    found = Fused(rankers).rank("")
    assert [place for place, _ in found] == [1, 0, 2]
    assert [score for _, score in found] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])


# --- baselines -------------------------------------------------------------------------------
def test_turn_retrieval(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """Passages show date, speaker, text and caption, and name the turn that they are."""
    system = make_system("bm25", _workshop(tmp_path))
    system.open("pond-1", tmp_path / "work")
    assert system.ingest(turns).turns == 5
    first, *_ = system.retrieve("Who whistles?", 3)
    assert first.turns == ("D1:3",)
    assert first.text == "[4 March 2024] Priya: Basil already whistles. [image: a grey parrot]"
    assert len(system.retrieve("parrot choir wrist", 2)) == 2


def test_baselines_answer_from_passages(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """The model sees the rendered passages, the preamble and the question; its words come back."""
    text = ScriptedText(["a kayak", f"{NOT_MENTIONED}."])
    system = make_system("bm25", _workshop(tmp_path, stub_models(text=text)))
    system.open("pond-1", tmp_path / "work")
    system.ingest(turns)
    passages = system.retrieve("Who owned a kayak?", 1)
    reply = system.answer("Who owned a kayak?", passages, preamble="Rule 1")
    user = text.requests[0].user
    assert user.startswith("Rule 1\n\n[4 March 2024] Tomas: Lovely! I sold my old kayak")
    assert user.endswith("Question: Who owned a kayak?\nShort answer:")
    assert (reply.text, reply.refused, reply.cost.calls) == ("a kayak", False, 1)
    assert system.answer("Why?", [], preamble="").refused
    assert text.requests[1].user.startswith("(no messages)")


def test_a_failing_model_is_not_an_answer() -> None:
    """A model's error is raised, not turned into an empty answer."""
    with pytest.raises(ModelUnavailable):
        answer_plainly(ScriptedText([ModelUnavailable("gone")]), "Why?", "")


def test_without_a_model_there_is_no_answer(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """A baseline without a language model says what it lacks."""
    system = make_system("dense", _workshop(tmp_path))
    system.open("pond-1", tmp_path / "work")
    system.ingest(turns)
    with pytest.raises(ConfigError, match="language model"):
        system.answer("Why?", [])


def test_the_floor_answers_with_a_date(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """The date of the best turn, whatever is asked; no turn, no answer."""
    system = make_system(FLOOR, _workshop(tmp_path))
    system.open("pond-1", tmp_path / "work")
    system.ingest(turns)
    reply = system.answer("When did the choir sing in Lisbon?", [])
    assert (reply.text, reply.refused) == ("11 May 2024", False)
    assert system.answer("submarine", []).refused


def test_full_context_keeps_the_end(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """The last turns that fit the window, in their order, whatever is asked."""
    whole = FullContext(FULL, None, 10_000)
    whole.open("pond-1", tmp_path / "work")
    whole.ingest(turns)
    texts = [passage.text for passage in whole.retrieve("anything", 1)]
    assert len(texts) == len(turns) and not whole.ranked
    window = sum(count_tokens(text) for text in texts[-2:])
    short = FullContext(FULL, None, window)
    short.open("pond-1", tmp_path / "work")
    short.ingest(turns)
    assert [passage.text for passage in short.retrieve("anything", 1)] == texts[-2:]


# --- arms ------------------------------------------------------------------------------------
def test_names_and_groups() -> None:
    """Groups stand for their members, each once; an unknown name is refused with the nearest."""
    assert resolve_systems(["bm25", "baselines"]) == ["bm25", "dense", "hybrid"]
    assert set(resolve_systems(["all"])) == set(list_systems())
    with pytest.raises(ConfigError, match="Did you mean 'hybrid'"):
        resolve_systems(["hybird"])


def test_each_signal_is_left_out_once() -> None:
    """For each weight of the default there is an arm that differs from it in this weight only."""
    default, arms = RecallConfig(), list_arms()
    weights = [f.name for f in fields(default) if isinstance(getattr(default, f.name), float)]
    for name in (weight for weight in weights if getattr(default, weight)):
        recall = arms[f"rulemem-minus-{name}"].recall
        assert recall == replace(default, **{name: 0.0})
    assert {"slot", "person", "keys"} <= set(weights)


def test_arms_without_rules_and_with_bodies_only() -> None:
    """The ablations switch off what their names say, and nothing else."""
    arms, default = list_arms(), RecallConfig()
    none = arms["rulemem-no-rules"].recall
    assert none == replace(default, keys=0.0, bodies=0.0, bodies_of_why=0.0)
    bodies = arms["rulemem-bodies"].recall
    assert bodies.keys == 0 < bodies.bodies == bodies.bodies_of_why
    facts_only = arms["rulemem-facts-only"].recall
    assert facts_only.turn_text == facts_only.window_dense == facts_only.next_text == 0
    assert facts_only.fact_dense == default.fact_dense
    assert arms["rulemem"].recall == arms["rulemem-no-rpc"].recall == default


# --- RuleMem and its shared memories -----------------------------------------------------------
def test_rulemem_retrieves_from_the_shared_memory(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """The product's search comes back as passages with keys and routes; it answers by `ask`."""
    system = make_system("rulemem", _workshop(tmp_path))
    system.open("pond-1", tmp_path / "work")
    ingested = system.ingest(turns)
    assert ingested.turns == 5 and set(ingested.seconds) == {"add", "learn"}
    first, *_ = system.retrieve("What does Basil the parrot do?", 3)
    assert first.turns[0] in {"D1:1", "D1:3"} and "text" in first.routes
    reply = system.answer("Where did the choir of Tomas sing?", [])
    assert not reply.refused and "D2:1" in reply.cited
    with pytest.raises(ConfigError, match="no preamble"):
        system.answer("Why?", [], preamble="Rule 1")
    system.close()


def test_arms_differ_over_one_memory(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """A head key leads to its turn, to others in the control, nowhere without rules."""
    workshop = _workshop(tmp_path)
    workshop.stores.build("pond-1", turns)
    embedder = workshop.models.embedder
    path = workshop.stores.path("pond-1")
    store = SqliteStore(path, embedder_name=embedder.name, dimension=embedder.dimension)
    (turn,) = (turn for turn in store.turns(SCOPE) if turn.key == "D2:2")
    fact = Fact(
        subject="Priya", relation="break", object="wrist", text="Priya broke a wrist.",
        speaker="Priya", turn_ids=(turn.id,), extractor="list@1",
    )  # fmt: skip
    (fact_id,) = (
        o.id for o in store.commit_facts(SCOPE, [fact], embedder.embed([fact.text]), [turn.id])
    )
    key = HeadKey(text="Priya may cancel a concert", fact_ids=(fact_id,), turn_ids=(turn.id,))
    rule = Rule(
        body=("[Person] breaks [Limb]",), head="[Person] may cancel a concert", keys=(key,),
        inducer="imply@1/x",
    )  # fmt: skip
    store.commit_rules(SCOPE, [rule], embedder.embed([key.text]), embedder.embed([rule.head]))
    store.close()
    led: dict[str, set[str]] = {}
    for name in ("rulemem", "rulemem-no-rules", "rulemem-random-keys"):
        system = make_system(name, workshop)
        system.open("pond-1", tmp_path / "work")
        system.ingest(turns)
        found = system.retrieve("Why may Priya cancel a concert?", 5)
        led[name] = {p.turns[0] for p in found if any(r.startswith("key:") for r in p.routes)}
        system.close()
    assert (led["rulemem"], led["rulemem-no-rules"]) == ({"D2:2"}, set())
    assert led["rulemem-random-keys"] < {"D1:1", "D1:3", "D2:2"}
    assert len(led["rulemem-random-keys"]) == 1


def test_a_memory_is_built_once(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """A finished memory is not touched again, and says what built it."""
    stores = _stores(tmp_path)
    first = stores.build("pond-1", turns)
    before = stores.path("pond-1").stat().st_mtime_ns
    again = _stores(tmp_path, extractor="other@1").build("pond-1", ())
    assert again == first and first.counts
    assert stores.path("pond-1").stat().st_mtime_ns == before


def test_another_language_model_does_not_go_on_with_a_memory(
    turns: tuple[Turn, ...], tmp_path: Path
) -> None:
    """A memory is read without a language model, but not with one that did not build it."""
    _stores(tmp_path, llm="small").build("pond-1", turns)
    _stores(tmp_path, llm="none").build("pond-1", turns)
    with pytest.raises(ConfigError, match="built with llm 'small', this run has 'large'"):
        _stores(tmp_path, llm="large").build("pond-1", turns)


def test_an_interrupted_build_goes_on(turns: tuple[Turn, ...], tmp_path: Path) -> None:
    """A cap leaves the memory unfinished and says so; the next run finishes it, times added up."""
    facts = {turn.text: [(turn.speaker, "says", f"thing {n}")] for n, turn in enumerate(turns)}
    out = ScriptedText(lambda _request: BudgetExceeded("spent"))
    with pytest.raises(BudgetExceeded, match="'pond-1' is not finished"):
        _stores(tmp_path, stub_models(text=out, facts=facts), llm="x").build("pond-1", turns)
    note = json.loads((tmp_path / "pond-1.json").read_text())
    assert note["finished"] is False
    quiet = ScriptedText(lambda _request: "NONE")
    done = _stores(tmp_path, stub_models(text=quiet, facts=facts), llm="x").build("pond-1", turns)
    assert json.loads((tmp_path / "pond-1.json").read_text())["finished"] is True
    assert done.seconds["add"] > note["seconds"]["add"]
