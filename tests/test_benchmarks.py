"""The benchmarks' arithmetic on made-up rows, and their rows from a pipeline of fakes. No model runs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from fakes import FakeWorkbench

from benchmarks.calibration import calibration_error, draw_reliability, reliability
from benchmarks.calibration import main as calibration
from benchmarks.compare import comparison
from benchmarks.compare import main as compare
from benchmarks.measures import RECALLED_OF_COVERED, bootstrap_median, difference, interval, measure_rows
from benchmarks.plain import fit_plain
from benchmarks.quality import measure
from benchmarks.question_sets import QuestionSet, hashed_subset, load_question_set, without_one_passage
from benchmarks.question_sets import main as write_questions
from benchmarks.results import (
    ALL,
    MULTI,
    SEVERAL_PASSAGES,
    figures_of,
    load_results,
    save_results,
    split_result,
)
from benchmarks.rows import Row, RowCandidate, RowFile, collect
from benchmarks.systems import MAIN, System, build_systems
from benchmarks.table import cell, markdown, render_report
from rtv_core.datasets import load_questions
from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.metrics import Interval
from rtv_core.records import Passage, Question
from rtv_core.training.sources import held_out_nq

YEARS = Question("years", "When did it come out?", ((("1995",), ("2010", "April 2010")),))
PASSAGES = (
    Passage("p1", "It", "It came out in 1995 and sold well."),
    Passage("p2", "It, the film", "The film came out in 2010 on television."),
    Passage("p3", "Another", "Another thing happened in 1820."),
)


def workbench(**scores: float) -> FakeWorkbench:
    return FakeWorkbench(PASSAGES, r"\b\d{4}\b", {year.removeprefix("y"): s for year, s in scores.items()})


def years_pipeline(**scores: float):
    bench = workbench(**scores)
    return bench.pipeline(bench.settings)


def candidate(answer: str, p_right: float, recall: float = 0.5, place: tuple | None = None) -> RowCandidate:
    plain = (recall, p_right, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0)
    return RowCandidate(answer, recall, (p_right,) * 3, plain, (place or (f"p-{answer}", 0, len(answer)),))


def row(
    id_: str, gold: str, *candidates: RowCandidate, covered: str | None = None, in_one: bool = True
) -> Row:
    """`gold` and `covered` hold one-letter answers: "ab" are two."""
    covered = gold if covered is None else covered
    return Row(
        question=Question(id_, f"question {id_}", (tuple((letter,) for letter in gold),)),
        retrieval={"mrecall@5": 0.0, "mrecall@10": float(covered == gold)} if gold else {},
        covered=(tuple(letter in covered for letter in gold),),
        in_one=in_one,
        candidates=candidates,
        seconds={"retrieve": 0.25, "recall": 0.5},
        provenance={"reader": "made up"},
    )


ROWS = [
    row("1", "xy", candidate("x", 0.9), candidate("y", 0.4), candidate("w", 0.2)),
    row("2", "x", candidate("w", 0.6), candidate("x", 0.5), covered=""),
    row("3", "xyz", candidate("x", 0.7, recall=0.1), covered="xy", in_one=False),
]
NOTHING = row("4", "", candidate("w", 0.3))


def test_a_row_says_what_retrieval_and_the_stages_made_of_a_question(tmp_path) -> None:
    pipeline = years_pipeline(y1995=0.9, y1820=0.1)
    (made,) = collect(pipeline, [YEARS], RowFile(tmp_path / "rows.jsonl"))
    assert made.covered == ((True, True),)
    assert not made.in_one
    assert made.retrieval["mrecall@5"] == made.retrieval["answer_recall@100"] == 1
    assert {c.answer: c.p_right[2] for c in made.candidates}["1995"] == 0.9
    assert sorted(zip((c.answer for c in made.candidates), made.right(), strict=True)) == [
        ("1820", False),
        ("1995", True),
        ("2010", True),
    ]
    assert {c.answer: c.places for c in made.candidates}["1995"] == (("p1", 15, 19),)
    assert all(len(c.plain) == 9 for c in made.candidates)
    assert {"retrieve", "recall", "gather", "verify"} <= set(made.seconds)


def test_a_row_comes_back_from_disk_as_it_was(tmp_path) -> None:
    (made,) = collect(years_pipeline(), [YEARS], RowFile(tmp_path / "rows.jsonl"))
    assert RowFile(tmp_path / "rows.jsonl").rows() == [made]


def test_a_question_with_a_row_is_not_asked_again(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    collect(years_pipeline(), [YEARS], RowFile(path))
    before = path.read_text(encoding="utf-8")
    other = Question("other", "What came out in 1820?", ((("nothing",),),))
    rows = collect(years_pipeline(), [other, YEARS], RowFile(path))
    assert [made.question.id for made in rows] == ["other", "years"]
    after = path.read_text(encoding="utf-8")
    assert after.startswith(before)
    assert len(after.splitlines()) == 2


def test_a_question_whose_gold_changed_is_asked_again(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    collect(years_pipeline(), [YEARS], RowFile(path))
    changed = Question(YEARS.id, YEARS.text, ((("1995",),),))
    (made,) = collect(years_pipeline(), [changed], RowFile(path))
    assert made.covered == ((True,),)


def test_a_line_that_was_cut_off_is_asked_again(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    (made,) = collect(years_pipeline(), [YEARS], RowFile(path))
    path.write_bytes(path.read_bytes() + b'{"question": {"id": "oth')
    assert RowFile(path).rows() == [made]
    collect(years_pipeline(), [Question("other", "And then?", ((("1820",),),))], RowFile(path))
    assert [r.question.id for r in RowFile(path).rows()] == ["years", "other"]


def test_rows_of_other_settings_are_refused(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    collect(years_pipeline(), [YEARS], RowFile(path))
    bench = workbench()
    other = bench.pipeline(bench.settings.with_values({"recaller.span": 0.3}))
    with pytest.raises(MismatchError, match="another settings"):
        collect(other, [YEARS], RowFile(path))


def test_rows_of_another_format_are_refused(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "1", "mrecall": {}}\n', encoding="utf-8")
    with pytest.raises(MismatchError, match="another format"):
        RowFile(path).rows()


def test_a_larger_subset_holds_the_smaller_one_whatever_the_order() -> None:
    questions = [Question(str(i), f"question {i}") for i in range(20)]
    small = hashed_subset(reversed(questions), 5)
    assert hashed_subset(questions, 9)[:5] == small
    assert len(hashed_subset(questions, 100)) == 20


def test_only_held_out_questions_of_nq_are_asked(tmp_path) -> None:
    file = tmp_path / "reading" / "nq-oracle" / "nq-open-oracle.jsonl.gz"
    file.parent.mkdir(parents=True)
    texts = [f"who was number {i}" for i in range(12)]
    lines = [json.dumps({"question": text, "answers": ["one", "two"]}) for text in texts]
    file.write_text("\n".join(lines), encoding="utf-8")
    held_out = {text for text in texts if held_out_nq(text)}
    asked = load_question_set("nq", tmp_path, nq_count=100)
    assert {question.text for question in asked.questions} == held_out
    assert asked.single_answer
    assert asked.questions[0].answers == ((("one", "two"),),)
    assert f"2 of {len(held_out)} by hash" in load_question_set("nq", tmp_path, nq_count=2).label


def test_a_split_written_down_is_read_back(tmp_path) -> None:
    file = tmp_path / "questions" / "multispanqa-test.jsonl.gz"
    file.parent.mkdir()
    gold = [["1995"], ["2010", "April 2010"]]
    file.write_text(json.dumps({"id": "q", "question": "when?", "answers": gold}), encoding="utf-8")
    arguments = ["--data", str(tmp_path), "--out", str(tmp_path / "own.json")]
    written = CliRunner().invoke(write_questions, ["test", *arguments])
    assert written.exit_code == 0, written.output
    assert "1 written to" in written.output
    assert tuple(load_questions(tmp_path / "own.json")) == load_question_set("test", tmp_path, 1).questions
    absent = CliRunner().invoke(write_questions, ["nq", *arguments])
    assert absent.exit_code == 1
    assert "nq-open-oracle" in absent.output


def test_an_unknown_split_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="'train'"):
        load_question_set("train", tmp_path, 1)


def test_gold_needs_several_passages_where_no_single_one_covers_it_all() -> None:
    apart = Question("apart", "?", ((("1995",), ("2010",)),))
    together = Question("together", "?", ((("film",), ("2010",)),))
    either = Question("either", "?", ((("1995",), ("2010",)), (("film",), ("television",))))
    single = Question("single", "?", ((("1066",),),))
    assert without_one_passage([apart, together, either, single], PASSAGES) == {"apart"}


def test_a_prediction_is_strictly_above_tau_or_else_the_best() -> None:
    ours = build_systems([])[0]
    assert ours.predict(ROWS[0], 0.4) == ["x"]
    assert ours.predict(ROWS[0], 0.39) == ["x", "y"]
    assert ours.predict(ROWS[0], 0.95) == ["x"]


def test_in_single_answer_mode_the_best_candidate_is_the_prediction() -> None:
    assert build_systems([])[0].predict(ROWS[0], 0.0, single_answer=True) == ["x"]


def test_another_cut_of_the_same_words_is_no_second_prediction() -> None:
    cuts = row("1", "x", candidate("x", 0.9, place=("p", 4, 9)), candidate("x y", 0.8, place=("p", 4, 13)))
    assert build_systems([])[0].predict(cuts, 0.1) == ["x"]


def test_the_best_tau_is_the_lowest_of_those_with_the_best_f1() -> None:
    ours = System("ours", lambda r: [c.p_right[2] for c in r.candidates], (0.1, 0.2, 0.3, 0.45))
    assert ours.best_tau(ROWS[:1]) == 0.2


def test_systems_are_ours_at_each_evidence_size_and_the_baselines() -> None:
    assert [system.name for system in build_systems(ROWS)] == [
        MAIN,
        f"{MAIN}, k = 5",
        f"{MAIN}, k = 1",
        "recaller alone",
        "logistic regression on 9 plain features",
    ]
    assert len(build_systems([])) == 4


def test_the_plain_baseline_scores_as_the_library_would() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(1)
    features = rng.normal(size=(30, 9)).tolist()
    right = [f[0] + f[3] > 0 for f in features]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features, right)
    assert fit_plain(features, right)(features) == pytest.approx(model.predict_proba(features)[:, 1])
    assert fit_plain(features, right)([]) == []


def measured(rows=ROWS, tau: float = 0.45, single_answer: bool = False):
    systems = build_systems([])[:1]
    return measure_rows(rows, systems, {MAIN: tau}, single_answer)


def test_measures_are_kept_by_question() -> None:
    found = measured([*ROWS, NOTHING])
    assert found[MAIN]["f1"] == pytest.approx({"1": 2 / 3, "2": 2 / 3, "3": 1 / 2})
    assert found[MAIN]["recall"] == pytest.approx({"1": 1 / 2, "2": 1, "3": 1 / 3})
    assert found[MAIN]["exact_match"] == {"1": 1, "2": 0, "3": 1}
    assert found[MAIN]["hits"] == {"1": 1, "2": 1, "3": 1}
    assert found[MAIN]["answers"] == {"1": 1, "2": 2, "3": 1}
    assert found[MAIN]["unanswered"] == {"4": 1}
    assert found["recaller"]["covered"] == {"1": 2, "2": 0, "3": 2}
    assert found["recaller"]["recalled"] == {"1": 2, "2": 0, "3": 1}
    assert found["recaller"]["precision"] == pytest.approx({"1": 2 / 3, "2": 1 / 2, "3": 1})
    assert found["retrieval"]["mrecall@10"] == {"1": 1, "2": 0, "3": 0}
    assert found["seconds"]["all"] == {"1": 0.75, "2": 0.75, "3": 0.75, "4": 0.75}


def test_no_answer_is_answered_where_a_score_is_above_tau() -> None:
    assert measured([NOTHING], tau=0.25)[MAIN]["unanswered"] == {"4": 0}


def test_single_answers_are_measured_without_a_threshold() -> None:
    found = measure_rows(ROWS, build_systems([]), {}, single_answer=True)
    assert found[MAIN] == {"exact_match": {"1": 1, "2": 0, "3": 1}}
    assert "recaller alone" in found


def test_without_a_threshold_there_are_no_several_answers() -> None:
    assert set(measure_rows(ROWS, build_systems([]), {}, False)) == {"retrieval", "recaller", "seconds"}


def test_recall_of_covered_answers_is_a_ratio_of_sums() -> None:
    found = interval(RECALLED_OF_COVERED, measured()["recaller"], ["1", "2", "3"])
    assert found.mean == 3 / 4
    assert 0 <= found.low <= found.mean <= found.high <= 1


def test_a_figure_that_applies_to_no_question_has_no_interval() -> None:
    assert interval("unanswered", measured()[MAIN], ["1", "2"]) is None


def test_a_difference_pairs_the_questions_that_both_have() -> None:
    low = {"f1": {str(i): i / 100 for i in range(50)}}
    high = {"f1": {str(i): i / 100 + 0.25 for i in range(5, 60)}}
    found = difference("f1", low, high, [str(i) for i in range(60)])
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))
    assert difference("f1", low, {"f1": {}}, ["1"]) is None


def test_a_difference_of_ratios_is_paired_as_well() -> None:
    covered = {str(i): 4.0 for i in range(30)}
    one = {"covered": covered, "recalled": {i: float(int(i) % 3) for i in covered}}
    more = {"covered": covered, "recalled": {i: float(int(i) % 3 + 1) for i in covered}}
    found = difference(RECALLED_OF_COVERED, one, more, list(covered))
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))


def test_the_bootstrap_draws_whole_questions() -> None:
    found = bootstrap_median([1.0, 2.0, 9.0])
    assert (found.mean, found.low, found.high) == (2, 1, 9)
    assert found == bootstrap_median([1.0, 2.0, 9.0])


def test_the_bootstrap_of_sums_draws_as_that_of_means_does() -> None:
    values = [1.0, 4.0, 4.0, 7.0]
    ratio = interval(
        RECALLED_OF_COVERED,
        {"covered": dict.fromkeys("abcd", 10.0), "recalled": dict(zip("abcd", values, strict=True))},
        "abcd",
    )
    mean = interval("share", {"share": {i: v / 10 for i, v in zip("abcd", values, strict=True)}}, "abcd")
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((mean.mean, mean.low, mean.high))


def scores(r: Row) -> list[float]:
    return [c.p_right[2] for c in r.candidates]


def test_calibration_error_weighs_the_bins_by_their_candidates() -> None:
    # .2 wrong, .4 right, .5 right, .6 wrong, .7 right, .9 right: each in a bin of its own.
    expected = (0.2 + 0.6 + 0.5 + 0.6 + 0.3 + 0.1) / 6
    assert calibration_error(ROWS, scores).mean == pytest.approx(expected)
    assert calibration_error(ROWS, scores, above=0.65).mean == pytest.approx((0.3 + 0.1) / 2)
    assert calibration_error(ROWS, scores, above=0.9) is None


def test_scores_that_are_right_as_often_as_they_say_have_no_error() -> None:
    half = [row("1", "x", candidate("x", 0.5)), row("2", "x", candidate("w", 0.5))]
    assert calibration_error(half, scores).mean == 0


def test_reliability_has_the_bins_that_hold_a_candidate() -> None:
    sure = [row("1", "x", candidate("x", 1.0), candidate("w", 0.94)), row("2", "x", candidate("w", 0.05))]
    low, high = reliability(sure, scores)
    assert (low.low, low.candidates, low.score, low.right.mean) == (0, 1, 0.05, 0)
    assert (high.low, high.candidates, high.right.mean) == (0.9, 2, 0.5)
    assert high.score == pytest.approx(0.97)


def test_the_picture_of_reliability_has_a_point_and_an_interval_for_each_bin() -> None:
    bins = reliability(ROWS, scores)
    drawn = draw_reliability("told in <words>", bins)
    assert drawn.startswith("<svg")
    assert (drawn.count("<circle"), drawn.count("<polyline")) == (len(bins), 2)
    assert "told in &lt;words&gt;" in drawn


def test_the_calibration_command_draws_each_split_that_was_asked(tmp_path) -> None:
    file = RowFile(tmp_path / "test.jsonl")
    for each in ROWS:
        file.add(each)
    told = CliRunner().invoke(
        calibration, ["--out", str(tmp_path), "--splits", "dev,test"], catch_exceptions=False
    )
    assert told.output.startswith("test: expected calibration error 38.3 points (")
    assert "over 6 candidates" in told.output
    assert [path.name for path in tmp_path.glob("*.svg")] == ["reliability-test.svg"]
    none = CliRunner().invoke(calibration, ["--out", str(tmp_path), "--splits", "nq"])
    assert none.exit_code == 1
    assert "benchmarks.quality" in none.output


def result(rows=(*ROWS, NOTHING), split: str = "test", tau: float = 0.45, single_answer: bool = False):
    asked = QuestionSet(split, f"set {split}", tuple(r.question for r in rows), single_answer)
    systems = build_systems([])
    taus = {} if single_answer else {system.name: tau for system in systems}
    return split_result(asked, rows, systems, taus, {"3"} if split == "test" else None)


def test_questions_fall_into_groups() -> None:
    assert result().groups == {ALL: ["1", "2", "3", "4"], MULTI: ["1", "3"], SEVERAL_PASSAGES: ["3"]}


def test_figures_are_means_medians_and_the_ratio() -> None:
    figures = figures_of(result())
    assert figures[ALL][MAIN]["f1"].mean == pytest.approx((2 / 3 + 2 / 3 + 1 / 2) / 3)
    assert figures[MULTI][MAIN]["f1"].mean == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert figures[SEVERAL_PASSAGES]["recaller"][RECALLED_OF_COVERED].mean == 1 / 2
    assert figures[ALL]["seconds"]["all"] == Interval(0.75, 0.75, 0.75)


def test_results_come_back_from_disk_as_they_were(tmp_path) -> None:
    made = [result(), result(split="nq", single_answer=True)]
    save_results(made, {r.split: figures_of(r) for r in made}, tmp_path)
    assert load_results(tmp_path) == made


def test_a_run_without_results_says_how_to_make_them(tmp_path) -> None:
    with pytest.raises(MissingError, match=r"python -m benchmarks\.quality"):
        load_results(tmp_path)


def report(*results) -> str:
    return render_report(results, {r.split: figures_of(r) for r in results})


def test_the_report_has_a_table_a_part() -> None:
    titles = [line for line in report(result()).splitlines() if line.startswith("### ")]
    assert titles == [
        "### Retrieval",
        "### Recaller",
        "### Answers: set test, 4 questions",
        "### Answers: set test, 1 questions whose gold no single passage of the corpus covers",
        "### Calibration",
        "### Reliability",
        "### Seconds a question, median",
    ]


def test_each_row_of_a_table_is_as_wide_as_its_head() -> None:
    widths: set[tuple[int, int]] = set()
    for table in report(result(), result(split="nq", single_answer=True)).split("### ")[1:]:
        lines = [line.count("|") for line in table.splitlines() if line.startswith("|")]
        assert len(lines) > 2, table
        widths |= {(width, lines[0]) for width in lines}
    assert all(own == head for own, head in widths)


def test_f1_of_several_answers_is_apart_where_some_questions_have_one() -> None:
    assert "F1, multi" in report(result())
    several = report(result(rows=[ROWS[0], ROWS[2]]))
    assert "F1, multi" not in several
    assert "F1 (all) and F1 (multi) are one" in several


def test_hits_are_counted_over_the_questions() -> None:
    line = next(line for line in report(result()).splitlines() if line.startswith(f"| {MAIN} |"))
    assert "| 3 (3 to 3) |" in line


def test_without_dev_the_report_says_where_thresholds_come_from() -> None:
    asked = QuestionSet("demo", "the demo", ())
    assert "add it to --splits" in report(split_result(asked, ROWS, build_systems([]), {}))


def test_a_cell_holds_a_figure_with_its_interval() -> None:
    assert cell(Interval(0.353, 0.3189, 0.389)) == "35.3 (31.9 to 38.9)"
    assert cell(Interval(1234.5, 1000, 2000), 1, 0) == "1,234 (1,000 to 2,000)"
    assert cell(None) == "-"


def test_a_table_is_markdown() -> None:
    assert markdown("T", ["a", "b"], [["1", "2"]], "n") == "### T\n\nn\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def loaded(demo: bool) -> SimpleNamespace:
    """Fakes as `factory.Models` holds them: a pipeline and the passages of an index."""
    bench = workbench(y1995=0.9, y2010=0.6, y1820=0.3)
    return SimpleNamespace(
        pipeline=bench.pipeline,
        retriever=SimpleNamespace(index=SimpleNamespace(passages=PASSAGES)),
    )


def test_a_run_takes_its_thresholds_from_dev_and_measures_every_split(tmp_path) -> None:
    dev = QuestionSet("dev", "the dev set", (YEARS,))
    test = QuestionSet("test", "the test set", (Question("1995", "What came out?", ((("1995",),),)), YEARS))
    made = measure([test, dev], workbench().settings, tmp_path, loaded)
    assert [r.split for r in made] == ["test", "dev"]
    assert made[0].taus[MAIN] == 0.3
    assert made[0].measures[MAIN]["f1"] == pytest.approx({"1995": 2 / 3, "years": 1})
    assert made[0].groups[SEVERAL_PASSAGES] == ["years"]
    assert SEVERAL_PASSAGES not in made[1].groups
    again = measure([test, dev], workbench().settings, tmp_path, loaded)
    assert again == made


def test_two_runs_are_compared_on_the_questions_that_both_have(tmp_path) -> None:
    for name, made in {"a": result(rows=ROWS), "b": result(rows=ROWS[:2], tau=0.3)}.items():
        (tmp_path / name).mkdir()
        save_results([made], {}, tmp_path / name)
    shown = CliRunner().invoke(compare, [str(tmp_path / "a"), str(tmp_path / "b")])
    assert shown.exit_code == 0, shown.output
    assert "### set test, 2 questions" in shown.output
    # Question 1 gains its second answer below tau .45; question 2 stays as it was.
    line = next(line for line in shown.output.splitlines() if line.startswith(f"| {MAIN} | F1 |"))
    assert line.split("|")[3].split()[0] == "66.7"
    assert line.split("|")[4].split()[0] == "83.3"
    assert line.split("|")[5].strip() == "16.7 (0.0 to 33.3)"
    assert "| seconds |" not in shown.output  # whose "recall" is a stage


def test_a_smaller_group_is_compared_apart() -> None:
    shown = comparison([result()], [result(tau=0.3)])
    assert "### set test, multi, 2 questions" in shown
    assert "### set test, several passages, 1 questions" in shown


def test_a_question_of_another_text_is_not_compared() -> None:
    other = result()
    other = type(other)(**{f: getattr(other, f) for f in other.__slots__} | {"questions": {"1": "another"}})
    assert comparison([result()], [other]) == "The two runs share no question."


def test_comparing_a_folder_without_results_fails_with_a_remedy(tmp_path) -> None:
    shown = CliRunner().invoke(compare, [str(tmp_path), str(tmp_path)])
    assert shown.exit_code == 1
    assert "There is no" in shown.output
