"""The embedded reader's courses: what each reads, and how one goes on from another."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from tiny import ANSWERS, PASSAGES, QUESTIONS, tiny_network

from rtv_core.cli.train import command
from rtv_core.errors import MissingError
from rtv_core.reading.weights import load_network, read_card, write_card
from rtv_core.training import run
from rtv_core.training.courses import FIRST, RECALLER_COURSES, VERIFIER_COURSES, Course
from rtv_core.training.examples import Example
from rtv_core.training.recaller import RecallerPlan
from rtv_core.training.run import run_recaller, run_verifier
from rtv_core.training.verifier import VerifierPlan


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def test_a_later_course_reads_questions_of_squad_that_none_before_it_read():
    own = [course.shares["squad"] for course in RECALLER_COURSES.values()]
    assert not any(overlap(a, b) for i, a in enumerate(own) for b in own[:i])
    assert not overlap(RECALLER_COURSES["more"].shares["squad-2.0"], FIRST["squad-2.0"])
    assert not overlap(RECALLER_COURSES["more"].shares["quoref"], FIRST["quoref"])


def test_the_command_offers_every_course():
    for name, courses in (("recaller", RECALLER_COURSES), ("verifier", VERIFIER_COURSES)):
        option = next(p for p in command.commands[name].params if p.name == "course")
        assert list(option.type.choices) == list(courses)


@pytest.mark.parametrize("course", [*RECALLER_COURSES.values(), *VERIFIER_COURSES.values()])
def test_a_course_plans_for_sets_that_it_reads(course):
    planned = {name for name, _ in (*course.plan.repeats, *getattr(course.plan, "shares", ()))}
    assert planned <= set(course.shares)


def test_a_course_is_changed_where_a_value_is_given():
    first = RECALLER_COURSES["first"]
    assert first.changed(alpha_neg=None, seed=None) == first
    changed = first.changed(alpha_neg=0.7, seed=None)
    assert changed == replace(first, plan=replace(first.plan, alpha_neg=0.7))


EXAMPLES = [
    Example("nq", question, tuple((a,) for a in answers), False, (i,), tuple(range(6)), (0.5,) * 6)
    for i, (question, answers) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))
]
SHARES = {"nq": (0, 8)}
READS = Course(SHARES, RecallerPlan(batch=4, repeats=()))
VERIFIES = Course(SHARES, VerifierPlan(passages=4, questions=4, shares=(("nq", 8),), repeats=()))


@pytest.fixture
def asked(monkeypatch) -> list[object]:
    """What examples were asked for, by each course that is run on a tiny world."""
    wanted: list[object] = []

    def open_training(data, index, out, shares, start=None):
        wanted.append((out.name, dict(shares), start and start.name))
        return SimpleNamespace(manifest=SimpleNamespace(corpus_sha256="c" * 64)), PASSAGES, EXAMPLES

    monkeypatch.setattr(run, "open_training", open_training)
    monkeypatch.setattr(run, "blank_network", lambda: tiny_network()[:2])
    return wanted


def test_courses_follow_one_another_and_the_card_tells_them_all(asked, tmp_path):
    one, two, three, four = (tmp_path / name for name in ("one", "two", "three", "four"))
    run_recaller(tmp_path, tmp_path, one, READS)
    run_verifier(tmp_path, tmp_path, one, two, VERIFIES)
    write_card(replace(read_card(two), calibration=[[0.0] * 13] * 3, tau=0.2), two)
    run_recaller(tmp_path, tmp_path, three, READS.changed(seed=9), two)
    run_verifier(tmp_path, tmp_path, three, four, VERIFIES.changed(seed=8))
    assert asked == [
        ("one", SHARES, None),
        ("two", SHARES, "one"),
        ("three", SHARES, "two"),
        ("four", SHARES, "three"),
    ]
    cards = [read_card(folder) for folder in (one, two, three, four)]
    assert [card.stage for card in cards] == ["recaller", "verifier", "recaller", "verifier"]
    seeds = {name: facts["seed"] for name, facts in cards[3].training.items()}
    own = {"recaller": READS.plan.seed, "verifier": VERIFIES.plan.seed}
    assert seeds == own | {"recaller 2": 9, "verifier 2": 8}
    assert cards[1].training["verifier"] == cards[3].training["verifier"]
    assert cards[2].calibration is None


def test_a_course_begins_with_the_weights_it_is_given(asked, tmp_path):
    run_recaller(tmp_path, tmp_path, tmp_path / "one", READS)
    still = replace(READS, loop=replace(READS.loop, encoder_rate=0.0, head_rate=0.0))
    run_recaller(tmp_path, tmp_path, tmp_path / "two", still, tmp_path / "one")
    before, after = (load_network(tmp_path / name)[0].state_dict() for name in ("one", "two"))
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())


def test_a_course_without_the_weights_it_is_to_begin_with_says_so_before_it_reads_anything(asked, tmp_path):
    with pytest.raises(MissingError):
        run_recaller(tmp_path, tmp_path, tmp_path / "two", READS, tmp_path / "absent")
    assert asked == []
