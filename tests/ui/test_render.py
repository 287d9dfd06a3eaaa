"""What reaches the browser: escaped, whole, bounded."""

from __future__ import annotations

import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rtv_core.attack import Flip, Removal
from rtv_core.baselines.systems import RecallerAlone, scored_trace
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    Reading,
    Source,
    Span,
    Trace,
    Verdict,
)
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.side_by_side import Column
from rtv_core.ui import render
from rtv_core.ui.beside import set_beside
from rtv_core.ui.compare.render import render_form, render_table
from rtv_core.ui.compare.render import render_welcome as render_comparison_welcome
from rtv_core.ui.marks import candidate_rows, extra_rows
from rtv_core.ui.markup import Markup, escape, marked, tag

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "' onmouseover='alert(1)",
    "<!--",
    "&lt;b&gt; &amp;",
)
TEMPLATES = ("${7*7}", "{{7*7}}", "`", r"\u0041", r"\x41", "{{{", "C:\\users\\x")
ODD = ("‮gnp.exe", "zero\u200bwidth", "nul\x00byte", "👩‍🔬 emoji", "é combining", "half \ud800 char")


class Page(HTMLParser):
    """The tags, attributes and text of some markup, as a browser would read them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.marks: list[str] = []
        self._open: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        if name != "input":  # the one element here that has no end
            self._open.append(name)
        self.attributes += attributes
        if name == "mark":
            self.marks.append("")

    def handle_endtag(self, name):
        assert self._open.pop() == name

    def handle_data(self, data):
        self.text += data
        if "mark" in self._open:
            self.marks[-1] += data

    def values(self, attribute: str) -> list[str | None]:
        return [value for name, value in self.attributes if name == attribute]


def trace_of(text: str, count: int = 1, passage: str | None = None) -> Trace:
    """A finished trace in which every string is `text`."""
    body = passage if passage is not None else f"before {text} after"
    start = body.find(text)
    hit = Hit(Passage(f"p-{text}", text, body), 0.5, 1.5, 1, None, 1)
    span = Span(max(start, 0), max(start, 0) + len(text), 0.9)
    candidates = tuple(
        Candidate(
            f"{text}{i or ''}", (f"{text}{i or ''}", f"other {text}"), 0.9, (Source("p", 1, span, 0.8),)
        )
        for i in range(count)
    )
    evidence = tuple(Evidence(c, text, (EvidencePassage(hit, ("strict",), 0.4, True),)) for c in candidates)
    return Trace(
        Question("q", text, (((text, f"also {text}"), ("missing " + text,)),)),
        hits=(hit,),
        readings=(Reading(hit.passage.id, 0.8, (span,)),),
        candidates=candidates,
        evidence=evidence,
        verdicts=tuple(Verdict((0.9, 0.8, 0.7 - i / 1e5), (1.0,)) for i in range(count)),
        seconds={"retrieve": 0.1},
        provenance={"model": text},
        stage="verified",
    )


def other_trace(text: str) -> Trace:
    """What another system made of the same question: answers that only it gives."""
    candidates = tuple(Candidate(answer, (answer,), 0.9, ()) for answer in (f"new {text}", f"newer {text}"))
    return scored_trace(RecallerAlone(name=text), trace_of(text), (), (), candidates, 0.5)


def whole_page(text: str) -> str:
    """Everything that is drawn of a trace, a verdict and a failure that hold `text` everywhere."""
    trace, settings = trace_of(text), VerifierSettings(tau=0.5)
    said = [
        Judgement("t", text, text, "variant", text, "supports", text, text, at="2026-01-01T00:00:00+00:00")
    ]
    rows = candidate_rows(trace, said)
    extra = extra_rows(trace, [*said, replace(said[0], answer=f"typed {text}")])
    beside = set_beside(trace, Column(text, other_trace(text), Settings()))
    return "".join(
        (
            render.render_header(text, text),
            render.render_message(text, "error"),
            render.render_examples((trace.question,)),
            render.render_welcome((trace.question,)),
            render.render_progress(trace, link=text),
            render.render_summary(trace, rows, settings),
            render.render_candidates(trace, rows, extra, settings),
            render.render_evidence(trace, rows[0], settings),
            render.render_mentions(extra[0], [(trace.hits[0], ("official",))], trace.hits),
            render.render_passages(trace),
            render.render_judge(trace.question, rows[0]),
            render.render_saved(said[0], text, text),
            render.render_undone(text, True),
            render.render_failure(text, text),
            render.render_second((text,), text, f"{text} is reading"),
            render.render_second_result(trace, beside, settings, 1),
            render.render_candidates(trace, rows, extra, settings, beside=beside),
            render.render_whatif(rows[0], 0.7, Removal((0,), 0.2), settings, 1, Flip(None, True, 1)),
            render.render_no_whatif(text, text, 1),
            render_form((text,)),
            render_comparison_welcome((trace.question,)),
            render_table(trace.question, [beside.column], {text: text}),
        )
    )


@pytest.mark.parametrize("text", ATTACKS)
def test_no_string_from_data_becomes_a_tag_or_an_attribute(text):
    page, harmless = Page(whole_page(text)), Page(whole_page("plain words"))
    assert page.tags == harmless.tags
    assert [name for name, _ in page.attributes] == [name for name, _ in harmless.attributes]
    assert text in page.text


@pytest.mark.parametrize("text", TEMPLATES)
def test_template_syntax_is_only_text(text):
    page = Page(whole_page(text))
    assert page.text.count(text) > 20
    assert text in page.values("data-answer")


@pytest.mark.parametrize("text", ODD)
def test_odd_characters_are_shown_and_can_be_sent(text):
    markup = whole_page(text)
    markup.encode("utf-8")
    assert "\x00" not in markup
    assert Page(markup).text.count("before") == Page(whole_page("x")).text.count("before")


def test_a_control_character_is_made_visible():
    assert escape("a\x00b\x1b") == "a␀b␛"


def test_strings_from_data_stand_alone_in_the_direction_of_writing():
    assert '<bdi class="answer">' in whole_page("‮evil")


@pytest.mark.parametrize(
    ("passage", "answer", "shown"),
    [
        ("In İzmir and in IZMIR.", "IZMIR", "IZMIR"),
        ("Die Straße nach Zürich.", "zürich", "Zürich"),
        ("Die große STRASSE.", "strasse", "STRASSE"),
        ("İİİ Café au lait", "Café", "Café"),
        ("Cafe\u0301 au lait", "Café", "Cafe\u0301"),
        ("<b>Paris</b> & co", "Paris", "Paris"),
    ],
)
def test_a_highlight_covers_exactly_the_answer(passage, answer, shown):
    trace = trace_of("x", passage=passage)
    candidate = replace(trace.candidates[0], answer=answer, spellings=(answer,))
    trace = trace.grown(candidates=(candidate,))
    page = Page(render.render_evidence(trace, candidate_rows(trace)[0], VerifierSettings(tau=0.5)))
    assert page.marks == [shown]
    assert passage in page.text


def test_of_many_cuts_of_one_place_a_passage_marks_the_best_and_only_so_many_places():
    text = " ".join(f"word{i:02}" for i in range(20))
    passage = Passage("p", "T", text)
    cuts = [Span(0, 20, 0.2), Span(0, 6, 0.9), Span(7, 20, 0.3), Span(14, 27, 0.1)]
    later = [Span(7 * i, 7 * i + 6, 0.5) for i in range(4, 20)]
    sources = [Source("p", 1, span, 0.9) for span in (*cuts, *later)]
    candidates = tuple(Candidate(str(i), (str(i),), 0.5, (source,)) for i, source in enumerate(sources))
    trace = Trace(Question("", "q"), hits=(Hit(passage, 1.0, 1.0, 1, 1, 1),), candidates=candidates)
    marks = Page(render.render_passages(trace)).marks
    text_marks = marks[-8:]
    assert text_marks == ["word00", *(f"word{i:02}" for i in range(4, 11))]


def test_answers_without_a_place_take_no_mark_from_those_that_have_one():
    trace = trace_of("Maria")
    (candidate,), hit = trace.candidates, trace.hits[0]
    start = hit.passage.text.index("Maria")
    placed = Source(hit.passage.id, 1, Span(start, start + 5, 0.1), 0.8)
    nowhere = [replace(placed, span=Span.nowhere(0.99))] * 10
    alone, beside = (
        render.render_passages(trace.grown(candidates=(replace(candidate, sources=tuple(sources)),)))
        for sources in ([placed], [*nowhere, placed])
    )
    assert "<mark>Maria</mark>" in alone
    assert beside == alone


def test_overlapping_spans_are_one_mark_and_lose_no_text():
    markup = marked("abcdef", [(1, 3), (2, 5), (9, 12)])
    assert markup == "a<mark>bcde</mark>f"
    assert Page(markup).text == "abcdef"


def test_a_passage_of_a_megabyte_is_cut_and_says_so():
    text = "word " * 200_000 + "the answer"
    trace = trace_of("word", passage=text)
    start = time.process_time()
    drawn = render.render_passages(trace) + render.render_evidence(
        trace, candidate_rows(trace)[0], VerifierSettings(tau=0.5)
    )
    assert time.process_time() - start < 1
    assert len(drawn) < 60_000
    assert "997,010 more characters not shown" in drawn


def test_a_candidate_of_ten_thousand_characters_is_cut_in_the_list():
    trace = trace_of("long " * 2000)
    drawn = render.render_candidates(
        trace, candidate_rows(trace), extra_rows(trace), VerifierSettings(tau=0.5)
    )
    assert len(drawn) < 20_000


@pytest.mark.parametrize(
    ("answer", "others", "shown"),
    [
        ("Ruth B.", ("Ruth B", "ruth b.", "The Ruth B."), ()),
        ("Neverland", ("Neverland.", "the Neverland", "Never Land", "never land,"), ("Never Land",)),
        ("April 1, 2010", ("1 April 2010", "April 1, 2010)"), ("1 April 2010",)),
        ("?!", ("...",), ()),
    ],
)
def test_the_list_shows_only_spellings_that_tell_something(answer, others, shown):
    trace = trace_of(answer)
    candidate = replace(trace.candidates[0], spellings=(answer, *others))
    rows = candidate_rows(trace.grown(candidates=(candidate,)), [])
    page = render.render_candidates(trace, rows, [], VerifierSettings(tau=0.5))
    second = [part.split("</bdi>")[0] for part in page.partition(" also ")[2].split("<bdi>")[1:]]
    assert tuple(second) == shown


def test_five_thousand_candidates_make_a_bounded_page_in_good_time():
    trace = trace_of("answer", count=5000)
    start = time.process_time()
    rows = candidate_rows(trace)
    drawn = render.render_candidates(trace, rows, extra_rows(trace), VerifierSettings(tau=0.5))
    assert time.process_time() - start < 3
    assert drawn.count('class="row"') <= 202
    assert "4,800 more candidates not drawn" in drawn
    assert len(drawn) < 600_000


def test_more_than_a_hundred_passages_are_counted_but_not_drawn():
    trace = trace_of("x")
    trace = trace.grown(hits=trace.hits * 150)
    drawn = render.render_passages(trace)
    assert drawn.count('class="hit"') == 100
    assert "50 more passages not drawn" in drawn


def test_the_tau_line_lies_between_kept_and_rejected():
    trace = trace_of("x", count=3)
    trace = trace.grown(verdicts=tuple(Verdict((p, p, p), (1.0,)) for p in (0.2, 0.9, 0.5)))
    drawn = render.render_candidates(trace, candidate_rows(trace), (), VerifierSettings(tau=0.5))
    kinds = [
        "tau" if 'class="tau-line"' in line else line.split('data-state="')[1].split('"')[0]
        for line in drawn.split("<li ")[1:4]
    ]
    assert kinds == ["accepted", "tau", "rejected"]


def test_when_nothing_is_above_tau_the_best_is_said_to_be_kept():
    trace = trace_of("x", count=2)
    drawn = render.render_candidates(trace, candidate_rows(trace), (), VerifierSettings(tau=0.95))
    assert drawn.count('data-state="fallback"') == 1
    assert 'data-none="1"' in drawn


def test_a_stopped_run_is_labelled_incomplete():
    trace = trace_of("x").grown(stage="recalled")
    assert "stopped: incomplete" in render.render_progress(trace)
    assert "stopped" not in render.render_progress(trace, running=True)


def test_a_question_without_gold_can_not_be_judged_by_gold():
    trace = trace_of("x").grown(question=Question("", "x"))
    drawn = render.render_judge(trace.question, candidate_rows(trace)[0])
    assert drawn.count("disabled") == 2
    assert "<select" not in drawn


def test_every_state_of_a_candidate_has_a_sign_and_a_word():
    drawn = render.render_candidates(
        trace_of("x"), candidate_rows(trace_of("x")), (), VerifierSettings(tau=0.5)
    )
    for word in ("accepted", "rejected", "kept as the best", "not verified yet", "repeat"):
        assert word in Page(drawn).text


def test_the_share_of_attention_is_shown_by_bar_and_figure_and_called_model_behaviour():
    trace = trace_of("Maria")
    hit = trace.hits[0]
    passages = tuple(EvidencePassage(hit, (), 0.4, False) for _ in range(2))
    trace = trace.grown(
        evidence=(replace(trace.evidence[0], passages=passages),),
        verdicts=(Verdict((0.9, 0.8, 0.7), (0.75, 0.25)),),
    )
    row = candidate_rows(trace, [])[0]
    page = render.render_evidence(trace, row, VerifierSettings(tau=0.5))
    assert page.index("width:75.0%") < page.index("width:25.0%")
    assert page.index("<b>0.75</b>") < page.index("<b>0.25</b>")
    assert "model behaviour, not a cause" in page
    unseen = trace.grown(verdicts=(Verdict((0.9, 0.8, 0.7)),))
    assert "model behaviour" not in render.render_evidence(unseen, row, VerifierSettings(tau=0.5))


def test_words_of_the_question_that_no_covering_passage_names_are_told():
    def told(text: str) -> str:
        hit = Hit(Passage("m", "", text), 0.5, 0.0, 1, None, 1)
        trace = replace(trace_of("Maria"), question=Question("", "who designed <b> Maria's costumes"))
        body = replace(trace.evidence[0], passages=(EvidencePassage(hit, ("strict",), 0.4, False),))
        trace = trace.grown(evidence=(body,))
        return render.render_evidence(trace, candidate_rows(trace, [])[0], VerifierSettings(tau=0.5))

    missing = "Asked, but not named in a passage that holds it: <b><bdi>designed, b, costumes</bdi></b>"
    assert missing in told("Maria sang.")
    assert "Asked, but" not in told("Maria designs a costume, b.")


def test_plain_children_are_escaped_and_markup_is_not():
    assert tag("p", "<b>", tag("i", "x"), None, data_a='"', hidden=True, title=None) == (
        '<p data-a="&quot;" hidden>&lt;b&gt;<i>x</i></p>'
    )
    assert isinstance(tag("br"), Markup)
