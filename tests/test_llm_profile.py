"""The profile "llm" from the environment and a real index to answers, through the factory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from encoders import WordEncoder
from minds import TableMind
from openai_server import OpenAIServer
from test_readme import context_of

from rtv_core.baselines.offers import Systems
from rtv_core.errors import MissingError, SettingError
from rtv_core.evidence import CoverFirstGatherer, UnionGatherer
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.catalogue import EXPERIMENTS
from rtv_core.experiments.ri2ver import VARIANTS
from rtv_core.factory import Models
from rtv_core.llm import environment
from rtv_core.llm.environment import LLMAddress
from rtv_core.records import Question
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.ri2ver import PromptedPipeline
from rtv_core.settings import load_settings
from rtv_core.thresholds import answers, judge

QUESTION = "Which moons go round Mars?"

CORPUS = [
    {
        "id": "1",
        "title": "Phobos (moon)",
        "text": "Phobos is the larger of the two moons that go round Mars.",
    },
    {"id": "2", "title": "Deimos", "text": "This moon goes round Mars in thirty hours."},
    {"id": "3", "title": "Europa", "text": "Europa is one of the moons that go round Jupiter."},
    {"id": "4", "title": "Discovery", "text": "Asaph Hall saw Deimos first, in August 1877."},
    {"id": "5", "title": "Bread", "text": "Flour, water and salt."},
]

MIND = TableMind(("Phobos", "Deimos", "Europa"), {"Phobos": 0.95, "Deimos": 0.9, "Europa": 0.05})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("moons")
    lines = "\n".join(json.dumps(passage) for passage in CORPUS)
    (folder / "corpus.jsonl").write_text(lines, encoding="utf-8")
    encoder = WordEncoder()
    build_index(folder / "corpus.jsonl", folder / "index", encoder)
    retriever = HybridRetriever(open_index(folder / "index", encoder.fingerprint), encoder)
    return Models(retriever, None, None, "")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[OpenAIServer]:
    server = OpenAIServer(MIND)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RTV_LLM_BASE_URL", server.base_url)
    monkeypatch.setenv("RTV_LLM_MODEL", "test-model")
    monkeypatch.setenv("RTV_LLM_API_KEY", "secret-key")
    monkeypatch.delenv("RTV_LLM_LOCAL", raising=False)
    yield server
    server.close()


def test_the_profile_answers_with_the_model_that_the_environment_names(models, server, tmp_path) -> None:
    settings = load_settings("llm", ["retriever.passages=3"])
    pipeline = models.pipeline(settings)
    trace = pipeline.ask(QUESTION)
    assert isinstance(pipeline, PromptedPipeline)
    assert answers(judge(trace, settings.verifier)) == ["Phobos", "Deimos"]
    assert (tmp_path / "rtv" / "llm.db").is_file()
    assert trace.provenance["llm"] == "test-model"
    assert trace.provenance["llm_server"] == server.base_url
    assert "secret-key" not in str(trace)
    assert b"secret-key" not in (tmp_path / "rtv" / "llm.db").read_bytes()


def test_the_exchanges_of_a_trace_are_found_by_its_provenance_and_question(models, server) -> None:
    pipeline = models.pipeline(load_settings("llm", ["retriever.passages=3"]))
    trace = pipeline.ask(QUESTION)
    found = pipeline.prompter.llm.cache.exchanges(trace.provenance["exchanges"], trace.question.text)
    assert len(found) == len(server.requests)


def test_calls_are_passages_and_twice_the_candidates(models, server) -> None:
    pipeline = models.pipeline(load_settings("llm", ["retriever.passages=5"]))
    trace = pipeline.ask(QUESTION)
    usage = pipeline.prompter.llm.usage
    assert (len(trace.hits), len(trace.candidates)) == (5, 3)
    assert usage.calls == len(trace.hits) + 2 * len(trace.candidates) == 11


def test_how_calls_are_made_is_no_part_of_what_answers_come_from(models, server) -> None:
    plain = models.pipeline(load_settings("llm")).provenance
    hurried = models.pipeline(
        load_settings("llm", ["calls.budget_calls=9", "calls.concurrency=1"])
    ).provenance
    other = models.pipeline(load_settings("llm", ["llm.fresh=1"])).provenance
    assert plain == hurried
    assert plain["exchanges"] != other["exchanges"]


def test_the_same_call_settings_share_a_budget(models, server) -> None:
    one, other = (models.pipeline(load_settings("llm", [f"llm.fresh={n}"])) for n in (1, 2))
    assert one.prompter.llm is other.prompter.llm


@pytest.mark.parametrize(
    ("overrides", "scores"),
    [
        ([], "probabilities"),
        (["llm.score=word"], "words"),
        (["llm.score=word", "llm.samples=5"], "probabilities"),
    ],
)
def test_provenance_says_whether_scores_can_be_more_than_words(models, server, overrides, scores) -> None:
    assert models.pipeline(load_settings("llm", overrides)).provenance["scores"] == scores


def test_a_model_in_this_process_only_says_words(models, server, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("RTV_LLM_BASE_URL")
    monkeypatch.setenv("RTV_LLM_LOCAL", str(tmp_path))
    assert models.pipeline(load_settings("llm")).provenance["scores"] == "words"


def test_without_a_model_in_the_environment_the_profile_says_what_to_set(models, monkeypatch) -> None:
    for name in ("RTV_LLM_BASE_URL", "RTV_LLM_LOCAL", "RTV_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingError, match="Set RTV_LLM_BASE_URL"):
        models.pipeline(load_settings("llm"))


def test_a_server_and_a_file_are_told_apart(tmp_path: Path) -> None:
    assert LLMAddress(local=str(tmp_path)).place == str(tmp_path)


@pytest.mark.parametrize(("source", "kind"), [("retrieved", CoverFirstGatherer), ("fresh", UnionGatherer)])
def test_the_setting_says_where_the_embedded_evidence_comes_from(source, kind, models) -> None:
    from rtv_core.factory import _gatherer

    settings = load_settings(overrides=[f"evidence.source={source}"]).evidence
    gatherer = _gatherer(models.retriever, settings)
    assert isinstance(gatherer, kind)


def test_fresh_evidence_comes_from_the_whole_index(models) -> None:
    from rtv_core.factory import _gatherer
    from rtv_core.recall.prompted import Listed, unite_answers

    settings = load_settings(overrides=["evidence.source=fresh", "evidence.fresh=2"]).evidence
    hits = models.retriever.search([QUESTION], 2)[0]
    candidates = unite_answers(hits, Listed((("Deimos",),)), 9)
    (body,) = _gatherer(models.retriever, settings).gather(QUESTION, candidates, hits)
    assert {p.hit.passage.id for p in body.passages if p.hit.rank > 2} >= {"4"}
    assert body.passages[0].covers


GOLD = Question("mars", QUESTION, ((("Phobos",), ("Deimos", "Mars II")),))


def bench_of(models: Models, folder: Path, *overrides: str) -> Bench:
    settings = load_settings("llm", ["retriever.passages=3", "llm.fresh=1", *overrides])
    return Bench("moons", (GOLD,), settings, lambda: models, folder / "rtv.db", Systems([]))


def test_the_ablation_has_a_line_for_each_part_and_what_the_summary_reports(models, server, tmp_path) -> None:
    table = EXPERIMENTS["ri2ver"](bench_of(models, tmp_path))
    rows = {row.name: dict(zip(table.columns, row.cells, strict=False)) for row in table.rows}
    assert list(rows) == [*VARIANTS, "Self-RAG"]
    f1 = {name: cells["F1"].all.mean for name, cells in rows.items() if cells}
    assert f1["RI2VER-style"] == 1
    assert f1["without verification"] == pytest.approx(2 * (2 / 3) / (2 / 3 + 1))
    calls = {name: cells["calls"].all.mean for name, cells in rows.items() if cells}
    assert calls == {
        "RI2VER-style": 3 + 3 + 3,
        "without verification question": 3 + 3,
        "without additional evidence": 3 + 3 + 3,
        "concatenated reading": 1 + 3 + 3,
        "without verification": 3,
        "RAG top-50": 1,
        "RAG top-10": 1,
    }
    assert rows["RAG top-10"]["tokens"].all.mean < rows["RI2VER-style"]["tokens"].all.mean
    assert {row.name: row.published for row in table.rows}["without verification"] == "42.1 / 37.3"
    assert "unconfirmed" in table.published
    assert all(cells["not understood"].all.mean == 0 for cells in rows.values() if cells)


def test_romqa_s_own_rule_and_its_robust_form_are_printed_where_questions_have_clusters(
    models, server, tmp_path
) -> None:
    twin = Question("mars 2", QUESTION, ((("Deimos",),),))
    alone = Question("mars 3", QUESTION, ((("Phobos",), ("Deimos",), ("Luna",), ("Io",)),))
    bench = replace(
        bench_of(models, tmp_path),
        questions=(GOLD, twin, alone),
        clusters={"mars": "a", "mars 2": "a", "mars 3": "b"},
    )
    table = EXPERIMENTS["ri2ver"](bench)
    (whole,) = (row for row in table.rows if row.name == "RI2VER-style")
    labels, robust = (cell.all.mean for cell in whole.cells[-2:])
    assert table.columns[-2:] == ("RoMQA F1", "RoMQA F1, worst of each cluster")
    assert labels == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert robust == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert any("2 clusters" in note for note in table.notes)


def test_lines_of_the_ablation_share_what_they_ask(models, server, tmp_path) -> None:
    EXPERIMENTS["ri2ver"](bench_of(models, tmp_path))
    bodies = [json.dumps(body, sort_keys=True) for body in server.requests]
    assert len(bodies) == len(set(bodies))


def test_the_ablation_needs_a_language_model(models, tmp_path) -> None:
    bench = Bench("m", (GOLD,), load_settings(), lambda: models, tmp_path / "rtv.db", Systems([]))
    with pytest.raises(SettingError, match="--profile llm"):
        EXPERIMENTS["ri2ver"](bench)


PAGE = Path(__file__).resolve().parents[1] / "assets" / "llm.md"


def test_the_page_shows_commands_and_settings_that_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^python -m rtv_core .*$", text, re.MULTILINE)
    assert len(shown) == 3
    for command in shown:
        parameters = context_of(command).params
        load_settings(parameters["profile"], parameters["overrides"])
    named = re.findall(
        r"`(?:--set )?((?:llm|calls|evidence|retriever|recaller|verifier)\.\w+(?:=\w+)?)", text
    )
    assert len(named) > 15
    for name in set(named) - {"llm.db"}:
        part, _, field = name.partition("=")[0].partition(".")
        assert hasattr(getattr(load_settings(), part), field), name


def test_the_page_names_every_variable_of_the_environment() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"RTV_LLM_\w+", environment.__doc__))
    assert named
    assert all(f"| `{name}` |" in text for name in named)
