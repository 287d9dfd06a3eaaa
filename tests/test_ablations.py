"""The table of trainings without a part: what is trained for it, and what its figures are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks import ablations
from benchmarks.ablations import (
    FEW_WRONG,
    THINNING,
    VARIANTS,
    WHOLE,
    choose,
    cross_validated,
    figures,
    render,
    thinned,
)
from benchmarks.plain import fit_plain
from benchmarks.rows import Row, RowCandidate
from benchmarks.systems import System
from rtv_core.errors import InputError
from rtv_core.records import Question
from rtv_core.training.examples import Example


def row(number: int, right: float, wrong: float) -> Row:
    """A question with one right candidate and one wrong one, of these scores."""
    question = Question(f"q{number}", f"which {number}", ((("yes",),),))
    candidates = tuple(
        RowCandidate(answer, 0.5, (p,) * 3, (0.5, p, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0), (("p", i, i + 1),))
        for i, (answer, p) in enumerate((("yes", right), ("no", wrong)))
    )
    return Row(question, {"mrecall@5": 1.0}, ((True,),), True, candidates, {}, {})


def example(name: str, number: int) -> Example:
    return Example(name, f"{name} {number}", (("a",),), True, (), (0,), (1.0,))


def test_every_so_manieth_example_of_a_set_is_kept_and_all_of_multispanqa() -> None:
    examples = [example(name, i) for i in range(4 * THINNING) for name in ("nq", "squad", "multispanqa")]
    assert Counter(e.set for e in thinned(examples)) == {"nq": 4, "squad": 4, "multispanqa": 4 * THINNING}
    some = thinned(examples, ("nq", "multispanqa"))
    assert some == [e for e in thinned(examples) if e.set != "squad"]


def test_each_variant_differs_from_the_whole_training_in_its_own_part_alone() -> None:
    whole = VARIANTS[0]
    assert whole.name == WHOLE
    changed = {}
    for variant in VARIANTS[1:]:
        plans = ((variant.recaller, whole.recaller), (variant.verifier, whole.verifier))
        own = [f.name for a, b in plans for f in fields(a) if getattr(a, f.name) != getattr(b, f.name)]
        own += [name for name in ("sets", "frozen") if getattr(variant, name) != getattr(whole, name)]
        changed[variant.name] = own
    assert list(changed.values()) == [
        ["sets"],
        ["sets"],
        ["single_span", "single_span"],
        ["alpha_neg"],
        ["unanswered"],
        ["own_candidates"],
        ["frozen"],
        ["invalid"],
        ["invalid", "reread"],
    ]
    assert len({variant.folder for variant in VARIANTS}) == len(VARIANTS)
    sharing = [variant for variant in VARIANTS if variant.first_stage == whole.first_stage]
    assert len(sharing) == 6  # the whole, and five that only change the second stage
    few, again = VARIANTS[-2:]
    assert again.beside == few.name
    assert replace(again.verifier, reread=False) == few.verifier


def test_reading_once_is_compared_with_reading_again_on_as_few_candidates() -> None:
    found = {v.name: figures([row(i, 0.8, 0.3) for i in range(10)]) for v in VARIANTS[-2:]}
    found[WHOLE] = found[FEW_WRONG]
    text = render(found, dict.fromkeys(found, "1 + 1"))
    (line,) = [line for line in text.splitlines() if "read again" in line]
    assert "0.0 (0.0 to 0.0), as against one wrong candidate for each right one" in line


def test_the_whole_training_is_always_among_the_chosen() -> None:
    assert [v.name for v in choose("random wrong candidates")] == [WHOLE, "random wrong candidates"]
    assert [v.name for v in choose(VARIANTS[-1].name)] == [WHOLE, FEW_WRONG, VARIANTS[-1].name]
    assert choose("") == list(VARIANTS)
    with pytest.raises(InputError, match="no variant 'magic'"):
        choose("magic")


def test_no_question_is_scored_by_what_was_fitted_on_it(monkeypatch) -> None:
    rows = [row(i, 0.8, 0.3) for i in range(20)]
    fits, taus = [], []

    def fit(features, right):
        fits.append(len(features))
        return fit_plain(features, right)

    def best_tau(system, some):
        taus.append({r.question.id for r in some})
        return 0.5

    monkeypatch.setattr(ablations, "fit_plain", fit)
    monkeypatch.setattr(System, "best_tau", best_tau)
    found = cross_validated(rows)
    assert set(found) == {r.question.id for r in rows}
    assert set(found.values()) == {1.0}
    assert fits == [2 * 16] * 5  # two candidates of each of the other sixteen questions
    held = [set(found) - some for some in taus]
    assert [len(some) for some in held] == [4] * 5
    assert set.union(*held) == set(found)


def test_the_command_trains_what_is_missing_and_prints_a_row_a_variant(tmp_path: Path, monkeypatch) -> None:
    trained, cards = [], {}
    asked = {WHOLE: [row(i, 0.8, 0.3) for i in range(10)]}
    asked["random wrong candidates"] = [row(i, 0.3, 0.8) if i < 5 else row(i, 0.8, 0.3) for i in range(10)]

    def train(variant, examples, passages, out, weights) -> None:
        trained.append(variant.name)
        weights.mkdir(parents=True)
        (weights / "rtv.json").write_text("{}")
        steps = {"recaller": {"steps": 1200}, "verifier": {"steps": 30}}
        cards[weights] = SimpleNamespace(training=steps)

    class Models:
        def pipeline(self, settings):
            return None

    monkeypatch.setattr(ablations, "train", train)
    monkeypatch.setattr(ablations, "open_training", lambda *given: (None, [], []))
    monkeypatch.setattr(ablations, "read_card", cards.__getitem__)
    monkeypatch.setattr(ablations, "load_models", lambda index, weights: Models())
    monkeypatch.setattr(ablations, "load_question_set", lambda *given: type("Set", (), {"questions": ()}))
    monkeypatch.setattr(
        ablations, "collect", lambda p, q, file: asked[file.path.parent.name.replace("-", " ")]
    )
    given = ["--data", "d", "--index", "i", "--out", str(tmp_path), "--rows", "random wrong candidates"]
    for _ in range(2):
        result = CliRunner().invoke(ablations.main, given)
        assert result.exit_code == 0, result.output
    assert trained == [WHOLE, "random wrong candidates"]  # the second call finds both
    lines = [line for line in result.output.splitlines() if line.startswith("| ")]
    assert lines[1].startswith("| the whole training | 1,200 + 30 | 100.0 (100.0 to 100.0) | - |")
    assert "random wrong candidates" in lines[2]


def test_a_variant_s_figures_are_by_question() -> None:
    found = figures([row(i, 0.8, 0.3) for i in range(10)])
    assert found["candidates"] == {f"q{i}": 2.0 for i in range(10)}
    assert found["covered"] == found["recalled"] == {f"q{i}": 1.0 for i in range(10)}
