"""The Compare page: one question through several systems, who found what, and where the others lost it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from fakes import FakeWorkbench

from rtv_core.baselines.offers import Offer, Systems, offers
from rtv_core.baselines.systems import scored_trace
from rtv_core.errors import MissingError
from rtv_core.records import Candidate, Passage, Question, Reading, Trace
from rtv_core.ui.compare.actions import Compared, call_comparison, show_comparison, stop_comparison
from rtv_core.ui.compare.render import render_form, render_welcome
from rtv_core.ui.session import Run

ASKED = "When did Jack come out?"
PASSAGES = (
    Passage("a", "Jack (game)", "The game Jack came out in 1995 and again in 2011."),
    Passage("b", "Jack (film)", "The film Jack came out on April 24, 2010 in the United States."),
    Passage("c", "Jill", "Jill came out in 2012 in the land of Berkeley, with <i>pictures</i>."),
)
SCORES = {"1995": 0.9, "April 24, 2010": 0.3, "2011": 0.8, "2012": 0.1}
GOLD = Question("q1", ASKED, ((("1995",), ("April 24, 2010", "24 April 2010"), ("Berkeley",), ("1877",)),))
HOSTILE = 'sys <img src=x onerror="alert(1)">'


@dataclass
class OnePassage:
    """Reads passage a alone and gives what its table says."""

    answers: dict[str, float]
    name: str = HOSTILE
    tau: float = 0.2
    weights = {}  # noqa: RUF012

    def read(self, trace: Trace) -> Trace:
        candidates = [Candidate(answer, (answer,), score, ()) for answer, score in self.answers.items()]
        hits = sorted(trace.hits, key=lambda hit: hit.passage.id)
        return scored_trace(self, trace, hits, [Reading("a", 0.9, ())], candidates, 0.25)


@pytest.fixture
def workbench():
    return FakeWorkbench(PASSAGES, r"April 24, 2010|\b(?:19|20)\d\d\b", SCORES, (GOLD,))


@pytest.fixture
def systems():
    def broken(_):
        raise MissingError("The weights are gone. Train them again.")

    return Systems(
        [
            *offers(),
            Offer(HOSTILE, lambda _: OnePassage({"1995": 0.6, "<script>": 0.5, "24 April 2010": 0.4})),
            Offer("oracle", lambda _: OnePassage({}), True),
            Offer("broken", broken),
        ]
    )


def compare(workbench, systems, names=(HOSTILE,), question=ASKED, run=None, **knobs):
    run = run or Run()
    wanted = call_comparison(run, {"question": question, "systems": list(names)} | knobs)
    return list(show_comparison(workbench, systems, run, wanted))


def lines(table: str) -> list[tuple[str, ...]]:
    """Each line: its answer, then for each system what became of it."""
    rows = re.findall(r'<tr data-answer="([^"]*)">(.*?)</tr>', table)
    return [(answer, *re.findall(r'data-lost="([^"]*)"', row)) for answer, row in rows]


def groups(table: str) -> list[str]:
    return re.findall(r'<tr class="group"><th[^>]*>([^<]*)', table)


def test_answers_are_aligned_under_who_gives_them_and_lost_ones_name_the_stage(workbench, systems):
    table = compare(workbench, systems)[-1].table
    assert lines(table) == [
        ("1995", "predicted", "predicted"),
        ("2011", "predicted", "not recalled"),
        ("April 24, 2010", "at or below tau", "predicted"),
        ("&lt;script&gt;", "not retrieved", "predicted"),
        ("1877", "not retrieved", "not retrieved"),
        ("Berkeley", "not recalled", "not among the passages read"),
    ]
    assert [re.sub(r" \(\d+\)$", "", group) for group in groups(table)] == [
        "Given by both",
        "Only recall, then verify",
        "Only sys &lt;img src=x onerror=&quot;alert(1)&quot;&gt;",
        "Gold that nobody gives",
    ]
    assert "24 April 2010" in table
    assert "<script>" not in table
    assert "<img" not in table


def test_the_heads_say_what_each_system_comes_to(workbench, systems):
    table = compare(workbench, systems)[-1].table
    ours, theirs = re.findall(r'<th scope="col"><span class="name">(.*?)</th>', table)
    ours, theirs = (re.sub(r"<[^>]*>", "|", head) for head in (ours, theirs))
    for words in (
        "2| kept at tau 0.5",
        "1 of 4 gold",
        "F1 33",
        "1 not retrieved",
        "1 not recalled",
        "1 at or below",
    ):
        assert words in ours, words
    for words in ("3| kept at tau 0.2", "2 of 4 gold", "F1 57", "0.25 s after retrieval"):
        assert words in theirs, words


def test_ours_is_drawn_first_then_one_system_after_the_other(workbench, systems):
    views = compare(workbench, systems, ("recaller alone", HOSTILE))
    assert "recall, then verify is searching" in views[0].said
    assert any("reads passage" in str(view.said) for view in views)
    tables = [view.table for view in views if view.table and "<table" in str(view.table)]
    assert [table.count('scope="col"') for table in tables] == [2, 3, 4]
    assert views[-1].said == ""
    assert groups(tables[0]) == ["Given by recall, then verify (2)", "Gold that is missed (3)"]


def test_of_three_systems_each_group_names_who_gives_its_answers(workbench, systems):
    named = groups(compare(workbench, systems, (HOSTILE, "recaller alone"))[-1].table)
    assert named[0].startswith("Given by all")
    assert any(group.startswith("Only recall, then verify and recaller alone") for group in named)


def test_a_system_that_fails_is_named_and_the_others_stay(workbench, systems):
    last = compare(workbench, systems, ("broken", HOSTILE))[-1]
    assert "broken: The weights are gone. Train them again." in last.table
    assert len(lines(last.table)[0]) == 3
    oracle = compare(workbench, systems, ("oracle",), "When did Jill come out?")[-1]
    assert "oracle: It needs gold answers" in oracle.table
    assert "no gold is known" in oracle.table
    assert "F1" not in oracle.table


def test_the_knobs_of_the_view_it_was_opened_from_count_for_ours(workbench, systems):
    table = compare(workbench, systems, tau=0.2)[-1].table
    assert {line[0]: line[1] for line in lines(table)}["April 24, 2010"] == "predicted"
    assert "kept at tau 0.2" in table
    assert "tau is" in compare(workbench, systems, tau="x")[-1].said


def test_an_answer_that_was_made_before_is_not_made_again(workbench, systems, monkeypatch):
    compare(workbench, systems)
    monkeypatch.setattr("fakes.WordRetriever.search", lambda *_: pytest.fail("searched again"))
    assert lines(compare(workbench, systems)[-1].table)


def test_stop_and_a_newer_question_end_a_comparison(workbench, systems):
    run = Run()
    wanted = call_comparison(run, {"question": ASKED, "systems": [HOSTILE]})
    views = show_comparison(workbench, systems, run, wanted)
    next(views)
    assert stop_comparison(run) == Compared(said="")
    assert list(views) == [Compared()]
    assert list(show_comparison(workbench, systems, run, wanted)) == [Compared()]
    assert list(show_comparison(workbench, systems, Run(), None)) == [Compared()]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"question": ""}, "question is empty"),
        ({"question": 7}, "must be text"),
        ({"question": "x" * 5000}, "Shorten it"),
        ({"names": ()}, "Choose at least one system"),
        ({"names": ("magic",)}, "no system &#x27;magic&#x27;"),
        ({"names": (7,)}, "must be text"),
        ({"names": ("x",) * 99}, "at most"),
        ({"k": 3}, "k is 3"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(workbench, systems, wrong, words):
    (refused,) = compare(workbench, systems, **wrong)
    assert words in refused.said
    assert 'role="alert"' in refused.said
    assert workbench.asked == 0


def test_a_bug_is_said_and_keeps_its_traceback(workbench, systems):
    workbench.pattern = "("
    run = Run()
    views = show_comparison(
        workbench, systems, run, call_comparison(run, {"question": ASKED, "systems": [HOSTILE]})
    )
    said = []
    with pytest.raises(re.error):
        said += (view.said for view in views)
    assert call_comparison(run, "no mapping") == {}


def test_the_form_offers_every_system_and_the_welcome_a_few_questions(systems):
    form = render_form(systems.names)
    assert form.count('type="checkbox"') == 4
    assert form.count("checked") == 1
    assert "<img" not in form
    welcome = render_welcome((GOLD, Question("q2", "<b>bold</b>?")))
    assert "&lt;b&gt;" in welcome
    assert welcome.count("data-compare=") == 2
    assert "data-compare=" not in render_welcome(())
