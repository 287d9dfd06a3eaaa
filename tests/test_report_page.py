"""The report: one file that loads nothing, says what the analysis says, and shows data as data."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rtv_core.annotation.queue import draw
from rtv_core.cli import main
from rtv_core.outcomes import given_outcome
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    QueuePlan,
    Run,
    RunAnswer,
    RunQuestion,
    Trace,
    Verdict,
)
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "</style><iframe src=javascript:alert(1)>",
    "${7*7} {{7*7}} {{{ ` \\u \\x",
    "--><a href='javascript:alert(1)'>&lt;b&gt;",
    "\u202eevil\u202c \x00 e\u0301 İ ß 👩‍👩‍👧",
]
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "pre",
    ),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "figure", "figcaption"),
    *("span", "b", "i", "strong", "small", "cite", "bdi", "mark", "code", "article", "blockquote"),
    *("svg", "g", "rect", "line", "text", "polyline", "circle"),
}


class Reader(HTMLParser):
    """The elements, attributes and words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words, with a space between elements."""
        return " ".join(" ".join(self.words).split())


class Place:
    """A database with a run, made question by question, and verdicts on it."""

    def __init__(self, path: Path, name: str = "dev", scored: bool = True, **facts: str) -> None:
        self.path = path
        self.runs, self.store = RunStore(path), JudgementStore(path)
        tau = 0.5 if scored else None
        self.run = self.runs.create(Run("", name, "RTV", "", 0, scored, tau, 10, facts))

    def ask(self, gold, *answers: str, text: str = "", passage: Passage | None = None) -> None:
        """A question; a candidate with a minus before it was not predicted."""
        position = self.runs.run(self.run.id).questions
        names = [answer.removeprefix("-") for answer in answers]
        question = Question(f"q{position}", text or f"Which one is number {position}?", gold)
        given = [
            RunAnswer(name, (name,), self._score(place, answer), not answer.startswith("-"), "")
            for place, (name, answer) in enumerate(zip(names, answers, strict=True))
        ]
        found = given_outcome(given, question)
        candidates = tuple(Candidate(name, (name,), 0.5, ()) for name in names)
        passage = passage or Passage("p", "Numbers", f"Before it. {' and '.join(names)} are here. After it.")
        hit = Hit(passage, 0.5, 1.0, 1, 1, 1)
        evidence = tuple(
            Evidence(c, c.answer, (EvidencePassage(hit, ("strict",), 0.5, True),)) for c in candidates
        )
        verdicts = tuple(Verdict((0.5, 0.5, 0.5)) for _ in candidates) if self.run.scored else ()
        trace = Trace(question, (hit,), (), candidates, evidence, verdicts, stage="verified")
        own = RunQuestion(self.run.id, position, question, "", found.answers, found.gold)
        self.runs.add_question(self.run.id, own, trace)

    def say(self, position: int, answer: str, label: str, by: str = "Ann", **more) -> None:
        question = self.runs.question(self.run.id, position)
        own = Judgement(question.trace_id, question.question.text, answer, label, by, blind=True)
        own = replace(own, recalled=answer in {a.answer for a in question.answers}, **more)
        self.store.judge(own, f"{position} {answer[:20]} {label}")

    def page(self, *options: str) -> str:
        out = self.path.with_suffix(".html")
        main(["report", self.run.name, "--store", str(self.path), "--out", str(out), *options])
        return out.read_text(encoding="utf-8")

    def _score(self, place: int, answer: str) -> float | None:
        if not self.run.scored:
            return None
        return 0.4 - place / 20 if answer.startswith("-") else 0.95 - place / 10


def worked(path: Path) -> Place:
    """A run with each class of mistake judged, by two people who agree but once."""
    place = Place(path, corpus="demo", models="fake")
    for _ in range(2):
        place.ask(((("one",), ("two", "2")),), "one", "the pair", "-two", "none")
    place.ask(((("red",),),), "red", "crimson")
    place.ask((), "unknown")
    place.ask(((("x",), ("y",)),), "x")
    for position, (pair, none) in enumerate((("variant", "invalid"), ("unlisted", "unsure"))):
        for by in ("Ann", "Bob"):
            place.say(position, "the pair", pair, by, gold="two" if pair == "variant" else "")
            place.say(position, "none", none, by)
    place.say(0, "two", "listed", evidence="supports", gold="two")
    place.say(1, "two", "listed", evidence="insufficient", gold="two")
    place.say(2, "crimson", "variant", "Ann", gold="red")
    place.say(2, "crimson", "invalid", "Bob")
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return worked(tmp_path_factory.mktemp("report") / "rtv.db")


@pytest.fixture(scope="module")
def page(place: Place) -> str:
    return place.page()


def test_the_page_has_every_part_and_loads_nothing(page: str) -> None:
    found = Reader(page)
    heads = re.findall(r"<h2>(.*?)</h2>", page)
    assert heads == [
        "Scores",
        "What the mistakes are",
        "Where gold answers were lost",
        "Scores and thresholds",
        "Kinds of questions",
        "Agreement between annotators",
        "Examples",
        "What verdicts added to gold",
        "Provenance",
        "How to make this page again",
    ]
    assert found.open == []
    assert found.tags <= TAGS
    assert not found.attributes & {"src", "href", "action", "srcset", "data", "xlink:href"}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    assert "default-src 'none'" in page
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert page.count("<svg") == 6


def test_the_numbers_are_those_of_the_analysis(page: str) -> None:
    text = Reader(page).text
    assert "F1 53.3 raw -> " in text
    assert "true negatives 1 of 3 33 %" in text
    assert "superficially different false negatives 1 of 3 33 %" in text
    assert "unannotated false negatives 1 of 3 33 %" in text
    assert "evidence wrong 1 of 2 50 %" in text
    assert "20 % (9 to 39)" in text  # the published share of true negatives
    assert "Wrong predictions in no row: 1 unsure, 1 split." in text
    assert "7 gold answers" in text
    assert "1 new answer and 1 new spelling." in text
    assert "2 annotators" in text
    assert "the pair two" in text  # added as a spelling
    assert "1 question without known gold left out" in text


def test_each_class_of_mistake_has_its_examples(page: str) -> None:
    for name in (
        "True negatives <small>1 of 1",
        "Superficially different false negatives <small>1 of 1",
        "Unannotated false negatives <small>1 of 1",
        "Unsure <small>1 of 1",
        "Split <small>1 of 1",
        "Evidence wrong <small>1 of 1",
        "Evidence right and straightforward <small>1 of 1",
    ):
        assert f"<h3>{name}</small></h3>" in page
    text = Reader(page).text
    assert "the pair , validity 0.85: a gold answer in other words: two . Gold: one · two" in text
    assert "equals a gold answer: two; the evidence doesn't support it ." in text
    assert "<cite><bdi>Numbers</bdi></cite>" in page
    assert "<mark>crimson</mark>" in page


def test_annotators_are_counted_not_named(place: Place) -> None:
    page = place.page("--adjudicator", "Bob")
    assert not re.search(r"\b(Ann|Bob)\b", page)
    assert "--adjudicator NAME" in page
    assert "Wrong predictions in no row: 1 unsure." in Reader(page).text


def test_the_same_run_and_verdicts_make_the_same_page(place: Place, page: str, tmp_path: Path) -> None:
    main(["judgements", "backup", str(tmp_path / "copy.db"), "--store", str(place.path)])
    main(["report", "dev", "--store", str(tmp_path / "copy.db"), "--out", str(tmp_path / "again.html")])
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def systems(path: Path, *found: range) -> list[Place]:
    """A run a range, on twelve questions of two gold answers each: which of the 24 answers it found."""
    made = []
    for number, own in enumerate(found):
        place = Place(path, f"run {number}")
        for question in range(12):
            names = (f"one {question}", f"two {question}")
            given = [name for i, name in enumerate(names) if 2 * question + i in own]
            gold = (((names[0],), (names[1],)),)
            place.ask(gold, *given, "none", text=f"Which {question}?")
        made.append(place)
    return made


def test_two_systems_give_chapmans_estimate_and_more_chaos_bound(tmp_path: Path) -> None:
    first = systems(tmp_path / "two.db", range(0, 12), range(4, 16))[0]
    page = first.page()
    text = Reader(page).text
    assert "<h2>Answers still missing" in page
    assert "By 2 systems: Chapman" in text
    assert "found by more than one 8 found in all 16 estimated in all 18 (" in text  # 13 * 13 / 9 - 1
    assert "Chapman 1951" in text
    assert "predictions that equal no gold answer have no clear verdict" in text
    third = systems(tmp_path / "three.db", range(0, 12), range(4, 16), range(8, 18))[2]
    other = Place(tmp_path / "three.db", "partial")
    other.ask(((("one 0",),),), "one 0", text="Which 0?")
    text = Reader(third.page()).text
    assert "By 3 systems: Chao lower bound" in text
    assert (
        "run 0 12 run 1 12 run 2 10 found by more than one 12 found in all 18 in all, at least 19 (" in text
    )
    assert "lack some of these questions or are older: partial." in text


def test_another_run_is_compared_in_pairs(tmp_path: Path) -> None:
    first, _ = systems(tmp_path / "rtv.db", range(0, 12), range(4, 8))
    first.say(0, "none", "unlisted")
    assert "Against another run" not in first.page()
    page = first.page("--against", "run 1")
    found = Reader(page)
    assert found.tags <= TAGS
    assert found.open == []
    assert "<h2>Against another run</h2>" in page
    assert "First: run 0 ( RTV ). Second: run 1 ( RTV ). Scores of both runs" in found.text
    assert "Over 12 questions that both runs have, 0 left out." in found.text
    assert "Gold answers: 4 predicted by both, 8 by the first only, 0 by the second only, 12 by neither." in (
        found.text
    )
    assert "F1 of the first is better on 4, worse on 0, equal on 8." in found.text
    assert "F1 on corrected gold" in found.text
    assert "--against &#x27;run 1&#x27;" in page
    assert first.page("--against", "run 1") == page


def test_a_report_over_some_of_the_questions_says_which(place: Place) -> None:
    page = place.page("--where", "gold >= 2", "--where", "text ~ two")
    text = Reader(page).text
    assert "2 questions of 5, those of which number of gold answers is at least 2 and question, gold" in text
    assert "--where &#x27;gold &gt;= 2&#x27; --where &#x27;text ~ two&#x27;" in page
    assert "crimson" not in text


def test_hostile_strings_are_shown_as_they_are(tmp_path: Path) -> None:
    name = "run " + " ".join(HOSTILE).replace("\x00", "")[:190]
    place = Place(tmp_path / "rtv.db", name, **{f"fact {text}": f"value {text}" for text in HOSTILE})
    for number, text in enumerate(HOSTILE):
        passage = Passage("p", f"title {text}", f"{text} passage answer {text} {text}")
        gold = (((f"gold {text}",), (f"lost {text}",)),)
        place.ask(gold, f"answer {text}", f"-lost {text}", text=f"question {text}?", passage=passage)
        by = "".join(c for c in f"Ann {text}" if c.isprintable())
        place.say(number, f"answer {text}", "variant", by, gold=f"gold {text}", note=f"note {text}")
        place.say(number, f"lost {text}", "listed", by, gold=f"lost {text}", evidence="supports")
    other = Place(tmp_path / "rtv.db", f"other {name}"[:200])
    for number, text in enumerate(HOSTILE):
        other.ask((((f"gold {text}",), (f"lost {text}",)),), f"lost {text}", text=f"question {text}?")
        other.say(number, f"lost {text}", "listed", "Ann", gold=f"lost {text}")
    page = place.page("--examples", "9", "--against", other.run.name)
    assert "<h2>Against another run" in page
    found = Reader(page)
    assert found.tags <= TAGS
    assert not {name for name in found.attributes if name.startswith("on")}
    assert not found.attributes & {"src", "href"}
    assert found.open == []
    for text in HOSTILE:
        shown = " ".join(text.replace("\x00", "␀").split())
        for part in ("question", "answer", "gold", "lost", "title", "fact", "value"):
            assert f"{part} {shown}" in found.text
    assert f"Error analysis of {' '.join(name.split())}" in found.text
    assert "note" not in found.text
    assert "Ann " not in found.text


def test_long_texts_are_cut(tmp_path: Path) -> None:
    place = Place(tmp_path / "rtv.db")
    passage = Passage("p", "t" * 5000, f"{'long ' * 100_000} here {'long ' * 100_000}")
    place.ask(((("a" * 9000,),),), "here", "b" * 9000, text="q" * 900, passage=passage)
    place.say(0, "here", "unlisted")
    place.say(0, "b" * 9000, "invalid")
    page = place.page()
    assert len(page) < 80_000
    assert "… long long" in page
    assert "<mark>here</mark> long" in page


def test_a_run_without_verdicts_gold_or_scores_has_a_page(tmp_path: Path) -> None:
    place = Place(tmp_path / "rtv.db", scored=False)
    assert "nothing to score" in Reader(place.page()).text  # no question yet
    place.ask((), "x")
    page = place.page()
    assert "nothing to score" in Reader(page).text
    assert "there is nothing to plot" in page
    assert "<h2>Examples" not in page
    place.ask(((("x",),),), "y")
    page = place.page()
    assert "F1 0.0 raw" in page
    assert "<h2>Agreement" not in page
    assert "1 not judged" in page


def test_a_run_that_says_no_answer_has_a_page(tmp_path: Path) -> None:
    place = Place(tmp_path / "rtv.db")
    place.ask(((),))
    place.ask(((), (("x",),)), "y")
    place.say(1, "y", "unlisted")
    assert "F1 50.0 raw" in place.page()


def test_queues_are_told_and_weighted(tmp_path: Path) -> None:
    place = Place(tmp_path / "rtv.db")
    for number in range(6):
        place.ask(((("one",), ("two",)),), f"wrong {number}", f"false {number}", "one")
    questions = place.runs.questions(place.run.id)
    plan = QueuePlan("near tau", 8, seed=3)
    items = draw(questions, plan, 0.5)
    QueueStore(place.path).create(place.run.id, plan, items, "<b>mine")
    for number, item in enumerate(items):
        place.say(item.position, item.answer, ("invalid", "unlisted")[number % 2])
    page = place.page("--examples", "0")
    assert "<h2>Examples" not in page
    text = Reader(page).text
    assert "8 by the strategy “near tau” (seed 3, population “errors”, blind)" in text
    assert "design-weighted" in text
    assert "corrected, estimated" in text
    assert "No queue" not in text


def test_what_can_not_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    place = Place(tmp_path / "rtv.db")
    for arguments, said in (
        (["other", "--store", str(place.path), "--out", "x.html"], "There is no run 'other'"),
        (["dev", "--store", str(tmp_path / "no.db"), "--out", "x.html"], "There are no runs in"),
        (["dev", "--store", str(place.path), "--out", str(tmp_path)], "can't be written"),
        (["dev", "--store", str(place.path), "--out", str(place.path)], "is the database itself"),
        (["dev", "--store", str(place.path), "--out", "x.html", "--against", "x"], "There is no run 'x'"),
        (["dev", "--store", str(place.path), "--out", "x.html", "--where", "x"], "is no condition"),
        (["dev", "--store", str(place.path), "--out", "x.html", "--where", "gold = 9"], "meets every"),
    ):
        with pytest.raises(SystemExit):
            main(["report", *arguments])
        assert said in capsys.readouterr().err
