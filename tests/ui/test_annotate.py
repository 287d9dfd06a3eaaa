"""The Annotate page without a browser: what is drawn, what is written, and what nobody gets to see."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from desks import Bench, bench, questions_and_passages

from rtv_core.evaluation import import_predictions
from rtv_core.predictions import Predicted, PredictedAnswer
from rtv_core.records import Passage, Question, Support
from rtv_core.ui.annotate.actions import answer
from rtv_core.ui.annotate.page import show_answer

ASKED = "When was the bridge of Alton built?"
QUESTION = Question("b1", ASKED, ((("1805", "the year 1805"), ("Golden Age",)),))
PASSAGES = [
    Passage("a", "Bridge of Alton", "The bridge of Alton was built in 1805 by Mary Smith."),
    Passage("b", "Bridge of Alton", "It was built again in 1912, after the flood of 1911, says John Brown."),
]
SECRET = ("Golden Age", "validity score", "predicted", "gold: ", "★")
"""What the page must not hold while score and gold are hidden."""

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "${alert(1)} {{7*7}} `",
)


class Feed(HTMLParser):
    """What an action drew: its slots' text, its attributes, every start tag."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.markup, self.tags = markup, []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    @property
    def failed(self) -> bool:
        return any("data-failed" in attributes for _, attributes in self.tags)

    @property
    def items(self) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag == "article"]

    @property
    def place(self) -> int:
        return int(self.items[0]["data-place"])

    @property
    def mode(self) -> str:
        return self.items[0]["data-mode"]

    @property
    def text(self) -> str:
        return re.sub(r"<[^>]*>", "", self.markup)

    def said(self) -> str:
        return re.sub(r"<[^>]*>", "", self.markup.partition('data-slot="said"')[2].partition("data-slot")[0])


class Annotator:
    """Somebody in front of a queue, as the browser would act for them."""

    count = 0

    def __init__(self, bench: Bench, queue: str, name: str = "Ann") -> None:
        self.bench, self.queue, self.name = bench, queue, name

    def do(self, action: str, **event: object) -> Feed:
        event = {"action": action, "queue": self.queue, "token": self.token(), **event}
        return Feed(answer(self.bench.workbench, self.name, event))

    def judge(self, place: int, label: str, **event: object) -> Feed:
        return self.do("judge", place=place, label=label, **event)

    def token(self) -> str:
        Annotator.count += 1
        return f"token {Annotator.count}"

    def verdicts(self) -> list[tuple[str, str, bool]]:
        said = self.bench.workbench.store.current(annotator=self.name)
        return [(j.answer, j.label, j.blind) for j in reversed(said)]


@pytest.fixture
def small(tmp_path: Path) -> Bench:
    return bench(tmp_path / "rtv.db", (QUESTION,), PASSAGES)


@pytest.fixture
def large(tmp_path: Path) -> Bench:
    return bench(tmp_path / "rtv.db", *questions_and_passages(6))


def item_of(bench: Bench, queue: str, text: str) -> int:
    items = bench.workbench.queues.items(queue)
    return next(item.place for item in items if item.answer == text)


# Opening


def test_without_a_run_the_page_says_which_commands_make_one(tmp_path: Path) -> None:
    empty = bench(tmp_path / "rtv.db", (QUESTION,), PASSAGES)
    empty.workbench.runs.runs = list
    text = Annotator(empty, "").do("open").text
    assert "python -m rtv_core evaluate" in text
    assert "python -m rtv_core runs import" in text


def test_without_a_name_the_page_asks_for_one_and_nothing_is_claimed(small: Bench) -> None:
    queue = small.queue()
    assert "Who is judging?" in Annotator(small, queue, "  ").do("open").text
    assert small.workbench.queues.claims(queue) == []


def test_a_queue_is_drawn_on_the_page_and_opens(small: Bench) -> None:
    form = {"run": small.run_id, "strategy": "uniform", "count": "3", "seed": "4", "overlap": "2"}
    form |= {"population": "candidates", "unit": "candidate", "blind": True, "name": ""}
    feed = Annotator(small, "").do("draw", form=form)
    (queue,) = small.workbench.queues.queues()
    assert (queue.plan.count, queue.plan.overlap, queue.plan.blind, queue.items) == (3, 2, True, 3)
    assert feed.mode == "blind"
    assert queue.name in feed.text
    assert queue.name in Annotator(small, "").do("open").text


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": "0"},
        {"count": "-1"},
        {"count": "1e9"},
        {"count": None},
        {"count": ["1"]},
        {"overlap": "101"},
        {"strategy": "best"},
        {"strategy": None},
        {"population": "none"},
        {"run": "elsewhere"},
        {"name": "x" * 300},
    ],
)
def test_a_form_that_cannot_be_followed_draws_nothing(small: Bench, wrong: dict[str, object]) -> None:
    form = {"run": small.run_id, "strategy": "uniform", "count": "3", "seed": "0", "overlap": "1"}
    form |= {"population": "candidates", "unit": "candidate", "blind": True, "name": ""}
    assert Annotator(small, "").do("draw", form=form | wrong).failed
    assert small.workbench.queues.queues() == []


def test_the_next_item_comes_along_with_the_first(small: Bench) -> None:
    queue = small.queue()
    feed = Annotator(small, queue).do("open")
    assert [item["data-place"] for item in feed.items] == ["1", "2"]
    assert "<mark>" in feed.markup


def test_the_list_of_queues_says_how_far_one_is_and_how_far_all_are(small: Bench) -> None:
    queue = small.queue(count=50, overlap=2)
    items = small.workbench.queues.queue(queue).items
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")

    def listed(annotator: Annotator) -> str:
        return annotator.do("open", queue="").text

    assert f"you: 0 of {items} judged · all together: 0 of {items} finished" in listed(ann)
    feed = ann.judge(ann.do("open").place, "invalid")
    ann.do("skip", place=feed.place)
    assert f"you: 1 of {items} judged, 1 skipped · all together: 0 of {items} finished" in listed(ann)
    bob.judge(1, "unsure")
    assert f"you: 1 of {items} judged · all together: 1 of {items} finished" in listed(bob)
    ann.judge(feed.place, "invalid")
    assert f"you: 2 of {items} judged · all together: 1 of {items} finished" in listed(ann)
    for annotator in (ann, bob):
        for place in range(1, items + 1):
            annotator.judge(place, "invalid")
    assert f"you: {items} of {items} judged · all finished" in listed(ann)


# Blind


def test_blind_items_hold_neither_score_nor_gold(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    feeds = [ann.do("open")]
    while feeds[-1].items and len(feeds) < 20:
        feeds.append(ann.do("skip", place=feeds[-1].place))
    scores = {f"{a.p_right:.2f}" for q in small.workbench.runs.questions(small.run_id) for a in q.answers}
    for feed in feeds:
        assert [item["data-mode"] for item in feed.items] in (["blind"], ["blind", "blind"])
        assert [word for word in (*SECRET, *scores) if word in feed.markup] == []
        assert "the year 1805" not in feed.markup


def test_score_and_gold_wait_until_no_item_of_the_question_can_come(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    places = [item.place for item in small.workbench.queues.items(queue)]
    for place in places[:-1]:
        feed = ann.judge(place, "invalid")
        assert [word for word in SECRET if word in feed.markup] == []
        assert "score and gold follow" in feed.said()
    assert "Golden Age" in ann.judge(places[-1], "invalid").said()
    assert all(blind for _, _, blind in ann.verdicts())


def test_what_is_called_right_is_saved_then_placed_among_the_gold(small: Bench) -> None:
    queue = small.queue(only="1912")
    ann = Annotator(small, queue)
    feed = ann.judge(1, "right")
    assert ann.verdicts() == [("1912", "unlisted", True)]
    assert feed.mode == "place"
    assert "Golden Age" in feed.markup
    assert "validity score" not in feed.markup
    assert Annotator(small, queue).do("open").mode == "place"
    done = ann.judge(1, "variant", gold=1)
    assert ann.verdicts() == [("1912", "variant", True)]
    assert done.items == []
    assert "validity score" in done.said()
    assert "variant of Golden Age" in done.said()


def test_right_and_equal_to_the_gold_is_listed_without_asking(small: Bench) -> None:
    queue = small.queue(count=50, population="all")
    ann = Annotator(small, queue)
    place = item_of(small, queue, "1805")
    for item in small.workbench.queues.items(queue):
        if item.place != place:
            ann.judge(item.place, "invalid")
    ann.judge(place, "right")
    (said,) = [j for j in small.workbench.store.current() if j.answer == "1805"]
    assert (said.label, said.gold, said.blind) == ("listed", "1805", True)


def test_whether_a_right_answer_is_listed_is_not_said_while_the_gold_is_hidden(small: Bench) -> None:
    queue = small.queue(count=50, population="all")
    ann = Annotator(small, queue)
    feed = ann.judge(item_of(small, queue, "1805"), "right")
    assert "1805: right" in feed.said()
    assert "listed" not in feed.markup


def test_a_changed_verdict_is_kept_beside_the_first_and_is_not_blind(small: Bench) -> None:
    queue = small.queue(only="1912")
    ann = Annotator(small, queue)
    ann.judge(1, "invalid")
    feed = ann.do("open", place=1)
    assert feed.mode == "open"
    assert "validity score" in feed.markup
    ann.judge(1, "unlisted")
    trace_id = small.workbench.queues.item(queue, 1).trace_id
    history = [(e.judgement.label, e.judgement.blind) for e in small.workbench.store.history(trace_id)]
    assert history == [("invalid", True), ("unlisted", False)]


def test_a_change_of_a_right_answers_kind_stays_blind(small: Bench) -> None:
    queue = small.queue(only="1912")
    ann = Annotator(small, queue)
    ann.judge(1, "right")
    ann.judge(1, "unlisted")
    assert ann.do("open", place=1).mode == "open"
    ann.judge(1, "variant", gold=0)
    ann.judge(1, "invalid")
    ann.judge(1, "unlisted")
    trace_id = small.workbench.queues.item(queue, 1).trace_id
    history = [(e.judgement.label, e.judgement.blind) for e in small.workbench.store.history(trace_id)]
    assert history == [
        ("unlisted", True),
        ("unlisted", True),
        ("variant", True),
        ("invalid", False),
        ("unlisted", False),
    ]


def test_an_item_that_was_seen_is_not_blind_after_an_undo(small: Bench) -> None:
    queue = small.queue(only="1912")
    ann = Annotator(small, queue)
    ann.judge(1, "invalid")
    feed = ann.do("undo")
    assert (feed.place, feed.mode) == (1, "open")
    ann.judge(1, "unsure")
    assert [blind for _, _, blind in ann.verdicts()] == [False]


def test_what_was_seen_in_another_queue_of_the_run_is_not_judged_blind(small: Bench) -> None:
    first, second = small.queue("first", only="1912"), small.queue("second", only="Mary Smith", overlap=2)
    ann = Annotator(small, first)
    assert Annotator(small, second).do("open").mode == "blind"
    assert "Golden Age" in ann.judge(1, "invalid").markup
    again = Annotator(small, second)
    assert again.do("open").mode == "open"
    assert "Not blind" in again.do("open").text
    again.judge(1, "invalid")
    assert ann.verdicts() == [("1912", "invalid", True), ("Mary Smith", "invalid", False)]
    assert Annotator(small, second, "Bob").do("open").mode == "blind"


def test_what_was_seen_before_a_colleague_let_an_item_go_is_not_judged_blind(small: Bench) -> None:
    queue = small.queue()
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")
    items = len(small.workbench.queues.items(queue))
    assert ann.do("open").mode == "blind"
    for place in range(3, items + 1):
        bob.judge(place, "invalid")
    ann.judge(1, "invalid")
    assert "Golden Age" in ann.judge(2, "invalid").markup
    bob.do("undo")
    bob.do("leave")
    feed = ann.do("open")
    assert feed.mode == "open"
    ann.judge(feed.place, "invalid")
    assert [blind for _, _, blind in ann.verdicts()] == [True, True, False]


def test_an_undo_before_anything_was_shown_leaves_the_item_blind(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    ann.judge(1, "invalid")
    assert ann.do("undo").mode == "blind"
    ann.judge(1, "unsure")
    assert [blind for _, _, blind in ann.verdicts()] == [True]


def test_an_item_that_is_not_judged_cannot_be_opened_before_its_turn(small: Bench) -> None:
    queue = small.queue()
    feed = Annotator(small, queue).do("open", place=3)
    assert feed.failed
    assert feed.items == []


# Open queues


def test_an_open_queue_shows_all_and_no_verdict_counts_as_blind(small: Bench) -> None:
    queue = small.queue(blind=False)
    ann = Annotator(small, queue)
    feed = ann.do("open")
    assert feed.mode == "open"
    assert "Golden Age" in feed.markup
    ann.judge(1, "invalid")
    assert [blind for _, _, blind in ann.verdicts()] == [False]


def test_a_variant_needs_its_gold_answer(small: Bench) -> None:
    queue = small.queue(blind=False)
    ann = Annotator(small, queue)
    for gold in (None, "", "1", 2, -1, True, 1.0, [1]):
        assert ann.judge(1, "variant", gold=gold).failed
    assert ann.verdicts() == []
    ann.judge(1, "variant", gold=0)
    assert ann.verdicts()[0][1] == "variant"


def test_the_proposed_gold_answer_is_chosen_but_nothing_is_decided(tmp_path: Path) -> None:
    question = Question("g", "Who built the bridge?", ((("William Jones",), ("Mary Ann Smith",)),))
    passages = [Passage("a", "Bridge", "The bridge was built by Mary Smith of Alton.")]
    few = bench(tmp_path / "rtv.db", (question,), passages)
    queue = few.queue(blind=False)
    ann = Annotator(few, queue)
    feed = ann.do("open")
    radios = [a for tag, a in feed.tags if tag == "input" and a.get("type") == "radio"]
    assert [radio["value"] for radio in radios if "checked" in radio] == ["1"]
    assert radios[0]["value"] == "1"
    assert "proposed: " in feed.text
    assert ann.verdicts() == []


# Writing


def test_a_verdict_is_saved_with_what_was_said_beside_it(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    ann.do("open")
    feed = ann.judge(1, "unsure", evidence="insufficient", note="  both are <b>odd</b> ")
    (said,) = small.workbench.store.current()
    assert (said.label, said.evidence, said.note) == ("unsure", "insufficient", "both are <b>odd</b>")
    assert said.annotator == "Ann"
    assert "Saved" in feed.said()
    assert feed.place == 2


def test_a_double_click_writes_once(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    ann.do("open")
    feeds = [ann.judge(1, "invalid", token="one click") for _ in range(3)]
    trace_id = small.workbench.queues.item(queue, 1).trace_id
    assert len(small.workbench.store.history(trace_id)) == 1
    assert [feed.failed for feed in feeds] == [False] * 3
    assert {feed.place for feed in feeds} == {2}


def test_a_failed_save_says_so_and_draws_no_item(small: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    feed = ann.judge(1, "unsure", note="x" * 5000)
    assert feed.failed
    assert "Not saved" in feed.said()
    assert feed.items == []
    assert ann.verdicts() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"place": 0},
        {"place": 99},
        {"place": "1"},
        {"place": True},
        {"place": None},
        {"queue": "elsewhere"},
        {"queue": ["q"]},
        {"label": "best"},
        {"label": None},
        {"evidence": "much"},
        {"note": 7},
        {"token": ""},
        {"token": "x" * 300},
        {"action": "delete"},
        {"action": None},
    ],
)
def test_a_forged_verdict_is_refused_and_writes_nothing(small: Bench, wrong: dict[str, object]) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    event = {"action": "judge", "place": 1, "label": "invalid", "token": "t", "queue": queue} | wrong
    assert Feed(answer(small.workbench, "Ann", event)).failed
    assert ann.verdicts() == []


@pytest.mark.parametrize("event", [None, "judge", 7, [], {"action": {"a": 1}}])
def test_an_event_of_another_kind_is_refused(small: Bench, event: object) -> None:
    assert Feed(answer(small.workbench, "Ann", event)).failed


@pytest.mark.parametrize("name", ["x" * 81, "a\u200bb", 7, None])
def test_a_name_that_is_not_allowed_judges_nothing(small: Bench, name: object) -> None:
    queue = small.queue()
    event = {"action": "judge", "place": 1, "label": "invalid", "token": "t", "queue": queue}
    assert Feed(answer(small.workbench, name, event)).failed
    assert small.workbench.store.current() == []


def test_every_step_can_be_taken_back_and_brought_back(large: Bench, tmp_path: Path) -> None:
    queue = large.queue()
    ann = Annotator(large, queue)
    feed = ann.do("open")
    order = []
    while feed.items and len(order) < 5:
        order.append(feed.place)
        feed = ann.judge(feed.place, "invalid")
    assert [ann.do("undo").place for _ in range(5)] == order[::-1]
    assert "no verdict of yours" in ann.do("undo").said()
    for _ in range(5):
        feed = ann.do("redo")
    assert len(ann.verdicts()) == 5
    assert "nothing to bring back" in ann.do("redo").said()


def test_progress_says_how_many_how_fast_and_how_long(large: Bench) -> None:
    queue = large.queue()
    ann = Annotator(large, queue)
    total = large.workbench.queues.queue(queue).items
    feed = ann.do("open")
    assert f"0 of {total}" in feed.text
    feed = ann.judge(feed.place, "invalid")
    assert re.search(rf"1 of {total} · \d+ s each · about \d+ min left", feed.text)


def test_a_finished_queue_says_so_and_one_held_by_others_too(small: Bench) -> None:
    queue = small.queue()
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")
    feed = ann.do("open")
    held = {feed.place, int(feed.items[1]["data-place"])}
    feed = bob.do("open")
    while feed.items and feed.mode == "blind":
        assert feed.place not in held
        feed = bob.judge(feed.place, "invalid")
    assert "are with other annotators" in feed.text
    ann.do("leave")
    feed = bob.do("open")
    while feed.items:
        feed = bob.judge(feed.place, "invalid")
    assert "All judged" in feed.text


def test_an_item_that_went_to_another_is_not_judged_twice(small: Bench) -> None:
    queue = small.queue()
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")
    place = ann.do("open").place
    feed = bob.judge(place, "invalid")
    assert feed.failed
    assert "Another annotator has this item" in feed.said()
    assert bob.verdicts() == []


def test_two_annotators_never_get_one_item(large: Bench) -> None:
    queue = large.queue()
    got: dict[str, list[int]] = {}

    def work(name: str) -> None:
        annotator = Annotator(large, queue, name)
        feed, mine = annotator.do("open"), []
        while feed.items and len(mine) < 200:
            mine.append(feed.place)
            feed = annotator.judge(feed.place, "invalid", token=f"{name} {len(mine)}")
            assert not feed.failed
        got[name] = mine

    threads = [threading.Thread(target=work, args=(name,)) for name in ("Ann", "Bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both = got["Ann"] + got["Bob"]
    assert sorted(both) == list(range(1, large.workbench.queues.queue(queue).items + 1))
    assert len(large.workbench.store.current()) == len(both)


def test_nobody_is_shown_or_undoes_what_another_said(small: Bench) -> None:
    queue = small.queue(overlap=2, blind=False)
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")
    ann.judge(1, "unsure", note="for my eyes only")
    feed = bob.do("open")
    assert feed.place == 1
    assert "for my eyes only" not in feed.markup
    assert 'aria-pressed="true"' not in feed.markup
    bob.do("undo")
    assert bob.do("open", place=1).failed
    assert len(ann.verdicts()) == 1


def test_a_verdict_is_the_signed_in_persons_whatever_name_is_sent(small: Bench) -> None:
    queue = small.queue(overlap=2)
    event = {"action": "judge", "queue": queue, "place": 1, "label": "invalid", "token": "t", "name": "Bob"}
    for request, signed in ((SimpleNamespace(username="Cy"), True), (SimpleNamespace(username=None), False)):
        feed = show_answer(small.workbench, event | {"signed": not signed}, request)
        assert ("rename" not in feed) is signed
        event |= {"place": 2, "token": "u"}
    assert {j.annotator for j in small.workbench.store.current()} == {"Cy", "Bob"}


# Missed answers


def test_an_answer_that_nobody_gave_is_added_with_its_passage_and_span(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    ann.do("open")
    start = PASSAGES[0].text.index("bridge")
    event = {"place": 1, "answer": "the bridge", "passage": "a", "start": start, "end": start + 6}
    feed = ann.do("add", **event)
    assert not feed.failed
    assert feed.items == []
    (said,) = small.workbench.store.current()
    assert (said.answer, said.label, said.recalled, said.blind) == ("the bridge", "unlisted", False, True)
    assert said.evidence == "supports"
    assert (said.note, said.support) == ("", Support("a", start, start + 6, "bridge"))
    assert [word for word in SECRET if word in feed.markup] == []
    assert "The <mark>bridge</mark> of Alton" in feed.markup
    ann.do("undo")
    assert small.workbench.store.current() == []


def test_the_passage_of_a_typed_answer_is_found_if_one_holds_it(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    ann.do("add", place=1, answer="the flood")
    ann.do("add", place=1, answer="nobody knows")
    found, other = reversed(small.workbench.store.current())
    assert (found.support.passage_id, found.support.words) == ("b", "the flood")
    assert (other.support, other.evidence) == (None, "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": ""},
        {"answer": " … "},
        {"answer": "x" * 501},
        {"answer": 7},
        {"passage": "z"},
        {"passage": 7},
        {"start": -1},
        {"end": 10_000},
        {"start": 5, "end": 5},
        {"start": "1"},
        {"start": None},
        {"token": ""},
    ],
)
def test_an_addition_that_points_nowhere_is_refused(small: Bench, wrong: dict[str, object]) -> None:
    queue = small.queue()
    event = {"place": 1, "answer": "the bridge", "passage": "a", "start": 4, "end": 10, **wrong}
    assert Annotator(small, queue).do("add", **event).failed
    assert small.workbench.store.current() == []


def test_the_answer_in_front_is_judged_and_not_added(small: Bench) -> None:
    queue = small.queue()
    text = small.workbench.queues.item(queue, 1).answer
    assert Annotator(small, queue).do("add", place=1, answer=text.upper()).failed


def test_answers_that_were_added_stay_on_the_page_with_their_words_marked(small: Bench) -> None:
    queue = small.queue()
    ann, bob = Annotator(small, queue), Annotator(small, queue, "Bob")
    start = PASSAGES[1].text.index("flood")
    place = ann.do("open").place
    ann.do("add", place=place, answer="the flood", passage="b", start=start, end=start + 5)
    ann.do("add", place=place, answer="nobody knows")
    for feed in (ann.do("open"), ann.judge(place, "invalid")):
        assert "Answers you added 2" in feed.text
        assert "after the <mark>flood</mark> of 1911" in feed.markup
        assert "nobody knows" in feed.text
        assert [word for word in SECRET if word in feed.markup] == []
    assert "Answers you added" not in bob.do("open").text


def test_a_candidate_that_the_queue_left_out_can_be_added_and_taken_back(small: Bench) -> None:
    queue = small.queue(only="1912")
    ann = Annotator(small, queue)
    ann.do("add", place=1, answer="Mary Smith")
    ann.judge(1, "invalid")
    assert "Answers you added 1" in ann.do("open", place=1).text
    assert ann.do("undo").place == 1
    assert ann.verdicts() == [("Mary Smith", "unlisted", True)]
    assert "Mary Smith. It is no added answer any more." in ann.do("undo").said()
    assert ann.verdicts() == []
    assert not ann.do("redo").failed
    assert ann.verdicts() == [("Mary Smith", "unlisted", True)]


def test_an_added_answer_that_is_judged_in_another_queue_is_no_addition_any_more(small: Bench) -> None:
    first, second = small.queue("first", only="1912"), small.queue("second", only="Mary Smith")
    ann, elsewhere = Annotator(small, first), Annotator(small, second)
    ann.judge(1, "invalid")
    ann.do("add", place=1, answer="Mary Smith")
    elsewhere.judge(1, "invalid")
    assert "Answers you added" not in ann.do("open", place=1).text
    assert "Taken back" in ann.do("undo").said()
    assert [answer for answer, *_ in ann.verdicts()] == ["Mary Smith"]


def test_an_undo_in_one_queue_leaves_the_verdicts_of_another(small: Bench) -> None:
    first, second = small.queue("first", only="1912"), small.queue("second", only="Mary Smith")
    ann, elsewhere = Annotator(small, first), Annotator(small, second)
    ann.judge(1, "invalid")
    elsewhere.judge(1, "unlisted")
    assert "Answers you added" not in ann.do("open", place=1).text
    assert "Taken back" in ann.do("undo").said()
    assert [answer for answer, *_ in ann.verdicts()] == ["Mary Smith"]


def test_a_blind_verdict_is_refused_if_the_gold_was_shown_in_another_tab_meanwhile(
    small: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = small.queue()
    ann, judge = Annotator(small, queue), small.workbench.store.judge

    def shown_meanwhile(*given: object, **more: object) -> object:
        small.workbench.queues.show(queue, 1, "Ann")
        return judge(*given, **more)

    monkeypatch.setattr(small.workbench.store, "judge", shown_meanwhile)
    feed = ann.judge(1, "invalid")
    assert feed.failed
    assert "in another tab meanwhile" in feed.text
    assert ann.verdicts() == []


def test_additions_are_taken_back_and_brought_back_among_the_verdicts_after_a_restart(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    first = ann.do("open").place
    second = ann.judge(first, "invalid").place
    ann.do("add", place=second, answer="the flood")
    third = ann.judge(second, "unsure").place
    ann.do("add", place=third, answer="the river")
    everything = ann.verdicts()

    small.workbench.queues = type(small.workbench.queues)(small.workbench.store.path)
    steps = [ann.do("undo") for _ in range(4)]
    assert [step.place for step in steps] == [third, second, second, first]
    assert ann.verdicts() == []
    assert "the river. It is no added answer any more." in steps[0].said()
    assert "no verdict of yours" in ann.do("undo").said()

    small.workbench.queues = type(small.workbench.queues)(small.workbench.store.path)
    assert [ann.do("redo").failed for _ in range(4)] == [False] * 4
    assert ann.verdicts() == everything
    assert "nothing to bring back" in ann.do("redo").said()


# Hostile and odd


def test_hostile_text_is_escaped_wherever_it_stands(tmp_path: Path) -> None:
    evil = " ".join(HOSTILE)
    question = Question("h", f"What is {evil} in 1805?", (((evil, "1999"),),))
    passages = [Passage('"><b>', f"Title {evil}", f"It is {evil} in 1805, or in 1912.")]
    odd = bench(tmp_path / "rtv.db", (question,), passages, r"\d{4}|<img src=x onerror=alert\(1\)>")
    queue = odd.queue(name=f"queue {evil}", blind=False)
    name = "<svg onload=alert(1)>"
    ann = Annotator(odd, queue, name)
    feeds = [ann.do("open"), ann.do("leave"), ann.do("open")]
    place = feeds[-1].place
    feeds += [
        ann.judge(place, "variant", gold=0, note=evil),
        ann.do("open", place=place),
        ann.do("add", place=place, answer=evil[:200]),
        ann.do("undo"),
        ann.do("open", queue=evil),
        ann.do(HOSTILE[0]),
        ann.do("add", place=place, answer="x", passage=evil),
    ]
    allowed = {"b", "img", "svg", "script"}
    for feed in feeds:
        found = {tag for tag, attributes in feed.tags if tag in allowed - {"b"}}
        assert found == set()
        assert not any(name.startswith("on") for _, attributes in feed.tags for name in attributes)
        assert all("<svg" not in tag for tag, _ in feed.tags)


def test_a_run_without_passages_says_so(tmp_path: Path) -> None:
    few = bench(tmp_path / "rtv.db", (QUESTION,), PASSAGES)
    predicted = [Predicted("line 1", "b1", "", (PredictedAnswer("1900"), PredictedAnswer("1901")))]
    run = import_predictions(predicted, [QUESTION], few.workbench.runs, "theirs", "Other", {})
    queue = replace(few, run_id=run.id).queue("of theirs", population="errors")
    feed = Annotator(few, queue).do("open")
    assert "imported without passages" in feed.text
    done = Annotator(few, queue).judge(feed.place, "invalid")
    assert not done.failed


def test_a_kind_of_right_answer_is_refused_while_the_gold_is_hidden(small: Bench) -> None:
    queue = small.queue()
    ann = Annotator(small, queue)
    for label in ("variant", "unlisted", "listed"):
        feed = ann.judge(1, label, gold=0)
        assert "The gold is hidden again" in feed.markup
    assert ann.verdicts() == []
