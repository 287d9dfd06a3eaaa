"""The switches of a language model's system: what each does, links with them, and no switch elsewhere."""

from __future__ import annotations

from collections import Counter
from urllib.parse import parse_qs

import gradio as gr
import pytest
from minds import asked_for
from verifiers import QUESTION, two_verifiers

from rtv_core.baselines.offers import Systems
from rtv_core.errors import InputError
from rtv_core.settings import load_settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.ui.app import build_app
from rtv_core.ui.asking import open_link, show_answers
from rtv_core.ui.links import read_link, write_settings
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.parts import PARTS, parts_on, switch_parts
from rtv_core.ui.presenting import open_stored, show_stored
from rtv_core.ui.session import Run
from rtv_core.ui.whatif import show_whatif

ALL = list(PARTS)
LLM = load_settings("llm", ["retriever.passages=3"])


@pytest.fixture
def workbench(tmp_path):
    workbench = two_verifiers(tmp_path, settings=LLM)
    yield workbench
    workbench.server.close()


def ask(workbench, parts):
    """The last view, and how often each prompt was sent for it."""
    run, before = Run(), len(workbench.server.requests)
    run.call(QUESTION)
    last = list(show_answers(workbench, run, 3, 0.0, "strict", parts, 0.5, 10, False, "ann"))[-1]
    return last, Counter(map(asked_for, workbench.server.requests[before:]))


def without(*names):
    return [name for name in ALL if name not in names]


def test_everything_is_on_by_default_and_a_part_comes_back_as_the_server_had_it() -> None:
    assert parts_on(LLM) == ALL
    own = LLM.with_values({"llm.fresh": 2})
    assert switch_parts(own, ALL) == own
    assert switch_parts(own, []).llm.fresh == 0
    bare = switch_parts(LLM, [])
    assert parts_on(bare) == []
    assert switch_parts(bare, ALL) == LLM


@pytest.mark.parametrize("name", ALL)
def test_one_part_off_is_one_part_off(name) -> None:
    assert parts_on(switch_parts(LLM, without(name))) == without(name)


@pytest.mark.parametrize("parts", [None, "verification", 3, ["verification", "<b>"], [["verification"]]])
def test_what_no_page_sends_is_refused(parts) -> None:
    with pytest.raises(InputError, match="each must be one of reading apart"):
        switch_parts(LLM, parts)


def test_another_system_has_no_parts_and_stays_as_it_is() -> None:
    settings = load_settings()
    assert parts_on(settings) == []
    assert switch_parts(settings, ["whatever"]) is settings


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("reading apart", {"read-together": 1, "question": 3, "judge": 3}),
        ("verification", {"read": 3}),
        ("verification question", {"read": 3, "judge-directly": 4}),
    ],
)
def test_a_part_that_is_off_on_the_page_is_not_asked_for(workbench, name, prompts) -> None:
    last, asked = ask(workbench, without(name))
    assert last.session.trace.complete, last.progress
    assert set(asked) == set(prompts)


def test_without_additional_evidence_no_passage_is_fresh(workbench) -> None:
    fresh = ask(workbench, ALL)[0].session.trace
    own = ask(workbench, without("additional evidence"))[0].session.trace
    retrieved = {hit.passage.id for hit in own.hits}
    read = [{p.hit.passage.id for e in trace.evidence for p in e.passages} for trace in (fresh, own)]
    assert read[0] - retrieved
    assert not read[1] - retrieved


def test_the_link_of_an_answer_names_what_was_off_and_opens_so(workbench) -> None:
    last, _ = ask(workbench, without("verification", "reading apart"))
    link = {name: value for name, (value,) in parse_qs(last.session.link).items()}
    assert link == {"off": "reading apart,verification", "relevance": "0.0"}
    assert open_link(workbench, Run(), link).parts == without("verification", "reading apart")
    assert write_settings(LLM, LLM) == ""


def test_a_link_may_switch_everything_on_where_the_server_has_a_part_off() -> None:
    bare = switch_parts(LLM, without("verification"))
    assert write_settings(LLM, bare) == "off="
    assert read_link({"off": ""}, bare).settings == LLM


def test_a_link_that_names_no_part_says_so_and_one_for_another_system_changes_nothing() -> None:
    link = read_link({"off": "verification,<b>"}, LLM)
    assert parts_on(link.settings) == without("verification")
    assert "no part that can be switched off: '<b>'" in link.notice
    assert read_link({"off": "verification"}, load_settings()).settings == load_settings()


def test_the_page_says_what_was_off_and_takes_evidence_away_from_the_same_verifier(workbench) -> None:
    last, _ = ask(workbench, without("verification"))
    assert "switched off: verification" in last.progress
    whole, _ = ask(workbench, ALL)
    assert "switched off" not in whole.progress
    key = candidate_key("Mister Lonely")
    before = len(workbench.server.requests)
    show_whatif(workbench, last.session, 0.5, 10, False, {"key": key, "taken": [0], "turn": 1})
    assert len(workbench.server.requests) == before, "no judgement is asked for where none was made"
    show_whatif(workbench, whole.session, 0.5, 10, False, {"key": key, "taken": [0], "turn": 1})
    assert len(workbench.server.requests) > before


def test_a_presentation_shows_the_whole_system_rather_than_one_with_parts_off(workbench, tmp_path) -> None:
    workbench.store = JudgementStore(tmp_path / "rtv.db")
    whole = ask(workbench, ALL)[0].session
    bare = ask(workbench, without("verification"))[0].session
    assert workbench.store.traces(QUESTION)[0] == bare.trace_id
    run = Run()
    open_stored(workbench, run, {"q": QUESTION, "present": "1"})
    assert show_stored(workbench, run, 0.5, 10, False, "ann").session.trace_id == whole.trace_id


@pytest.mark.parametrize("profile", ["llm", "embedded"])
def test_the_page_has_the_switches_only_where_they_do_something(tmp_path, profile) -> None:
    workbench = two_verifiers(tmp_path, settings=load_settings(profile))
    try:
        page = build_app(workbench, systems=Systems(()))
        (switches,) = [b for b in page.blocks.values() if isinstance(b, gr.CheckboxGroup)]
    finally:
        workbench.server.close()
    assert switches.visible == (profile == "llm")
    assert switches.value == (ALL if profile == "llm" else [])
