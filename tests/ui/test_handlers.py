"""The handlers, called as a browser would, and as it should not."""

from __future__ import annotations

import itertools
import math
import re
import socket

import pytest
from fakes import FakeWorkbench, MemoryStore

from rtv_core.errors import InputError
from rtv_core.records import Passage, Question
from rtv_core.settings import Settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.ui.app import build_app, launch_options, serve
from rtv_core.ui.asking import Answers, call_answers, open_link, show_answers, show_loading, stop_answers
from rtv_core.ui.judging import save_judgement, show_candidate, show_verdicts, take_back
from rtv_core.ui.marks import candidate_key, candidate_rows, extra_rows, gold_answers
from rtv_core.ui.session import Run

ASKED = "When did Jack come out?"
PASSAGES = (
    Passage("a", "Jack (game)", "The game Jack came out in 1995 and again in 2011."),
    Passage("b", "Jack (film)", "The film Jack came out on April 24, 2010 in the United States."),
    Passage("c", "Jill", "Jill was never released, though 2012 was named. Its maker was Berkeley Systems."),
)
PATTERN = r"April 24, 2010|\b(?:19|20)\d\d\b"
SCORES = {"1995": 0.9, "April 24, 2010": 0.8, "2010": 0.3, "2011": 0.6, "2012": 0.1}
GOLD = Question("q1", ASKED, ((("1995",), ("April 24, 2010", "24 April 2010"), ("Berkeley Systems",)),))

RELEVANCE = Settings().recaller.relevance


@pytest.fixture
def workbench():
    return FakeWorkbench(PASSAGES, PATTERN, SCORES, (GOLD,))


@pytest.fixture
def on_disk(workbench, tmp_path):
    workbench.store = JudgementStore(tmp_path / "rtv.db")
    return workbench


def ask(
    workbench, question=ASKED, passages=100, relevance=RELEVANCE, coverage="strict", tau=0.5, k=10, **other
):
    single, name = other.get("single", False), other.get("annotator", "ann")
    run = Run()
    run.call(question)
    return list(show_answers(workbench, run, passages, relevance, coverage, [], tau, k, single, name))


def start(workbench, passages=100, coverage="strict"):
    """A run that is under way, and the control over it."""
    run = Run()
    run.call(ASKED)
    views = show_answers(workbench, run, passages, RELEVANCE, coverage, [], 0.5, 10, False, "ann")
    return run, views


@pytest.fixture
def session(workbench):
    return ask(workbench)[-1].session


def judge(workbench, session, event, tau=0.5, k=10, annotator="ann", note="", drafts=None):
    event = {"token": "token-1", "label": "unlisted", **event}
    return save_judgement(workbench, session, tau, k, False, annotator, note, drafts, event)


def verdicts(workbench):
    return workbench.store.for_question(ASKED)


KEY = {"key": candidate_key("2011")}


# Asking


def test_a_question_streams_first_its_passages_then_its_candidates_then_its_scores(workbench):
    views = ask(workbench)
    stages = [view.session.trace.stage for view in views[2:]]
    assert stages[0] == "retrieved"
    assert stages[-1] == "verified"
    assert 'class="hit"' in views[2].passages
    assert 'data-state="accepted"' in views[-1].candidates


def test_a_finished_trace_is_saved_and_its_gold_comes_from_the_examples(workbench):
    last = ask(workbench, "  when did jack come out? ")[-1]
    assert workbench.store.load_trace(last.session.trace_id).question.answers == GOLD.answers
    assert "of 3 gold found" in last.summary


def test_a_question_asked_again_with_the_same_settings_is_not_run_again(workbench, session, monkeypatch):
    monkeypatch.setattr("fakes.WordRetriever.search", lambda *_: pytest.fail("searched again"))
    again = ask(workbench)[-1].session
    assert again.trace_id == session.trace_id


def test_other_settings_run_again(workbench, session):
    assert ask(workbench, passages=2)[-1].session.trace_id != session.trace_id


def test_the_buttons_follow_the_run(workbench):
    views = ask(workbench)
    assert views[0].stop["interactive"]
    assert not views[0].ask["interactive"]
    assert views[-1].ask["interactive"]
    assert not views[-1].stop["interactive"]


def test_models_that_are_not_loaded_are_announced(workbench):
    workbench.loaded = False
    assert "models are loading" in ask(workbench)[0].progress
    assert "models are loading" in next(show_loading(workbench))
    workbench.loaded = True
    assert list(show_loading(workbench)) == [""]


def test_where_nothing_was_asked_nothing_is_answered(workbench):
    views = show_answers(workbench, Run(), 100, RELEVANCE, "strict", [], 0.5, 10, False, "ann")
    assert list(views) == [Answers()]


def test_a_link_with_a_question_asks_it_and_one_without_does_not():
    workbench, run = FakeWorkbench(PASSAGES, PATTERN), Run()
    open_link(workbench, run, {"tau": "0.6"})
    assert run.take() is None
    open_link(workbench, run, {"q": ASKED})
    assert run.take() is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": ""},
        {"question": None},
        {"question": "   "},
        {"question": "?" * 10_000},
        {"question": "x" * 10_000},
        {"question": "x" * 1_000_000},
        {"question": ["a", "list"]},
        {"question": 7},
        {"tau": math.nan},
        {"tau": -0.1},
        {"tau": 1.5},
        {"tau": "0.5"},
        {"tau": True},
        {"tau": None},
        {"k": 10**9},
        {"k": 0},
        {"k": "ten"},
        {"k": [10]},
        {"k": None},
        {"passages": 10**9},
        {"passages": 0},
        {"passages": math.nan},
        {"passages": None},
        {"relevance": math.nan},
        {"relevance": 2},
        {"relevance": {"a": 1}},
        {"coverage": "loose"},
        {"coverage": None},
        {"single": "yes"},
        {"annotator": "n" * 1000},
        {"annotator": 3},
    ],
)
def test_a_wrong_argument_is_refused_in_words_and_nothing_is_written(workbench, wrong):
    (refused,) = ask(workbench, **wrong)
    assert 'role="alert"' in refused.progress
    assert refused.ask["interactive"]
    assert workbench.store.traces(ASKED) == []
    assert workbench.asked == 0


def test_a_bug_frees_the_page_and_keeps_its_traceback(workbench):
    workbench.pattern = "("
    _, views = start(workbench)
    last = list(itertools.islice(views, 4))[-1]
    with pytest.raises(re.error):
        next(views)
    assert "should not have" in last.progress
    assert last.ask["interactive"]


def test_stopping_keeps_what_is_there_and_calls_it_incomplete(workbench):
    run, views = start(workbench, passages=2, coverage="official")
    list(itertools.islice(views, 3))
    assert stop_answers(run).ask["interactive"]
    (last,) = views
    assert "stopped: incomplete" in last.progress
    assert 'class="hit"' in last.passages
    assert "passages=2&amp;coverage=official" in last.progress
    assert workbench.store.traces(ASKED) == []


def test_a_run_that_waits_for_its_turn_can_be_stopped_too(workbench):
    run, views = start(workbench)
    stop_answers(run)
    assert list(views) == [Answers()]


def test_asking_again_ends_the_run_before(workbench):
    run, views = start(workbench)
    list(itertools.islice(views, 3))
    assert call_answers(run, ASKED).stop["interactive"]
    assert len(list(views)) == 1


def test_no_candidate_at_all_says_what_to_do(workbench):
    workbench.pattern = "nowhere"
    last = ask(workbench)[-1]
    assert "Lower the relevance threshold" in last.candidates
    assert "no candidate" in last.evidence


# Links


def test_a_link_fills_the_controls(workbench):
    opened = open_link(
        workbench, Run(), {"q": ASKED, "tau": "0.8", "k": "5", "single": "1", "passages": "20"}
    )
    assert (opened.question, opened.tau, opened.k, opened.single, opened.passages) == (
        ASKED,
        0.8,
        5,
        True,
        20,
    )
    assert opened.notice == opened.relevance == opened.coverage == {"__type__": "update"}


def test_what_a_link_has_wrong_is_named_and_left_out(workbench):
    opened = open_link(workbench, Run(), {"q": ASKED, "tau": "nan", "k": "7", "profile": "<b>"})
    assert (opened.tau, opened.k) == (0.5, 10)
    assert opened.notice.count("left out") == 2
    assert "&lt;b&gt;" in opened.notice


# Choosing


def test_choosing_a_candidate_shows_its_evidence_and_verdict(workbench, session):
    chosen = show_candidate(workbench, session, 0.5, 10, False, "ann", "", {}, KEY)
    assert "<mark>2011</mark>" in chosen.evidence
    assert 'data-verdict="listed"' in chosen.judge


def test_an_answer_nobody_recalled_shows_the_passages_that_hold_it(workbench, session):
    event = {"key": "", "typed": "Berkeley Systems"}
    chosen = show_candidate(workbench, session, 0.5, 10, False, "ann", "", {}, event)
    assert "<mark>Berkeley Systems</mark>" in chosen.evidence
    assert "1 of 3 retrieved passages" in chosen.evidence


def test_a_note_that_was_not_saved_comes_back_with_its_candidate(workbench, session):
    other = {"key": candidate_key("1995"), "before": KEY["key"]}
    away = show_candidate(workbench, session, 0.5, 10, False, "ann", "half a thought", {}, other)
    assert away.note == ""
    back = show_candidate(
        workbench, session, 0.5, 10, False, "ann", "", away.drafts, {**KEY, "before": other["key"]}
    )
    assert back.note == "half a thought"


@pytest.mark.parametrize(
    "event", [{}, None, [], "x", {"key": "forged"}, {"key": 3}, {"typed": "?"}, {"typed": []}]
)
def test_a_forged_choice_is_refused(workbench, session, event):
    chosen = show_candidate(workbench, session, 0.5, 10, False, "ann", "", {}, event)
    assert 'role="alert"' in chosen.evidence


# Judging


def test_a_verdict_faster_than_its_bar_takes_note_evidence_and_gold_from_its_own_candidate(
    workbench, session
):
    of_another = {"unseen": True, "gold": 0}
    judge(workbench, session, {**KEY, "evidence": "supports"}, note="seen in a")
    judge(workbench, session, {**KEY, **of_another, "token": "2"}, note="of another")
    drafts = {candidate_key("2012"): "begun here"}
    judge(
        workbench,
        session,
        {"key": candidate_key("2012"), **of_another, "token": "3"},
        note="x",
        drafts=drafts,
    )
    film = {"key": candidate_key("April 24, 2010"), **of_another, "label": "listed", "token": "4"}
    judge(workbench, session, film, note="of another")
    said = {j.answer: (j.label, j.evidence, j.note, j.gold) for j in verdicts(workbench)}
    assert said == {
        "2011": ("unlisted", "supports", "seen in a", ""),
        "2012": ("unlisted", "", "begun here", ""),
        "April 24, 2010": ("listed", "", "", "April 24, 2010"),
    }
    refused = judge(workbench, session, {**KEY, **of_another, "label": "variant", "token": "5"})
    assert "Which gold answer is it?" in refused.saved


def test_a_verdict_is_saved_with_what_the_page_showed(workbench, session):
    shown = judge(workbench, session, {**KEY, "evidence": "supports"}, tau=0.7, k=5, note="seen in a")
    (saved,) = verdicts(workbench)
    assert (saved.answer, saved.label, saved.evidence, saved.note) == (
        "2011",
        "unlisted",
        "supports",
        "seen in a",
    )
    assert (saved.tau, saved.k, saved.blind, saved.recalled) == (0.7, 5, False, True)
    row = next(r for r in candidate_rows(session.trace) if r.answer == "2011")
    assert saved.p_right == pytest.approx(row.p_right[1])
    assert "Saved" in shown.saved
    assert 'data-token="token-1"' in shown.saved
    assert "you: unlisted" in shown.candidates
    assert 'data-label="unlisted"' in shown.judge


def test_the_same_click_twice_writes_once(on_disk):
    session = ask(on_disk)[-1].session
    judge(on_disk, session, KEY)
    judge(on_disk, session, KEY)
    assert len(on_disk.store.history(session.trace_id)) == 1


def test_a_variant_names_its_gold_answer(workbench, session):
    refused = judge(workbench, session, {**KEY, "label": "variant"})
    assert "Which gold answer is it?" in refused.saved
    assert verdicts(workbench) == []
    judge(workbench, session, {**KEY, "label": "variant", "gold": 1})
    assert verdicts(workbench)[0].gold == "April 24, 2010"


def test_an_answer_nobody_recalled_can_be_judged_and_is_listed(workbench, session):
    shown = judge(workbench, session, {"typed": "Berkeley Software", "label": "invalid"})
    (saved,) = verdicts(workbench)
    assert (saved.answer, saved.recalled, saved.p_right) == ("Berkeley Software", False, None)
    assert "Berkeley Software" in shown.candidates


def test_a_typed_answer_that_is_a_candidate_counts_as_that_candidate(workbench, session):
    judge(workbench, session, {"typed": "24 april 2010"})
    assert verdicts(workbench)[0].answer == "April 24, 2010"
    assert verdicts(workbench)[0].recalled


def test_undo_and_redo_change_what_the_page_shows(on_disk):
    workbench, session = on_disk, ask(on_disk)[-1].session
    session = judge(workbench, session, KEY).session
    undone = take_back(workbench, session, 0.5, 10, False, "ann", False, KEY)
    assert verdicts(workbench) == []
    assert "you: unlisted" not in undone.candidates
    redone = take_back(workbench, session, 0.5, 10, False, "ann", True, KEY)
    assert "you: unlisted" in redone.candidates
    nothing = take_back(workbench, session, 0.5, 10, False, "ann", True, KEY)
    assert "Nothing to redo" in nothing.saved


def test_neither_undo_nor_another_name_touches_a_note_being_typed(workbench, session):
    session = judge(workbench, session, KEY, note="a note").session
    assert take_back(workbench, session, 0.5, 10, False, "ann", False, KEY).note == {"__type__": "update"}
    assert show_verdicts(workbench, session, 0.5, 10, False, "bob", KEY).note == {"__type__": "update"}


def test_one_person_can_not_undo_another_ones_verdict(workbench, session):
    judge(workbench, session, KEY, annotator="ann")
    take_back(workbench, session, 0.5, 10, False, "bob", False, KEY)
    assert len(verdicts(workbench)) == 1
    shown = show_verdicts(workbench, session, 0.5, 10, False, "bob", KEY)
    assert "you: unlisted" not in shown.candidates


def test_verdicts_are_there_after_a_restart(on_disk, tmp_path):
    judge(on_disk, ask(on_disk)[-1].session, KEY)
    on_disk.store = JudgementStore(tmp_path / "rtv.db")
    assert "you: unlisted" in ask(on_disk)[-1].candidates


def test_a_stopped_trace_can_be_judged_too(workbench):
    _, views = start(workbench)
    view = list(itertools.islice(views, 4))[-1]
    views.close()
    shown = judge(workbench, view.session, KEY)
    assert "Saved" in shown.saved
    assert verdicts(workbench)[0].p_right is None
    assert shown.session.trace_id


@pytest.mark.parametrize(
    ("event", "other"),
    [
        ({"key": "forged"}, {}),
        ({"key": None}, {}),
        ({**KEY, "label": "right"}, {}),
        ({**KEY, "label": None}, {}),
        ({**KEY, "label": ["listed"]}, {}),
        ({**KEY, "evidence": "maybe"}, {}),
        ({**KEY, "evidence": {"a": 1}}, {}),
        ({**KEY, "label": "listed", "gold": 99}, {}),
        ({**KEY, "label": "listed", "gold": -1}, {}),
        ({**KEY, "label": "listed", "gold": True}, {}),
        ({**KEY, "label": "listed", "gold": "0"}, {}),
        ({**KEY, "token": ""}, {}),
        ({**KEY, "token": 7}, {}),
        ({**KEY, "token": "t" * 1000}, {}),
        ({"typed": "x" * 10_000}, {}),
        ({"typed": "  "}, {}),
        (KEY, {"tau": math.nan}),
        (KEY, {"tau": -1}),
        (KEY, {"k": 10**6}),
        (KEY, {"k": "10"}),
        (KEY, {"annotator": ""}),
        (KEY, {"annotator": " \u200b "}),
        (KEY, {"annotator": "n" * 1000}),
        (KEY, {"annotator": None}),
        (KEY, {"note": "n" * 100_000}),
        (KEY, {"note": 5}),
    ],
)
def test_a_forged_verdict_is_refused_in_words_and_nothing_is_written(workbench, session, event, other):
    refused = judge(workbench, session, event, **other)
    assert "Not saved" in refused.saved
    assert 'role="alert"' in refused.saved
    assert verdicts(workbench) == []
    untouched = {"__type__": "update"}
    assert refused.note == refused.judge == refused.candidates == untouched


def test_without_a_question_there_is_nothing_to_judge_or_undo(workbench):
    assert "Ask a question first" in judge(workbench, None, KEY).saved
    assert "no verdict" in take_back(workbench, None, 0.5, 10, False, "ann", False, KEY).saved
    assert show_candidate(workbench, None, 0.5, 10, False, "ann", "", {}, KEY).evidence


def test_a_trace_that_can_not_be_saved_is_shown_all_the_same():
    workbench = FakeWorkbench(PASSAGES, PATTERN, SCORES, (GOLD,), store=MemoryStore(broken=True))
    *_, last, warning = ask(workbench)
    assert 'data-stage="verified"' in last.candidates
    assert "Not saved" in warning.saved
    workbench.store.broken = False
    assert "Saved" in judge(workbench, last.session, KEY).saved


def test_moving_tau_does_not_make_another_trace(workbench, session):
    assert ask(workbench, tau=0.9, k=1, single=True)[-1].session.trace_id == session.trace_id


def test_a_failed_save_stays_in_red_and_leaves_the_words_alone():
    workbench = FakeWorkbench(PASSAGES, PATTERN, SCORES, (GOLD,), store=MemoryStore())
    session = ask(workbench)[-1].session
    workbench.store.broken = True
    failed = judge(workbench, session, KEY, note="worth keeping")
    assert "The disk is full" in failed.saved
    assert 'class="rtv-saved bad"' in failed.saved
    assert failed.note == {"__type__": "update"}
    workbench.store.broken = False
    assert "Saved" in judge(workbench, session, KEY, note="worth keeping").saved


# Marks


def test_gold_of_all_annotations_is_united():
    question = Question("q", "?", ((("New York",), ("1995",)), (("new york", "NYC"), ("Boston",))))
    assert gold_answers(question) == (("New York", "new york", "NYC"), ("1995",), ("Boston",))


def test_places_follow_the_score_at_each_k(session):
    for k in (1, 5, 10):
        rows = candidate_rows(session.trace, k=k)
        at = (1, 5, 10).index(k)
        scores = [row.p_right[at] for row in rows]
        assert scores == sorted(scores, reverse=True)
        assert [row.places[at] for row in rows] == list(range(len(rows)))


def test_gold_that_was_not_recalled_is_listed_apart(session):
    assert [row.answer for row in extra_rows(session.trace)] == ["Berkeley Systems"]


# Serving


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org", ""])
def test_an_address_that_others_can_reach_is_refused(workbench, host):
    with pytest.raises(InputError, match="no login"):
        serve(workbench, host=host)


def test_a_port_that_is_taken_is_named(workbench):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} .* --port"):
            serve(workbench, port=port)


@pytest.mark.filterwarnings("error::UserWarning")
def test_the_app_builds_without_a_warning_and_hides_its_endpoints(workbench):
    app = build_app(workbench)
    config = app.get_config_file()
    assert all(d["api_visibility"] == "private" for d in config["dependencies"])
    assert config["analytics_enabled"] is False
    options = launch_options()
    assert options["share"] is False
    assert options["run_history"] is False
    assert options["enable_monitoring"] is False
    assert options["allowed_paths"] == []


def test_no_template_or_script_holds_data(workbench):
    workbench.corpus = "SECRET"
    app = build_app(workbench)
    for component in app.get_config_file()["components"]:
        if component["type"] == "html":
            assert component["props"]["html_template"] == "${value}"
            assert component["props"]["css_template"] == ""
            assert "SECRET" not in component["props"]["js_on_load"]


def test_settings_of_the_server_are_where_the_controls_start(workbench):
    workbench.settings = Settings().with_values({"verifier.tau": 0.65, "verifier.k": 5})
    components = build_app(workbench).get_config_file()["components"]
    values = {c["props"].get("elem_id"): c["props"].get("value") for c in components}
    assert (values["rtv-tau"], values["rtv-k"], values["rtv-single"]) == (0.65, 5, False)
    assert open_link(workbench, Run(), {"tau": "x"}).tau == 0.65
