"""The Analyse page: its handlers, called as a browser would, and as it should not."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import time
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import pytest
from fakes import FakeWorkbench
from runs import add_queue, add_run, on_disk, said, small_run

from rtv_core.analysis.blame import stage_blame
from rtv_core.analysis.calibration import reliability, scored_by_gold
from rtv_core.analysis.comparison import compare_runs
from rtv_core.analysis.corrected import correct_gold
from rtv_core.analysis.curves import tau_curve
from rtv_core.analysis.estimate import estimated_scores
from rtv_core.analysis.headline import headline, right_share
from rtv_core.analysis.mistakes import inclusion_of, wrong_predictions
from rtv_core.analysis.rounds import Round, by_annotator, compare_rounds
from rtv_core.analysis.rulings import Counting, settle
from rtv_core.analysis.scores import rescored
from rtv_core.analysis.slices import by_gold_answers, f1_slices
from rtv_core.analysis.table6 import error_table
from rtv_core.annotation.agreement import agreement, ratings
from rtv_core.records import Hit, Passage, Question, QueueItem, QueuePlan, Run, RunQuestion, Trace
from rtv_core.store.filters import FilterStore
from rtv_core.ui import analysing
from rtv_core.ui.analysis.plots import Band, Line, Stack, interval_plot, line_plot, stack_plot
from rtv_core.ui.analysis.state import Analyses
from rtv_core.ui.analysis.view import read_view
from rtv_core.ui.app import build_app

ATTACK = "<img src=x onerror=alert(1)>${7*7}</script>"


@pytest.fixture
def workbench(tmp_path) -> FakeWorkbench:
    return on_disk(tmp_path / "rtv.db")


@pytest.fixture
def judged(workbench):
    """The small run with verdicts of two people, who agree on all but one answer."""
    run = small_run(workbench)
    for by in ("Ada", "Bo"):
        said(workbench, run[0], "2011", "unlisted", by, evidence="supports")
        said(workbench, run[1], "Berkeley Systems Inc", "variant", by, gold="Berkeley Systems")
        said(workbench, run[1], "Sierra", "invalid", by)
        said(workbench, run[0], "April 24, 2010", "listed", by, gold="April 24, 2010", evidence="supports")
    said(workbench, run[2], "Dan", "invalid", "Ada", note="not in the passage")
    said(workbench, run[2], "Dan", "unlisted", "Bo")
    return run


class Page:
    """The parts of the page for one view, each drawn when it is looked at."""

    def __init__(self, workbench, open_verdicts=True, **event) -> None:
        self.workbench, self.open_verdicts, self.event = workbench, open_verdicts, event
        self.analyses = Analyses(workbench)

    @property
    def controls(self) -> str:
        return analysing.show_controls(self.workbench, self.analyses, self.event)

    @property
    def figures(self) -> str:
        return analysing.show_figures(self.analyses, self.event, self.open_verdicts)

    @property
    def curves(self) -> str:
        return analysing.show_curves(self.analyses, self.event, self.open_verdicts)

    @property
    def slices(self) -> str:
        return analysing.show_slices(self.workbench, self.analyses, self.event, self.open_verdicts)

    @property
    def filter(self) -> str:
        return analysing.show_filter(self.workbench, self.analyses, self.event)

    @property
    def people(self) -> str:
        return analysing.show_people(self.analyses, self.event, self.open_verdicts)

    @property
    def questions(self) -> str:
        return analysing.show_questions(self.workbench, self.analyses, self.event, self.open_verdicts)

    @property
    def all(self) -> list[str]:
        parts = [self.controls, self.filter, self.figures, self.curves, self.slices, self.people]
        return [*parts, self.questions]


def file_rows(workbench, name: str, open_verdicts=True, **event) -> list[list[str]]:
    """The CSV that the page offers under a name."""
    made = analysing.make_file(workbench, Analyses(workbench), {"file": name, **event}, open_verdicts)
    content = re.search(r'data-base64="([^"]*)"', made)
    assert content, made
    return list(csv.reader(io.StringIO(base64.b64decode(content[1]).decode(), newline="")))


def listed(html: str) -> list[str]:
    return re.findall(r'<p class="asked"><bdi>(.*?)</bdi>', html)


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


# Empty states


def test_without_runs_every_part_says_how_to_make_one(workbench):
    for html in Page(workbench, where=["gold = 1"]).all:
        assert "python -m rtv_core evaluate" in html


def test_without_verdicts_the_page_says_how_to_get_some_and_shows_raw_scores(workbench):
    small_run(workbench)
    shown = Page(workbench)
    assert "no wrong prediction is judged yet" in shown.figures
    assert "Draw a queue" in shown.figures
    assert "let two people judge" in shown.people
    assert "Choose a run to compare with" in shown.people


def test_a_run_without_gold_says_what_it_lacks(workbench):
    add_run(workbench, "bare", [("Who?", [], [("Ann", 0.9)])])
    shown = Page(workbench)
    assert "No gold answers are known" in shown.figures
    assert "no F1" in shown.curves
    assert "no F1 to split up" in shown.slices


def test_a_link_to_a_run_that_is_gone_lets_people_choose_another(workbench):
    small_run(workbench)
    shown = Page(workbench, run="gone")
    assert "There is no run" in shown.figures
    assert '<option value="" selected>choose a run</option>' in shown.controls
    assert '<option value="ours">' in shown.controls


# Figures equal the analysis functions'


def test_the_first_line_is_the_headline_of_the_analysis(workbench, judged):
    rulings = settle(workbench.store.current())
    gold = correct_gold(judged, rulings)
    line = headline(
        rescored(judged, gold.questions),
        estimated_scores(judged, rulings),
        right_share(judged, rulings),
        len(wrong_predictions(judged, rulings)),
    )
    first = re.search(r'<p class="rtv-headline">(.*?)</p>', Page(workbench).figures)[1]
    assert first.replace("&gt;", ">") == line.text


def test_every_table_holds_what_the_analysis_says(workbench, judged):
    rulings = settle(workbench.store.current())
    gold = correct_gold(judged, rulings)
    scores = rescored(judged, gold.questions)
    found = {(row[0], row[1]): row[2:5] for row in file_rows(workbench, "scores")[1:]}
    for name, own in (("raw", scores.raw), ("corrected", scores.corrected)):
        assert [float(c) for c in found["f1", name]] == [own.f1.mean, own.f1.low, own.f1.high]
    table = {row[1]: row for row in file_rows(workbench, "table6")[1:]}
    for row in (*error_table(judged, rulings).wrong.rows, *error_table(judged, rulings).missed.rows):
        shown = table[row.name]
        assert [int(c) for c in shown[2:4]] == [row.plain.count, row.plain.of]
        assert [float(c) for c in shown[4:7]] == [row.plain.share, row.plain.low, row.plain.high]
        assert int(shown[12]) == row.published.count
    blame = {row[0]: int(row[1]) for row in file_rows(workbench, "blame")[1:]}
    assert blame == {share.name: share.count for share in stage_blame(judged)}
    curve = [float(row[2]) for row in file_rows(workbench, "tau")[1:] if row[0] == "corrected"]
    assert curve == [point.f1 for point in tau_curve(judged, gold.questions)]
    bins = [row for row in file_rows(workbench, "reliability")[1:] if row[0] == "gold"]
    assert float(bins[0][9]) == reliability(scored_by_gold(judged)).error
    slices = [(row[0], float(row[3])) for row in file_rows(workbench, "slices-gold")[1:] if row[1] == "raw"]
    assert slices == [(s.name, s.f1.mean) for s in f1_slices(judged, by_gold_answers)]
    alpha = next(r for r in file_rows(workbench, "agreement") if r[1] == "Krippendorff's alpha")
    assert float(alpha[2]) == agreement(ratings(workbench.store.current())).alpha.value


def test_table_6_stands_beside_the_published_one_with_counts_and_intervals(workbench, judged):
    shown = text_of(Page(workbench).figures)
    assert "true negatives 1 of 3 33 % (6 to 79) 20 % (9 to 39)" in shown
    assert "unannotated false negatives 1 of 3" in shown
    assert "evidence right and straightforward 1 of 1" in shown


def test_shares_are_weighted_where_the_queue_was_not_uniform(workbench, judged):
    items = [
        QueueItem(0, judged[0].trace_id, "prediction", "2011", 0.9, "wrong"),
        QueueItem(1, judged[1].trace_id, "prediction", "Sierra", 0.1, "wrong"),
    ]
    assert "design-weighted" not in Page(workbench).figures
    add_queue(workbench, "ours", items)
    rulings = settle(workbench.store.current())
    table = error_table(judged, rulings, inclusion_of(items))
    shown = {row[1]: row for row in file_rows(workbench, "table6")[1:]}
    for row in table.wrong.rows:
        assert float(shown[row.name][9]) == row.weighted.share
    assert "design-weighted" in Page(workbench).figures


def test_the_page_says_how_verdicts_were_counted_and_a_switch_counts_them_all(workbench):
    run = small_run(workbench)
    said(workbench, run[0], "2011", "unlisted", "Ada", blind=False)
    said(workbench, run[1], "Sierra", "invalid", "Ada")
    shown = Page(workbench).figures
    assert "1 answer with a verdict that counts: 1 by one annotator, blind." in shown
    assert "Not counted: 1 lone verdict" in shown
    every = Page(workbench, count="all").figures
    assert "1 by one annotator who could see score and gold" in every
    assert "Not counted" not in every


def test_figures_follow_new_verdicts_and_are_worked_out_once(workbench, judged):
    analyses = Analyses(workbench)
    view = read_view({})
    before = analyses.of(view)
    assert analyses.of(view) is before
    assert before.scores is before.scores
    said(workbench, judged[3], "Rome", "variant", "Ada", gold="Oslo")
    after = analyses.of(view)
    assert after is not before
    assert after.table6.wrong.unjudged == before.table6.wrong.unjudged - 1
    workbench.store.undo(judged[3].trace_id, "Ada")
    assert analyses.of(view).table6 == before.table6


# Lists


def test_a_click_on_a_figure_lists_its_questions(workbench, judged):
    assert listed(Page(workbench, behind="lost:at or below tau").questions) == [
        "When did Jack come out?",
        "Where is Jill from?",
    ]
    assert listed(Page(workbench, behind="wrong:true negatives").questions) == ["Who made Jack?"]
    assert listed(Page(workbench, behind="wrong:split").questions) == ["Who sang Jill?"]
    assert listed(Page(workbench, behind="wrong:not judged").questions) == ["Where is Jill from?"]
    assert listed(Page(workbench, behind="missed:evidence right and straightforward").questions) == [
        "When did Jack come out?"
    ]
    assert listed(Page(workbench, behind="gold:3").questions) == ["Who sang Jill?"]
    assert listed(Page(workbench, behind="word:where").questions) == ["Where is Jill from?"]
    assert listed(Page(workbench, behind="score:0.2 to 0.3").questions) == ["Where is Jill from?"]


def test_every_figure_that_offers_its_questions_has_as_many_as_it_says(workbench, judged):
    shown = Page(workbench)
    for html in (shown.figures, shown.curves, shown.slices, Page(workbench, slices="score").slices):
        for behind, text in re.findall(r'data-behind="([^"]+)"[^>]*>([^<]+)</button>', html):
            count = int(re.match(r"\d+", text)[0]) if text[0].isdigit() else 1
            found = listed(Page(workbench, behind=behind).questions)
            assert 0 < len(found) <= max(count, 1), behind


def test_a_list_can_be_searched_and_paged(workbench):
    add_run(workbench, "long", [(f"Question {i}?", [["x"]], [("y", 0.9)]) for i in range(60)])
    first = Page(workbench).questions
    assert listed(first)[:2] == ["Question 0?", "Question 1?"]
    assert "1 to 25 of 60 questions" in first
    assert listed(Page(workbench, offset=50).questions) == [f"Question {i}?" for i in range(50, 60)]
    assert listed(Page(workbench, text="question 7?").questions) == ["Question 7?"]
    assert listed(Page(workbench, text="question 7?", behind="gold:1").questions) == ["Question 7?"]
    assert "No question matches" in Page(workbench, text="nothing like it").questions


@pytest.mark.slow
def test_a_run_of_2000_questions_with_50_candidates_lists_and_filters_at_once(workbench):
    told = [
        (
            f"Question {i} about {i % 7}?",
            [[f"answer {i}.3"], [f"gold {i}"]],
            [(f"answer {i}.{j}", (50 - j) / 51) for j in range(50)],
        )
        for i in range(2000)
    ]
    add_run(workbench, "large", told, judgeable=False)
    analyses = Analyses(workbench)

    def seconds(**event) -> float:
        start = time.process_time()
        analysing.show_questions(workbench, analyses, event, True)
        return time.process_time() - start

    assert min(seconds() for _ in range(2)) < 1
    for event in (
        {"text": "answer 1999.7"},
        {"text": "about 3", "answers": "predicted"},
        {"behind": "lost:at or below tau"},
        {"behind": "lost:not retrieved", "text": "gold 1"},
        {"where": ["gold = 2", "predicted ~ 1999.7"]},
    ):
        assert min(seconds(**event) for _ in range(3)) < 0.3, event


# Filters and slices


def filtered(workbench, signed="", **event):
    """The filter bar for an event: its conditions and its words."""
    html = analysing.show_filter(workbench, Analyses(workbench), event, signed)
    where = re.search(r'data-where="([^"]*)"', html)[1]
    return json.loads(unescape(where)), unescape(text_of(html))


def test_a_filter_applies_to_every_part_of_the_page(workbench, judged):
    shown = Page(workbench, where=["gold >= 2"])
    kept = [question for question in judged if len(question.question.answers[0]) >= 2]
    rulings = settle([j for j in workbench.store.current() if j.trace_id in {q.trace_id for q in kept}])
    assert "2 of 4 questions: number of gold answers is at least 2" in text_of(shown.figures)
    scores = rescored(kept, correct_gold(kept, rulings).questions)
    rows = {tuple(row[:2]): row for row in file_rows(workbench, "scores", where=["gold >= 2"])}
    assert float(rows["f1", "corrected"][2]) == scores.corrected.f1.mean
    blame = {row[0]: int(row[1]) for row in file_rows(workbench, "blame", where=["gold >= 2"])[1:]}
    assert blame == {share.name: share.count for share in stage_blame(kept)}
    assert listed(shown.questions) == [q.question.text for q in kept]
    assert listed(Page(workbench, where=["gold >= 2"], text="jill").questions) == ["Who sang Jill?"]
    lost = Page(workbench, where=["gold >= 2"], behind="lost:at or below tau")
    assert listed(lost.questions) == ["When did Jack come out?"]
    assert "Where is Jill" not in shown.people + shown.curves + shown.slices


def test_a_filter_applies_to_both_runs(workbench, judged):
    small_run(workbench, "theirs")
    rows = file_rows(workbench, "pair", run="ours", where=["word = who"], **{"with": "theirs"})
    assert {row[5] for row in rows[1:]} == {"2"}


def test_a_filter_that_no_question_meets_says_so(workbench, judged):
    shown = Page(workbench, where=["f1 > 100"])
    for html in (shown.figures, shown.curves, shown.slices, shown.people):
        assert "No question of the run meets the filter" in html
    assert "No question matches" in shown.questions


def test_conditions_come_and_go(workbench, judged):
    where, said_ = filtered(workbench, do="add", value=" gold >=2")
    assert where == ["gold >= 2"]
    assert "number of gold answers is at least 2" in said_
    assert "2 of 4 questions" in said_
    where, _ = filtered(workbench, where=where, do="add", value="word = who")
    assert where == ["gold >= 2", "word = who"]
    assert filtered(workbench, where=where, do="remove", value=0)[0] == ["word = who"]
    assert filtered(workbench, where=where, do="clear")[0] == []
    assert filtered(workbench, where=where)[0] == where
    where, said_ = filtered(workbench, where=where, do="add", value="gold >= many")
    assert (len(where), "'many' is no number" in said_) == (2, True)
    where, said_ = filtered(workbench, where=["mood = good"])
    assert (where, "no column 'mood'" in said_) == ([], True)


def test_a_saved_filter_is_found_after_a_restart_applied_deleted_and_brought_back(
    workbench, judged, tmp_path
):
    where = ["gold >= 2", "lost = at or below tau"]
    assert "Saved: hard ones" in filtered(workbench, where=where, do="save", value=" hard  ones")[1]
    again = on_disk(tmp_path / "rtv.db")
    assert filtered(again, do="apply", value="hard ones")[0] == where
    assert "saved: hard ones" in filtered(again)[1]
    rows = file_rows(again, "slices-filters")
    assert rows[1][:4] == ["hard ones", "gold >= 2 and lost = at or below tau", "raw", "1"]
    assert "hard ones 1" in text_of(Page(again).slices)
    where, said_ = filtered(again, do="delete", value="hard ones")
    assert "Deleted: hard ones" in said_
    assert "saved:" not in said_
    assert "There is no filter 'hard ones' any more" in filtered(again, do="delete", value="hard ones")[1]
    _, said_ = filtered(again, do="undo", value="hard ones")
    assert "Brought back: hard ones" in said_
    assert "saved:" in said_


def test_filters_are_each_persons_own(workbench, judged):
    filtered(workbench, "Ada", where=["gold = 1"], do="save", value="mine")
    assert "mine" in filtered(workbench, "Ada")[1]
    assert "mine" not in filtered(workbench, "Bo")[1]
    assert "no filter 'mine'" in filtered(workbench, "Bo", do="delete", value="mine")[1]
    analyses = Analyses(workbench)
    assert "mine" in analysing.show_slices(workbench, analyses, {}, True, "Ada")
    assert "mine" not in analysing.show_slices(workbench, analyses, {}, True, "Bo")


def test_f1_is_split_up_by_sources_and_by_any_column_chosen(workbench, judged):
    shown = text_of(Page(workbench).slices)
    assert "F1 by number of gold answers" in shown
    assert "F1 by question word" in shown
    assert "F1 by number of sources" in shown
    assert "not known" in shown  # these traces have no passages
    assert "distinct retrieved passages" in shown
    assert "F1 by number of predictions" not in shown
    chosen = Page(workbench, slices="predictions")
    assert "F1 by number of predictions" in chosen.slices
    rows = file_rows(workbench, "slices-predictions")
    assert [(row[0], row[2]) for row in rows if row[1] == "raw"] == [("1", "1"), ("2", "2"), ("3", "1")]
    assert len(listed(Page(workbench, behind="slice:predictions:2").questions)) == 2
    assert "number of predictions: 2" in Page(workbench, behind="slice:predictions:2").questions
    assert len(listed(Page(workbench, behind="slice:sources:not known").questions)) == 4


def test_sources_are_the_retrieved_passages_that_hold_a_gold_answer(workbench):
    run = workbench.runs.create(Run("", "read", "ours", "", 0, True, 0.5, 10))
    for position, texts in enumerate((("the ant", "a bee"), ("no", "none"), ("ant", "ant!"))):
        question = Question(f"q{position}", f"Question {position}?", ((("ant",), ("Bee", "bees")),))
        hits = tuple(Hit(Passage(f"p{i}", "", t), 0.5, 0.0, 1, None, 1) for i, t in enumerate(texts))
        own = RunQuestion(run.id, position, question, "", (), ())
        workbench.runs.add_question(run.id, own, Trace(question, hits))
    rows = file_rows(workbench, "slices-sources")
    assert [(row[0], row[2]) for row in rows[1:] if row[1] == "raw"] == [("0", "1"), ("2 to 4", "2")]
    assert listed(Page(workbench, where=["sources >= 1"]).questions) == ["Question 0?", "Question 2?"]


# Two rounds


def test_two_annotators_rounds_stand_side_by_side(workbench, judged):
    event = {"first": "by:Ada", "second": "by:Bo"}
    rulings = [settle(by_annotator(workbench.store.current(), name)) for name in ("Ada", "Bo")]
    found = compare_rounds(judged, *map(Round, rulings))
    rows = {(row[0], row[1]): row for row in file_rows(workbench, "rounds-scores", **event)[1:]}
    for measure in ("f1", "precision", "recall"):
        own = found.corrected[measure].difference
        row = rows[f"{measure} corrected", "difference"]
        assert [float(cell) for cell in row[2:5]] == [own.mean, own.low, own.high]
        assert float(rows[f"{measure} estimated", "Bo"][2]) == found.estimated[measure].second.mean
    changes = file_rows(workbench, "rounds-changes", **event)
    assert changes[1] == ["Who sang Jill?", "Dan", "invalid", "", "unlisted", ""]
    table = file_rows(workbench, "rounds-table6", **event)
    assert ["Bo", "wrong prediction", "unannotated false negatives", "2", "4"] in [row[:5] for row in table]
    shown = text_of(Page(workbench, **event).people)
    assert "1: Ada" in shown
    assert "Dan Who sang Jill? invalid unlisted" in shown


def test_two_queues_are_two_rounds(workbench, judged):
    items = [QueueItem(0, judged[0].trace_id, "prediction", "2011", 1, "wrong")]
    others = [QueueItem(2, judged[2].trace_id, "prediction", "Dan", 1, "wrong")]
    one = add_queue(workbench, "ours", items)
    two = workbench.queues.create(judged[0].run_id, QueuePlan(), others, "second queue")
    event = {"first": f"queue:{one}", "second": f"queue:{two}"}
    rows = file_rows(workbench, "rounds-table6", **event)
    assert {(row[0], row[4]) for row in rows[1:] if row[1] == "wrong prediction"} == {
        ("queue queue", "1"),
        ("queue second queue", "0"),  # split
    }
    assert "queue second queue" in Page(workbench, **event).people


def test_a_queue_that_was_only_drawn_changes_no_figure(workbench, judged):
    items = [
        QueueItem(0, judged[0].trace_id, "prediction", "2011", 0.2, "wrong"),
        QueueItem(1, judged[1].trace_id, "prediction", "Sierra", 0.8, "wrong"),
    ]
    add_queue(workbench, "ours", items)
    before = Analyses(workbench).of(read_view({"run": "ours"}))
    everything = [replace(item, inclusion=1.0) for item in items]
    everything.append(QueueItem(2, judged[2].trace_id, "prediction", "Somebody", 1.0, "wrong"))
    workbench.queues.create(judged[0].run_id, QueuePlan(), everything, "second queue")
    after = Analyses(workbench).of(read_view({"run": "ours"}))
    assert after.weighted
    assert (after.right, after.estimate, after.table6) == (before.right, before.estimate, before.table6)
    shown = text_of(Page(workbench, run="ours").figures)
    assert "Weighed by queue alone: the other is not judged as far." in shown


def test_what_waits_to_be_placed_is_told(workbench, judged):
    items = [QueueItem(0, judged[0].trace_id, "prediction", "2011", 1, "wrong")]
    queue = add_queue(workbench, "ours", items, QueuePlan(blind=True))
    shown = text_of(Page(workbench, run="ours").figures)
    assert "2 blind verdicts “right” not yet placed in the gold: “unlisted” so far." in shown
    for annotator in ("Ada", "Bo"):
        workbench.queues.show(queue, 1, annotator)
    said(workbench, judged[0], "2011", "unlisted", "Ada")
    assert "1 blind verdict “right” not yet placed" in text_of(Page(workbench, run="ours").figures)
    said(workbench, judged[0], "2011", "unlisted", "Bo")
    assert "not yet placed" not in text_of(Page(workbench, run="ours").figures)


def test_two_runs_gain_alike_by_a_verdict_whichever_comes_first(workbench):
    rows = {
        "first": ("When did Jack come out?", [["1995"]], [("24 April 2010", 0.9)]),
        "second": ("When did Jack come out?", [["1995"]], [("24  April, 2010", 0.9)]),
    }
    runs = {name: add_run(workbench, name, [row], system=name) for name, row in rows.items()}
    said(workbench, runs["first"][0], "24 April 2010", "unlisted", "Ada", blind=True)
    for one, other in (("first", "second"), ("second", "first")):
        pair = Analyses(workbench).pair(read_view({"run": one, "with": other}))
        assert [m.mean for m in (pair.corrected.f1.first, pair.corrected.f1.second)] == [2 / 3, 2 / 3]


def test_rounds_before_and_since_a_day(workbench, judged):
    event = {"first": "before", "second": "since", "day": "2000-01-01"}
    rows = file_rows(workbench, "rounds-table6", **event)
    judged_then = {row[0]: row[4] for row in rows[1:] if row[2] == "true negatives"}
    assert judged_then == {"before 2000-01-01": "0", "since 2000-01-01": "3"}
    assert "needs the day" in Page(workbench, first="before", second="since").people


def test_without_two_rounds_the_page_offers_them(workbench, judged):
    shown = Page(workbench).people
    assert "Choose two: two queues, two annotators" in shown
    assert '<option value="by:Ada">' in shown
    assert "no such round" in Page(workbench, first="by:Zoe", second="by:Bo").people


# Two runs and more


def test_missing_answers_are_estimated_over_all_runs_on_the_same_questions(workbench):
    def told(own: range):
        return [
            (
                f"Question {i}?",
                [[f"a{i}"], [f"b{i}"]],
                [(x, 0.9) for j, x in enumerate((f"a{i}", f"b{i}")) if 2 * i + j in own],
            )
            for i in range(12)
        ]

    for name, own in (("one", range(0, 12)), ("two", range(4, 16))):
        add_run(workbench, name, told(own))
    shown = text_of(Page(workbench).people)
    assert "Capture and recapture by systems (Chapman)" in shown
    add_run(workbench, "three", told(range(8, 18)))
    add_run(workbench, "part", told(range(0, 4))[:3])
    shown = text_of(Page(workbench, run="three").people)
    assert "Capture and recapture by systems (Chao lower bound)" in shown
    assert "one 12 three 10 two 12 found by more than one 12 found in all 18 in all, at least 19" in shown
    assert "Chao 1987" in shown
    assert "or are older: part." in shown
    rows = file_rows(workbench, "missing-systems", run="three")
    assert ["found in all", "18"] in rows
    pair = text_of(Page(workbench, run="three", **{"with": "two"}).people)
    assert "Capture and recapture by the two runs compared (Chapman)" in pair
    one = analysing.show_people(Analyses(workbench), {"run": "three", "where": ["id = q1"]}, True)
    assert "needs 7" in one or "needs two" in one


def test_two_runs_are_compared_in_pairs_and_finds_can_be_opened(workbench, judged):
    other = add_run(
        workbench,
        "theirs",
        [
            ("When did Jack come out?", [["1995"], ["April 24, 2010"]], [("April 24, 2010", 0.9)]),
            ("Who made Jack?", [["Berkeley Systems"]], [("Berkeley Systems", 0.7)]),
        ],
        system="another",
    )
    event = {"run": "ours", "with": "theirs"}
    found = compare_runs(judged, other)
    rows = {(row[0], row[1]): row for row in file_rows(workbench, "pair", **event)[1:]}
    difference = found.f1.difference
    assert [float(c) for c in rows["f1", "difference"][2:5]] == [
        difference.mean,
        difference.low,
        difference.high,
    ]
    shown = Page(workbench, behind="only:second", **event)
    assert listed(shown.questions) == ["When did Jack come out?", "Who made Jack?"]
    assert found.worse == len(listed(Page(workbench, behind="f1:worse", **event).questions))
    assert "No question matches" in Page(workbench, behind="f1:better", **event).questions
    assert len(file_rows(workbench, "finds", **event)) == 1 + len(found.only_first + found.only_second)
    assert "By systems:" in shown.people


def test_runs_that_cannot_be_compared_say_why(workbench, judged):
    add_run(workbench, "else", [("Quite another question?", [["x"]], [("x", 0.9)])])
    assert "Compare runs on the same question" in Page(workbench, run="ours", **{"with": "else"}).people


# Annotators


def test_disagreements_show_who_said_what_to_whoever_works_alone(workbench, judged):
    shown = text_of(Page(workbench).people)
    assert "1 answer with different labels" in shown
    assert "Ada invalid : not in the passage" in shown
    assert "Bo unlisted" in shown
    rows = file_rows(workbench, "disagreements")
    assert [row[2:4] for row in rows[1:]] == [["Ada", "invalid"], ["Bo", "unlisted"]]
    assert file_rows(workbench, "matrix-answer")[0][3:] == ["Ada", "Bo"]


def settle_by(workbench, question, open_verdicts=True, **event):
    event = {
        "trace": question.trace_id,
        "answer": "Dan",
        "label": "unlisted",
        "name": "Cy",
        "token": "token-1",
        "run": "ours",
        **event,
    }
    return analysing.save_adjudication(workbench, Analyses(workbench), event, open_verdicts)


def test_an_adjudicator_settles_and_the_originals_stay(workbench, judged):
    before = set(workbench.store.current())
    assert "Saved: unlisted, by Cy" in settle_by(workbench, judged[2])
    after = set(workbench.store.current())
    assert before <= after
    (new,) = after - before
    assert (new.annotator, new.label, new.answer) == ("Cy", "unlisted", "Dan")
    shown = Page(workbench, adjudicators=["Cy"])
    assert "1 adjudicated" in shown.figures
    assert "settled by" in shown.people
    rulings = settle(after, Counting(adjudicators=frozenset(["Cy"])))
    assert rulings.of(judged[2], "Dan").basis == "adjudicated"
    undo = {"trace": judged[2].trace_id, "name": "Cy"}
    assert "Taken back" in analysing.take_back_adjudication(workbench, undo, True)
    assert set(workbench.store.current()) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "Ada"}, "as an annotator"),
        ({"name": "  "}, "needs a name"),
        ({"token": ""}, "no token"),
        ({"label": "perhaps"}, "must be one of"),
        ({"label": "variant"}, "Which gold answer"),
        ({"label": "variant", "gold": 99}, "no gold answer 99"),
        ({"evidence": "maybe"}, "must be one of"),
        ({"answer": "1995"}, "not there any more"),
        ({"trace": ["x"]}, "not there any more"),
        ({"run": "none such"}, "There is no run"),
    ],
)
def test_a_verdict_that_makes_no_sense_is_refused(workbench, judged, change, reason):
    before = workbench.store.current()
    assert reason in settle_by(workbench, judged[2], **change)
    assert workbench.store.current() == before


def test_the_same_token_settles_once(workbench, judged):
    settle_by(workbench, judged[2])
    settle_by(workbench, judged[2])
    assert len([j for j in workbench.store.current() if j.annotator == "Cy"]) == 1


def test_on_a_shared_server_nobody_reads_single_verdicts(workbench, judged):
    shown = Page(workbench, open_verdicts=False, behind="lost:at or below tau")
    figures, people = shown.figures, shown.people
    for name in ("Ada", "Bo", "not in the passage", "tag said"):
        assert not re.search(rf"\b{name}\b", figures + people + shown.questions + shown.curves)
    assert "not shown on a shared server" in people
    assert not re.search(r'data-behind="(wrong|missed|split|added)', figures)
    assert "1 of 3" in figures  # the figures themselves are there
    for behind in ("wrong:true negatives", "missed:evidence wrong", "split", "added"):
        assert "not shown on a shared server" in Page(workbench, False, behind=behind).questions
    for name in ("disagreements", "matrix-answer", "matrix-evidence", "rounds-scores", "rounds-changes"):
        made = analysing.make_file(workbench, Analyses(workbench), {"file": name}, False)
        assert "data-base64" not in made
        assert "not shown on a shared server" in made
    before = workbench.store.current()
    assert "not shown on a shared server" in settle_by(workbench, judged[2], open_verdicts=False)
    assert workbench.store.current() == before


def test_on_a_shared_server_a_filter_leaves_verdicts_out(workbench, judged):
    event = {"where": ["id = q2"]}
    open_, closed = Page(workbench, **event), Page(workbench, open_verdicts=False, **event)
    assert "1 answer without a majority" in open_.figures
    assert "Verdicts are left out under a filter" in closed.figures
    for html in (closed.figures, closed.curves, closed.slices, closed.people, closed.questions):
        assert "without a majority" not in html
        assert "split" not in html.replace('data-section="split"', "").replace("unsure or split", "")
    assert "Two rounds" not in Page(workbench, False, first="by:Ada", second="by:Bo").people
    rows = file_rows(workbench, "table6", open_verdicts=False, **event)
    assert [row[2] for row in rows[:8] if row[1] in ("split", "unjudged")] == ["0", "1"]


def test_whoever_is_signed_in_sees_no_single_verdicts_unless_the_app_says_so():
    assert not analysing.may_see_verdicts(SimpleNamespace(username="Ada"))
    assert analysing.may_see_verdicts(SimpleNamespace(username=None))
    assert analysing.may_see_verdicts(None)


def test_a_signed_in_admin_settles_under_no_other_name(workbench, judged):
    event = {"trace": judged[2].trace_id, "answer": "Dan", "label": "invalid", "token": "t", "name": "Ada"}
    analyses = Analyses(workbench)
    assert "by Zoe" in analysing.save_adjudication(workbench, analyses, event, True, "Zoe")
    refused = analysing.save_adjudication(workbench, analyses, event, True, "Bo")
    assert "Let another admin settle it." in refused
    assert 'value="Zoe" readonly' in analysing.show_people(analyses, {}, True, "Zoe")
    undo = {"trace": judged[2].trace_id, "name": "Bo"}
    assert "Taken back" in analysing.take_back_adjudication(workbench, undo, True, "Zoe")


def test_missing_answers_are_estimated_from_what_annotators_typed_in(workbench):
    told = [(f"Question {i}?", [["x"]], [("y", 0.9)]) for i in range(12)]
    run = add_run(workbench, "typed", told)
    for place, question in enumerate(run):
        for by in ("Ada", "Bo")[: 1 + (place < 9)]:
            said(workbench, question, f"found {place}", "unlisted", by, recalled=False)
    shown = text_of(Page(workbench).people)
    assert "Capture and recapture by annotators (Chapman)" in shown
    assert "independently of the others" in shown
    assert file_rows(workbench, "missing-annotators")[3][:2] == ["found by more than one", "9"]


# Text from data stays text; requests are read with suspicion


def test_hostile_text_is_escaped_everywhere(workbench):
    run = add_run(workbench, ATTACK, [(f"What is {ATTACK}?", [[ATTACK]], [(f"{ATTACK} x", 0.9)])])
    for by, label in ((ATTACK, "invalid"), ("Bo", "unlisted")):
        said(workbench, run[0], f"{ATTACK} x", label, by, note=ATTACK)
    FilterStore(workbench.store.path).save("", ATTACK, [f"text ~ {ATTACK}", f"text ~ {ATTACK}'\"x"])
    add_queue(workbench, ATTACK, [QueueItem(0, run[0].trace_id, "prediction", f"{ATTACK} x", 1, "w")])
    event = {"text": ATTACK, "with": ATTACK, "adjudicators": [ATTACK, "Cy"], "behind": f"gold:{ATTACK}"}
    rounds = {"where": [f"text ~ {ATTACK}"], "first": f"by:{ATTACK}", "second": "by:Bo"}
    for shown in (
        Page(workbench),
        Page(workbench, **event),
        Page(workbench, run=f"no {ATTACK}"),
        Page(workbench, **rounds),
        Page(workbench, **rounds, do="apply", value=ATTACK),
        Page(workbench, where=[ATTACK], do="save", value=ATTACK),
    ):
        for html in shown.all:
            assert "<img" not in html
            assert "</script" not in html
    assert ATTACK.replace("<", "&lt;").replace(">", "&gt;") in Page(workbench).people
    assert ATTACK.replace("<", "&lt;").replace(">", "&gt;") in Page(workbench).filter


def test_cells_that_a_spreadsheet_might_run_are_guarded(workbench):
    run = add_run(workbench, "=run()", [("=1+1?", [["@sum"]], [("+cmd|x", 0.9)])])
    said(workbench, run[0], "+cmd|x", "invalid", "=ada", note="\t=1")
    said(workbench, run[0], "+cmd|x", "unlisted", "-bo")
    cells = [
        cell
        for name in ("questions", "disagreements", "matrix-answer")
        for row in file_rows(workbench, name)
        for cell in row
    ]
    assert "'+cmd|x" in cells
    assert "'=ada" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t")]
    made = analysing.make_file(workbench, Analyses(workbench), {"file": "blame"}, True)
    assert re.search(r'data-save="-run\(\) blame.csv"', made)


@pytest.mark.parametrize(
    "event",
    [
        None,
        "text",
        {"run": 5},
        {"run": "x" * 10_000},
        {"count": "some"},
        {"across": "yes"},
        {"adjudicators": "Ada"},
        {"adjudicators": [{}]},
        {"adjudicators": ["x"] * 1000},
        {"behind": "lost:elsewhere"},
        {"behind": "nothing:x"},
        {"behind": "score:a to b"},
        {"behind": "only:first"},
        {"behind": "only:third", "with": "ours"},
        {"behind": ["lost"]},
        {"offset": -1},
        {"offset": "many"},
        {"answers": "all"},
        {"with": "none such"},
        {"turn": float("nan")},
        {"file": "../../rtv.db"},
        {"where": "gold = 1"},
        {"where": ["nothing"]},
        {"where": [5]},
        {"where": ["gold = 1"] * 50},
        {"where": ["gold = 99"]},
        {"slices": "question"},
        {"slices": ["gold"]},
        {"behind": "slice:question:x"},
        {"behind": "slice:"},
        {"first": "by:nobody", "second": "before", "day": "soon"},
        {"first": "by:nobody", "second": "queue:x"},
        {"first": "before", "second": "since"},
        {"do": "drop"},
        {"do": "remove", "value": 7},
        {"do": "apply", "value": ["x"]},
        {"do": "save", "value": "x"},
        {"do": "delete", "value": "x"},
        {"do": "undo", "value": "x"},
    ],
)
def test_a_request_that_makes_no_sense_gets_a_plain_answer(workbench, judged, event):
    analyses = Analyses(workbench)
    made = [
        analysing.show_controls(workbench, analyses, event),
        analysing.show_figures(analyses, event, True),
        analysing.show_questions(workbench, analyses, event, True),
        analysing.show_filter(workbench, analyses, event),
        analysing.show_slices(workbench, analyses, event, True),
        analysing.show_people(analyses, event, True),
        analysing.make_file(workbench, analyses, event, True),
    ]
    for html in made:
        assert 'class="rtv-drawn"' in html[:400]
        assert "Something failed" not in html
    assert "error" in made[-1]  # none of these names a table


def test_a_failure_of_the_store_is_said_plainly(workbench, judged, tmp_path):
    (tmp_path / "rtv.db").write_bytes(b"no database at all" * 1000)
    for html in Page(workbench).all:
        assert "could not be saved or read" in html


# Plots


def test_a_plot_tells_its_story_in_words_and_looks_right_without_a_style_sheet():
    line = Line("F1 <b>", ((0, 0), (0.5, 1), (1, 0.5)), "raw", dots=True, bars=((0, 0.1),) * 3)
    made = line_plot("It <rises>", [line], "tau", "F1", [(0.9, "tau 0.90")])
    assert "<title>It &lt;rises&gt;</title>" in made
    assert 'points="40,260 224,12 408,136"' in made
    assert 'stroke="#59626d"' in made
    assert "F1 &lt;b&gt;" in made
    assert 'xmlns="http://www.w3.org/2000/svg"' in made


def test_intervals_and_stacks_stay_inside_their_plot():
    bands = [Band("a very long name of a band", (("raw", 0.5, 0, 1), ("corrected", 0.6, 0.5, 0.7)))]
    stacks = [Stack(0, 0.5, (("gold", 3), ("valid", 7))), Stack(0.5, 1, (("unjudged", 80),))]
    legend = (("gold", "equals gold"), ("valid", "right"), ("unjudged", "not judged"))
    for made in (
        interval_plot("told", bands, "F1", [("raw", "raw"), ("corrected", "corrected")]),
        stack_plot("told", stacks, "score", "predictions", legend),
        stack_plot("told", [], "score", "predictions", legend),
    ):
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', made).groups())
        for name, value in re.findall(r' (x|y|x1|x2|y1|y2|cx|cy)="(-?[\d.]+)"', made):
            assert 0 <= float(value) <= (width if "x" in name else height), (name, value)


def test_the_page_has_a_tab_of_its_own(workbench):
    app = build_app(workbench)
    assert "rtv-analyse" in {block.elem_id for block in app.blocks.values()}


def test_a_queue_that_drew_whole_questions_widens_its_intervals(workbench, judged):
    items = [
        QueueItem(i, judged[i].trace_id, "prediction", answer, 0.5, "wrong")
        for i, answer in ((0, "2011"), (1, "Sierra"), (1, "Berkeley Systems Inc"))
    ]
    add_queue(workbench, "ours", items, QueuePlan(unit="question"))
    analysis = Analyses(workbench).of(read_view({}))
    assert analysis.whole_questions
    assert not analysis.weighted
    assert analysis.right == right_share(judged, analysis.rulings, inclusion_of(items), True)
