"""The papers' tables and figures on a small made-up world, with figures that one can check by hand."""

from __future__ import annotations

import json
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes import CoverGatherer, PatternRecaller, TableVerifier, WordRetriever
from tiny import tiny_network

from rtv_core.baselines.load import JOINT
from rtv_core.baselines.offers import Offer, Systems, offers
from rtv_core.baselines.rerank import OracleReranker, RetrievalOrder
from rtv_core.baselines.systems import Baseline, OtherPipeline, RecallerAlone, RerankThenRead
from rtv_core.cli import cli, main
from rtv_core.cli.experiment import command_line, show
from rtv_core.errors import InputError, MismatchError
from rtv_core.experiments import TITLES
from rtv_core.experiments.bars import bars_of, stacked_bars_of
from rtv_core.experiments.bench import OURS, Bench
from rtv_core.experiments.catalogue import EXPERIMENTS
from rtv_core.experiments.drawing import draw
from rtv_core.experiments.figure5 import attacked
from rtv_core.experiments.markdown import markdown, shown_cell
from rtv_core.experiments.results import read_results
from rtv_core.experiments.section4 import dependence
from rtv_core.experiments.table import Cell, Chart, Row, Series, Table
from rtv_core.experiments.table5 import under
from rtv_core.experiments.table7 import configurations
from rtv_core.experiments.tally import Tally, answer_values, count, share
from rtv_core.metrics import Interval
from rtv_core.pipeline import Pipeline
from rtv_core.reading.weights import save_network
from rtv_core.records import EVIDENCE_SIZES, Evidence, Hit, Passage, Question, Reading, Span, Verdict
from rtv_core.settings import Settings
from rtv_core.store.runs import RunStore
from rtv_core.text import find_answer
from rtv_core.thresholds import answers, judge
from rtv_core.wire import to_json

PATTERN = r"\b(?:Ilo|Brae|Sef|Ostic|Malu|Dorn)\b"

PASSAGES = (
    Passage("a", "Tamis", "The moons Ilo and Brae go round Tamis."),
    Passage("b", "Ilo", "The moon Ilo goes round Tamis."),
    Passage("c", "Comets", "The comet Sef passed the moons of Tamis."),
    Passage("d", "Sefra", "Which languages are spoken in Sefra: Ostic, Malu."),
    Passage("e", "Harbours", "The harbour of Dorn was dredged."),
)
MOONS = Question("moons", "which moons go round Tamis", ((("Ilo",), ("Brae",)),))
TONGUES = Question("tongues", "which languages are spoken in Sefra", ((("Ostic",), ("Malu",)),))
HARBOUR = Question("harbour", "which harbour was dredged", ((("Dorn", "harbour of Dorn"),),))
SILENT = Question("silent", "who dredged the moons", ((),))
UNKNOWN = Question("unknown", "who passed the harbour")

SCORES = {"Ilo": 0.9, "Brae": 0.4, "Sef": 0.7, "Ostic": 0.8, "Malu": 0.6, "Dorn": 0.3}
"""Whatever the question: at tau .5 its answers are Ilo, Ostic, Sef and Malu."""


@dataclass
class World:
    """Fake models that count what they are asked."""

    scores: dict[str, float] = field(default_factory=lambda: dict(SCORES))
    passages: Sequence[Passage] = PASSAGES
    asked: list[str] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)

    def pipeline(self, settings: Settings) -> Pipeline:
        self.caches.append(settings.calls.cache)
        return Pipeline(
            _Counting(WordRetriever(self.passages), self.asked),
            PatternRecaller(PATTERN),
            CoverGatherer(settings.evidence.coverage),
            TableVerifier(self.scores),
            settings,
            {"models": "fake", "settings": to_json(settings)},
        )


@dataclass
class _Counting:
    retriever: WordRetriever
    asked: list[str]

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        self.asked += questions
        return self.retriever.search(questions, k)


@dataclass
class CompetingReader:
    """Every answer in the passages gets a share of one; as many shares as it has places."""

    shares: Callable[[int], float] = lambda places: 1 / places

    def read(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        places = {h.passage.id: _places(h.passage.text) for h in hits}
        all_ = sum(map(len, places.values()))
        return [
            Reading(name, 0.9, tuple(Span(start, end, self.shares(all_)) for start, end in own))
            for name, own in places.items()
        ]


def _places(text: str) -> list[tuple[int, int]]:
    return sorted(place for answer in SCORES for place in find_answer(text, answer))


def bench_of(
    folder: Path,
    *systems: Baseline,
    questions: Sequence[Question] = (MOONS, TONGUES, HARBOUR),
    world: World | None = None,
    **options,
) -> Bench:
    world = world or World()
    offered = [Offer(system.name, lambda _, system=system: system) for system in systems]
    options = {"settings": Settings().with_values({"verifier.tau": 0.5}), "run": ""} | options
    return Bench(
        "moons",
        tuple(questions),
        load=lambda: world,
        store=folder / "rtv.db",
        systems=Systems(offered),
        **options,
    )


def cell(table: Table, row: str, column: str) -> Cell | None:
    (own,) = (r for r in table.rows if r.name == row)
    return own.cells[table.columns.index(column)]


def mean(table: Table, row: str, column: str) -> float:
    return cell(table, row, column).all.mean


def several(table: Table, row: str, column: str) -> float:
    return cell(table, row, column).multi.mean


# The bench


def test_every_experiment_has_a_title_and_the_command_of_its_name() -> None:
    assert set(TITLES) == set(EXPERIMENTS)


def test_answers_are_asked_for_once_and_kept(tmp_path: Path) -> None:
    world = World()
    for name in ("table4", "figure4", "table5", "table9", "table10"):
        EXPERIMENTS[name](bench_of(tmp_path, world=world))
    assert sorted(world.asked) == sorted(q.text for q in (MOONS, TONGUES, HARBOUR))


def test_a_limit_leaves_the_rest_for_later(tmp_path: Path) -> None:
    world = World()
    first = [t.question.id for t in bench_of(tmp_path, world=world, limit=2).traces()]
    assert (first, len(world.asked)) == (["moons", "tongues"], 2)
    assert [t.question.id for t in bench_of(tmp_path, world=world).traces()] == [
        "moons",
        "tongues",
        "harbour",
    ]
    assert len(world.asked) == 3


def test_the_first_questions_are_those_that_count_and_their_answers_are_shared(tmp_path: Path) -> None:
    world = World()
    bench = bench_of(tmp_path, world=world, questions=(SILENT, MOONS, UNKNOWN, TONGUES, HARBOUR))
    assert [t.question.id for t in bench.first(2).traces()] == ["moons", "tongues"]
    assert bench.first(9).asked == bench.asked
    asked = len(world.asked)
    assert [t.question.id for t in bench.traces()] == ["moons", "tongues", "harbour"]
    assert (asked, len(world.asked)) == (4, 5)


def test_other_settings_and_other_models_are_asked_apart(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    list(bench.traces())
    list(bench.traces(bench.settings.with_values({"retriever.passages": 2})))
    list(bench.read_by(RecallerAlone(0.3)))
    names = [run.name for run in RunStore(bench.store).runs()]
    assert len(set(names)) == 3
    assert all(name.startswith("moons · ") for name in names)


def test_the_answers_of_a_named_run_are_used_if_they_come_from_the_same_models(tmp_path: Path) -> None:
    world = World()
    list(bench_of(tmp_path, world=world, run="dev").traces())
    EXPERIMENTS["table4"](bench_of(tmp_path, world=world, run="dev"))
    assert len(world.asked) == 3
    with pytest.raises(MismatchError, match="'dev' already"):
        list(bench_of(tmp_path, run="dev", settings=Settings()).traces())


def test_only_questions_with_a_gold_answer_count(tmp_path: Path) -> None:
    questions = (SILENT, MOONS, UNKNOWN, TONGUES)
    bench = bench_of(tmp_path, RerankThenRead(OracleReranker(), CompetingReader()), questions=questions)
    assert [t.question.id for t in bench.traces()] == ["moons", "tongues"]
    assert [t.question.id for t in bench.read_by(bench.baselines()[0])] == ["moons", "tongues"]
    with pytest.raises(InputError, match="No question of moons has a gold answer"):
        bench_of(tmp_path, questions=(SILENT, UNKNOWN))


# Tables 4, 9, 2


def test_table_4_has_each_system_with_its_own_tau_beside_the_published_ones(tmp_path: Path) -> None:
    table = EXPERIMENTS["table4"](bench_of(tmp_path, RecallerAlone(0.01)))
    # Of four answers one, two and none are right.
    assert mean(table, OURS, "F1, official") == pytest.approx((2 / 6 + 4 / 6 + 0) / 3)
    assert several(table, OURS, "F1, official") == pytest.approx((2 / 6 + 4 / 6) / 2)
    assert mean(table, OURS, "#Hit") == 3
    # The recaller alone gives everything that all passages hold: 6 answers, those that are right among them.
    assert mean(table, "recaller alone", "F1, official") == pytest.approx((4 / 8 + 4 / 8 + 2 / 7) / 3)
    assert mean(table, "recaller alone", "answers") == 6
    ahead = cell(table, "recaller alone", f"{OURS}: ahead by").all.mean
    assert ahead == pytest.approx(
        mean(table, OURS, "F1, official") - mean(table, "recaller alone", "F1, official")
    )
    published = {row.name: row.published for row in table.rows}
    assert "AmbigQA dev 52.1/41.6" in published[OURS]
    assert published["Refuel"].startswith("AmbigQA dev 48.3/37.3")
    assert "48.5/37.6" in published["JPR"]


def test_table_9_takes_the_best_candidate_of_each_system(tmp_path: Path) -> None:
    table = EXPERIMENTS["table9"](bench_of(tmp_path))
    column = "exact match of the best candidate"
    assert mean(table, OURS, column) == pytest.approx(1 / 3)  # Ilo is the best of all candidates everywhere
    assert table.charts[0].bars[0].parts == (pytest.approx(100 / 3),)


def test_table_2_measures_the_orders_that_need_no_reader(tmp_path: Path) -> None:
    # Ten passages without an answer are more like the question than the one that has both.
    noise = tuple(Passage(f"n{i:02}", "", f"which moons go round Tamis {i}") for i in range(10))
    table = EXPERIMENTS["table2"](
        bench_of(tmp_path, questions=(MOONS,), world=World(passages=(*noise, *PASSAGES)))
    )
    assert mean(table, "oracle rerank", "MRecall@10") == mean(table, "oracle rerank", "MRecall@5") == 1
    assert mean(table, "retrieval order", "MRecall@10") == 0
    assert mean(table, "oracle rerank", "gold answers covered @10") == 2
    assert cell(table, "oracle rerank", "F1") is None
    assert any("train joint-reader" in note for note in table.notes)


def test_table_2_has_what_the_reader_makes_of_each_order(tmp_path: Path) -> None:
    systems = [
        RerankThenRead(reranker, CompetingReader(), tau=0.2, passages=1)
        for reranker in (OracleReranker(), RetrievalOrder())
    ]
    table = EXPERIMENTS["table2"](bench_of(tmp_path, *systems, questions=(TONGUES, MOONS)))
    assert mean(table, "oracle rerank, then read", "#Hit") == 4  # d has both languages, a both moons
    assert mean(table, "oracle rerank, then read", "F1") == 1
    published = {row.name: row.published for row in table.rows}
    assert "48.4/37.0" in published["oracle rerank, then read"]
    assert "53.2/28.9" in published["retrieval order, then read"]


# Tables 5, 10, figure 4


@pytest.mark.parametrize("relevance", [0.02, 0.5, 0.62, 0.7, 0.8, 0.95])
def test_a_stricter_recaller_is_what_a_pipeline_under_that_threshold_is(
    tmp_path: Path, relevance: float
) -> None:
    bench = bench_of(tmp_path)
    strict = bench.settings.with_values({"recaller.relevance": relevance})
    for trace in bench.traces():
        fresh = World().pipeline(strict).ask(trace.question)
        kept = under(trace, strict.recaller)
        assert kept.candidates == fresh.candidates
        assert kept.verdicts == fresh.verdicts


def test_table_5_sweeps_relevance_alone_and_verified_and_says_so(tmp_path: Path) -> None:
    table = EXPERIMENTS["table5"](bench_of(tmp_path))
    lax, strict = "relevance at least 0.02", "relevance at least 0.9"
    assert mean(table, lax, "|A|") == 6
    assert mean(table, strict, "|A|") == 0
    assert mean(table, f"{lax}, verified, tau 0.5", "F1") == pytest.approx((2 / 6 + 4 / 6 + 0) / 3)
    assert mean(table, lax, "recall") == 1
    assert mean(table, lax, "precision") == pytest.approx((2 / 6 + 2 / 6 + 1 / 6) / 3)
    assert any("alpha_neg" in note for note in table.notes)
    (chart,) = table.charts
    assert [len(series.points) for series in chart.series] == [7] * 4
    published = [row for row in table.rows if row.published]
    assert len(published) == 8
    assert all(row.name.startswith("published: T5") and not row.cells for row in published)


def test_table_10_is_the_same_sweep_beside_webqsp(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    five, ten = EXPERIMENTS["table5"](bench), EXPERIMENTS["table10"](bench)
    assert [row for row in five.rows if row.cells] == [row for row in ten.rows if row.cells]
    assert "414/309" in str([row.published for row in ten.rows])
    assert "WebQSP" in ten.published


def test_table_5_adds_the_recallers_of_further_profiles(tmp_path: Path) -> None:
    settings = Settings().with_values({"verifier.tau": 0.65})
    strict = OtherPipeline("profile a10", World(passages=PASSAGES[:2]).pipeline(settings))
    table = EXPERIMENTS["table5"](bench_of(tmp_path, RecallerAlone(), strict))
    assert mean(table, "profile a10", "|A|") == 2  # Ilo and Brae stand in its passages
    assert mean(table, "profile a10", "recall") == pytest.approx(1 / 3)
    assert mean(table, "profile a10, verified, tau 0.65", "|A|") == 1
    assert not any(row.name.startswith("recaller alone") for row in table.rows)


def test_a_language_model_s_answers_are_not_swept(tmp_path: Path) -> None:
    world = World()
    settings = replace(Settings().with_values({"verifier.tau": 0.5}), system="llm")
    table = EXPERIMENTS["table5"](bench_of(tmp_path, world=world, settings=settings))
    assert [row.name for row in table.rows if row.cells] == [
        "relevance at least 0.02",
        "relevance at least 0.02, verified, tau 0.5",
    ]
    assert table.charts == ()


def test_figure_4_is_what_judge_gives_for_every_k_and_tau(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    table = EXPERIMENTS["figure4"](bench)
    traces = list(bench.traces())
    best = {}
    for k in EVIDENCE_SIZES:
        for tau in (0.05, 0.5, 0.9):
            settings = replace(bench.settings.verifier, k=k, tau=tau)
            given = [answer_values(answers(judge(t, settings)), t.question)["f1"] for t in traces]
            row = next(r for r in table.rows if r.name.startswith(f"tau = {tau:g}"))
            assert row.cells[EVIDENCE_SIZES.index(k)].all.mean == pytest.approx(sum(given) / 3)
    for row in table.rows:
        for k, own in zip(EVIDENCE_SIZES, row.cells, strict=True):
            best[k, row.name] = own.all.mean + own.multi.mean
    k, name = max(best, key=best.get)
    assert any(
        note.startswith(f"Highest: k = {k}, {name.removesuffix(' (in use)')}.") for note in table.notes
    )
    assert "52.1/41.6" in next(row.published for row in table.rows if row.name == "tau = 0.5 (in use)")


# Figure 5


class CoverShare:
    """Scores a candidate by the share of its evidence that covers it."""

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        return [self._score(body) for body in evidence]

    def _score(self, body: Evidence) -> Verdict:
        covering = [bool(p.covers) for p in body.passages]
        return Verdict(tuple(sum(covering[:k]) / max(len(covering[:k]), 1) for k in EVIDENCE_SIZES))


@dataclass
class CoverWorld(World):
    def pipeline(self, settings: Settings) -> Pipeline:
        return replace(super().pipeline(settings), verifier=CoverShare())


def test_a_score_that_others_evidence_drowns_rises_when_that_is_taken_away(tmp_path: Path) -> None:
    # Ilo is covered by a and b of five passages, Brae by a alone; b supports Ilo and not Brae.
    settings = Settings().with_values({"verifier.tau": 0.3})
    pipeline = CoverWorld().pipeline(settings)
    ilo, brae = attacked(pipeline, pipeline.ask(MOONS))
    assert (ilo.answer, ilo.predicted, ilo.removable) == ("Ilo", True, 0)  # a supports Brae, but also Ilo
    assert (brae.answer, brae.predicted, brae.removable) == ("Brae", False, 1)
    assert brae.reach.whole == 1 / 5
    assert brae.reach.highest.p_right == 1 / 4
    assert brae.reach.lowest.p_right == 1 / 5


def test_figure_5_counts_who_crosses_tau_and_a_half(tmp_path: Path) -> None:
    settings = Settings().with_values({"verifier.tau": 0.2})
    table = EXPERIMENTS["figure5"](
        bench_of(tmp_path, questions=(MOONS, TONGUES), world=CoverWorld(), settings=settings)
    )
    # Predicted: Ilo alone is above .2. Missed: Brae goes from 1/5 to 1/4; Ostic and Malu share their passage.
    missed, predicted = "missed: score rises", "predicted: score falls"
    assert mean(table, missed, "candidates") == 3
    assert mean(table, missed, "with passages to take away") == 1
    assert mean(table, missed, "cross tau = 0.2") == pytest.approx(1 / 3)
    assert mean(table, missed, "cross .5") == 0
    assert mean(table, missed, "largest move, mean") == pytest.approx(1 / 4 - 1 / 5)
    assert mean(table, predicted, "candidates") == 1
    assert cell(table, predicted, "largest move, mean") is None
    assert [row.published for row in table.rows] == ["13.0 % rise above .5", "3.4 % fall below .5"]
    assert table.charts[0].series[0].points == ((1 / 5, 1 / 4),)


# Section 4


def reader_of(reader, tau: float) -> RerankThenRead:
    return RerankThenRead(OracleReranker(), reader, tau=tau)


def test_answers_that_compete_come_back_when_another_loses_its_passages(tmp_path: Path) -> None:
    # Read: a (Ilo, Brae), b (Ilo), c (Sef), d (Ostic, Malu), e (Dorn): 7 places. Ilo has 2/7, Brae 1/7.
    # Without b there are 6 places: Brae has 1/6.
    bench = bench_of(tmp_path)
    reader = reader_of(CompetingReader(), 0.15)
    trace = next(iter(bench.read_by(reader)))
    assert bench.predict(trace, reader) == ["Ilo"]
    found = dependence(bench, reader, trace)
    assert (found.missed, found.predicted, found.recovered) == ((1,), (2,), True)
    best = {hit.passage.id: hit.rank for hit in trace.hits}
    assert found.more_relevant == (best["a"] < best["b"])


def test_answers_scored_alone_do_not_come_back(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)
    reader = reader_of(CompetingReader(lambda places: 1 / 7), 0.15)
    found = dependence(bench, reader, next(iter(bench.read_by(reader))))
    assert found.recovered is False


def test_a_question_whose_answers_share_their_passages_is_no_target(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, questions=(TONGUES,))
    reader = reader_of(CompetingReader(), 0.15)
    assert dependence(bench, reader, next(iter(bench.read_by(reader)))).recovered is None


def test_section_4_reports_targets_and_what_was_recovered(tmp_path: Path) -> None:
    table = EXPERIMENTS["section4"](bench_of(tmp_path, reader_of(CompetingReader(), 0.15)))
    values = {row.name: row.cells[0].all.mean for row in table.rows if row.cells[0]}
    assert values["questions"] == 3
    assert values["targets"] == 1
    assert values["of these, a missed answer is recovered, %"] == 1
    assert values["supporting passages in the input, of a missed gold answer"] == 1
    assert [row.published for row in table.rows] == ["", "179", "43.6 %", "40.0 %", "3.13", "5.08"]


def test_section_4_needs_a_trained_reader(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="train joint-reader"):
        EXPERIMENTS["section4"](bench_of(tmp_path, RecallerAlone()))


def test_trained_networks_take_the_place_of_the_fakes(tmp_path: Path) -> None:
    network, card, _ = tiny_network()
    folder = tmp_path / "joint"
    save_network(network, replace(card, stage=JOINT, tau=0.01), folder)
    bench = replace(bench_of(tmp_path), systems=Systems(offers([folder])))
    table = EXPERIMENTS["table2"](bench)
    readers = [row.name for row in table.rows[:-1]]
    assert readers == [
        "rerank with one network, then read",
        "oracle rerank, then read",
        "retrieval order, then read",
    ]
    assert all(0 <= row.cells[3].all.mean <= 1 for row in table.rows)
    assert "JPR" in table.rows[0].published
    section = EXPERIMENTS["section4"](bench)
    assert section.rows[0].cells[0].all.mean == 3


# Table 7


def test_the_configurations_of_table_7_get_cheaper_one_by_one() -> None:
    found = list(configurations(Settings()).values())
    assert [(s.retriever.passages, s.recaller.relevance, s.verifier.k) for s in found] == [
        (100, 0.02, 10),
        (100, 0.02, 5),
        (100, 0.1, 5),
        (50, 0.1, 5),
    ]
    cheap = Settings().with_values({"retriever.passages": 1, "recaller.relevance": 0.5, "verifier.k": 1})
    assert list(configurations(cheap).values()) == [cheap]


def test_table_7_times_every_configuration_on_models_that_were_loaded_for_it(tmp_path: Path) -> None:
    loaded: list[World] = []

    def load() -> World:
        loaded.append(World())
        return loaded[-1]

    bench = replace(bench_of(tmp_path, RecallerAlone(0.01), limit=2), load=load)
    table = EXPERIMENTS["table7"](bench)
    ours = [row for row in table.rows if row.name.startswith(OURS)]
    assert len(ours) == 4
    assert [len(world.asked) for world in loaded if len(world.asked) == 3] == [3] * 4  # one to warm up
    for row in ours:
        stages, total = row.cells[:4], row.cells[5]
        assert total.all.mean == pytest.approx(sum(stage.all.mean for stage in stages))
    assert cell(table, ours[0].name, "|A|").all.mean == 6
    alone = next(row for row in table.rows if row.name == "recaller alone")
    assert [own is None for own in alone.cells[:4]] == [False, False, True, True]
    assert sum(row.name.startswith("published: ") for row in table.rows) == 5
    caches = {cache for world in loaded for cache in world.caches if cache}
    assert len(caches) == 4  # no configuration knows what another asked of a language model
    assert table.charts[0].parts == ("retrieve", "recall", "gather", "verify")
    assert len(table.charts[0].bars) == len(table.rows) - 5


# Tallies, Markdown, SVG


def test_a_figure_names_the_questions_with_several_answers_only_where_these_are_some() -> None:
    tally, all_multi, none = Tally(), Tally(), Tally()
    for question, value in ((MOONS, 1.0), (TONGUES, 0.5), (HARBOUR, 0.0)):
        tally.add(question, f1=value)
    all_multi.add(MOONS, f1=1.0)
    none.add(HARBOUR, f1=1.0)
    assert (tally.mean("f1").all.mean, tally.mean("f1").multi.mean) == (0.5, 0.75)
    assert (tally.total("f1").all.mean, tally.total("f1").multi.mean) == (1.5, 1.5)
    assert all_multi.mean("f1").multi is none.mean("f1").multi is None
    assert tally.mean("absent") is tally.total("absent") is tally.ahead(none, "absent") is None
    assert tally.ahead(none, "f1").all.mean == -1.0
    assert "after the stroke, the 2 with several" in tally.note
    assert "all with several answers" in all_multi.note
    assert "none with several answers" in none.note


def test_cells_are_shown_with_their_intervals() -> None:
    interval, point = Interval(0.5, 0.25, 0.75), Interval(0.5, 0.5, 0.5)
    assert shown_cell(Cell(interval)) == "50.0 (25.0 to 75.0)"
    assert shown_cell(Cell(interval, point)) == "50.0 (25.0 to 75.0) / 50.0"
    assert shown_cell(count(1234)) == "1,234"
    assert shown_cell(Cell(interval, scale=1, digits=2)) == "0.50 (0.25 to 0.75)"
    assert shown_cell(None) == shown_cell(share([])) == "-"


def test_a_table_is_markdown_with_a_published_column() -> None:
    rows = (Row("a|b", (count(3), None), "7"), Row("published alone", published="|A| 2"))
    table = Table("t", "A title", "system", ("|A|", "F1"), rows, "A paper", ("A note.",))
    assert markdown(table) == (
        "### A title\n\n"
        "| system | \\|A\\| | F1 | published (A paper) |\n"
        "|---|---|---|---|\n"
        "| a\\|b | 3 | - | 7 |\n"
        "| published alone | - | - | \\|A\\| 2 |\n\n"
        "* A note.\n"
    )


@pytest.mark.parametrize(
    "series",
    [
        (Series("<F1> & more", ((0.1, 20.0), (0.5, 60.0)), ((10.0, 30.0), (50.0, 70.0))),),
        (Series("dots", ((0.2, 0.3),), scattered=True), Series("squares", ((0.4, 0.1),), scattered=True)),
        (Series("nothing", ()),),
        (Series("flat", ((1.0, 0.0), (2.0, 0.0))),),
        (Series("below", ((0.0, -3.0), (1.0, 4.0))),),
    ],
)
def test_a_chart_is_a_well_formed_picture_whose_points_lie_inside(series: tuple[Series, ...]) -> None:
    chart = Chart("A <title>", "x", "y & z", series, lines=(((0.0, 0.0), (1.0, 1.0), "even"),))
    root = ET.fromstring(draw(chart))
    name = "{http://www.w3.org/2000/svg}"
    assert "A <title>: y & z against x" in root.find(f"{name}title").text
    shown = [text.text for text in root.iter(f"{name}text")]
    assert all(each.name in shown for each in series)
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{name}circle")]
    assert all(0 <= x <= 640 and 0 <= y <= 480 for x, y in marks)
    lines = root.findall(f"{name}polyline")
    assert len(lines) == sum(bool(each.points) and not each.scattered for each in series)


NAME = "{http://www.w3.org/2000/svg}"


def bar_row(name: str, mean: float, low: float, high: float, seconds: float | None = None) -> Row:
    timed = Cell(Interval(seconds, seconds, seconds), scale=1, digits=2) if seconds is not None else None
    return Row(name, (Cell(Interval(mean, low, high)), timed, None))


def rectangles(svg: str) -> list[tuple[float, float]]:
    """Where each bar begins and how long it is; not the ground, nor the legend."""
    root = ET.fromstring(svg)
    drawn = [r for r in root.iter(f"{NAME}rect") if r.get("height") == "16"]
    return [(float(r.get("x")), float(r.get("width"))) for r in drawn]


def test_bars_are_as_long_as_their_figures_with_interval_and_words() -> None:
    rows = (
        bar_row("ours", 0.4, 0.3, 0.5),
        Row("published", published="52"),
        bar_row("theirs", 0.2, 0.2, 0.2),
    )
    svg = draw(bars_of("Answers", "F1, %", rows, 0))
    (x1, ours), (x2, theirs) = rectangles(svg)
    assert x1 == x2
    assert ours == pytest.approx(2 * theirs, abs=0.2)
    words = [text.text for text in ET.fromstring(svg).iter(f"{NAME}text")]
    assert "40.0 (30.0 to 50.0)" in words
    assert "20.0" in words
    assert "published" not in words
    assert "ours 40.0 (30.0 to 50.0); theirs 20.0" in ET.fromstring(svg).find(f"{NAME}title").text


def test_stacked_bars_leave_out_parts_that_no_line_has() -> None:
    rows = (bar_row("all", 0.01, 0.0, 0.02, seconds=3.0), bar_row("half", 0.01, 0.0, 0.02))
    chart = stacked_bars_of("Time", "seconds", rows, ((0, "read"), (1, "verify"), (2, "ask")))
    assert chart.parts == ("read", "verify")
    (first, second, third, fourth) = rectangles(draw(chart))
    assert second[0] == pytest.approx(first[0] + first[1], abs=0.2)
    assert second[1] == pytest.approx(3 * first[1], abs=0.4)
    assert third == first
    assert fourth[1] == 0
    assert "4.00" in draw(chart)


def test_no_bars_are_a_picture_too() -> None:
    assert (
        ET.fromstring(draw(bars_of("Nothing", "F1, %", (Row("published", published="52"),), 0))) is not None
    )


# The command


def test_a_command_prints_the_table_and_writes_table_figures_and_plot(tmp_path: Path, capsys) -> None:
    out = tmp_path / "made" / "here"
    show("figure4", bench_of(tmp_path), out)
    printed = capsys.readouterr()
    assert printed.out.startswith("### Figure 4: F1 by k and tau, moons\n")
    assert printed.out == (out / "figure4.md").read_text()
    kept = json.loads((out / "figure4.json").read_text())
    assert kept["rows"][0]["cells"][0]["all"]["mean"] >= 0
    assert ["models", "fake"] in kept["provenance"]
    ET.fromstring((out / "figure4.svg").read_text())
    assert str(out / "figure4.svg") in printed.err


def test_the_command_that_made_a_table_is_kept_with_it_and_can_be_typed_again(tmp_path: Path) -> None:
    command = cli.commands["experiment"].commands["table4"]
    options = "--baseline runs/joint --baseline llm --limit 20 --set verifier.tau=0.6 --out 'my runs'"
    with command.make_context("table4", shlex.split(options)) as context:
        again = command_line(context)
    words = shlex.split(again)
    assert words[:5] == ["python", "-m", "rtv_core", "experiment", "table4"]
    assert command.make_context("table4", words[5:]).params == context.params
    assert "--store" not in words  # was not given
    show("figure4", bench_of(tmp_path), tmp_path, again)
    assert dict(read_results(tmp_path).found[0].table.provenance)["command"] == again


def test_a_kept_command_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    command = cli.commands["experiment"].commands["table4"]
    with command.make_context("table4", ["--index", str(tmp_path / "wiki"), "--out", "runs/exp"]) as context:
        assert command_line(context) == "python -m rtv_core experiment table4 --index wiki --out runs/exp"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--index", "absent"], "An index needs questions"),
        (["--index", "absent", "--questions", "absent.jsonl"], "absent"),
        (["--profile", "absent.toml"], "There is no profile"),
        (["--baseline", "absent"], "There is no trained baseline in absent"),
        (["--questions", "absent.jsonl"], "absent.jsonl can't be read"),
    ],
)
def test_a_command_says_what_is_wrong_before_anything_is_loaded(
    tmp_path: Path, monkeypatch, capsys, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["experiment", "table4", *options])
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
