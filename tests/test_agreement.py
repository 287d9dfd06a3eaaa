"""Agreement: published examples, missing verdicts, and plain words where nothing can be said."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from rtv_core.annotation.agreement import (
    AXES,
    agreement,
    cohen_kappa,
    cohen_kappas,
    disagreements,
    fleiss_kappa,
    fleiss_kappas,
    krippendorff_alpha,
    krippendorff_alphas,
    matrix_rows,
    ratings,
)
from rtv_core.records import Judgement

FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""
"""Ten subjects, five labels, 14 raters: the worked example in Wikipedia's article on Fleiss' kappa."""

KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers, twelve units (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, part C)."""

NAMES = ("listed", "variant", "unlisted", "invalid", "unsure")


def numbers(text: str) -> np.ndarray:
    return np.array([line.split() for line in text.split("\n") if line], dtype=int)


def said(by_annotator: Mapping[str, Sequence[str]], axis: str = "answer") -> list[Judgement]:
    """Judgements of the answers 0, 1, ... of one trace; "" is no verdict."""
    made = []
    for name, labels in by_annotator.items():
        for number, label in enumerate(labels):
            kinds = {"label": label} if axis == "answer" else {"label": "listed", "evidence": label}
            if label or axis == "evidence":
                made.append(Judgement("t", "Who?", f"answer {number}", annotator=name, **kinds))
    return made


def observers(text: str) -> dict[str, list[str]]:
    lines = [line.split() for line in text.split("\n") if line]
    return {
        f"observer {number}": ["" if code == "." else NAMES[int(code) - 1] for code in line]
        for number, line in enumerate(lines)
    }


def test_cohens_kappa_is_that_of_a_published_example() -> None:
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


def test_fleiss_kappa_is_that_of_a_published_example() -> None:
    assert fleiss_kappa(numbers(FLEISS)) == pytest.approx(0.210, abs=5e-4)


def test_krippendorffs_alpha_is_that_of_a_published_example_with_missing_verdicts() -> None:
    found = agreement(ratings(said(observers(KRIPPENDORFF))), draws=50)
    assert found.alpha.value == pytest.approx(0.743, abs=5e-4)
    assert (found.judged, found.shared, found.alpha.items) == (12, 11, 11)
    assert found.alpha.low < found.alpha.value < found.alpha.high


def test_two_annotators_get_cohens_kappa_on_the_items_that_both_judged() -> None:
    one = ["listed"] * 25 + ["invalid"] * 25 + ["listed", ""]
    two = ["listed"] * 20 + ["invalid"] * 5 + ["listed"] * 10 + ["invalid"] * 15 + ["", "invalid"]
    found = agreement(ratings(said({"ann": one, "bob": two})), draws=200)
    assert (found.kappa.name, found.kappa.items) == ("Cohen's kappa", 50)
    assert found.kappa.value == pytest.approx(0.4)
    assert found.percent.value == pytest.approx(35 / 50)
    assert found.percent.low < 0.7 < found.percent.high
    assert found.judged == 52


def test_three_annotators_get_fleiss_kappa_on_all_items_with_two_verdicts() -> None:
    by_annotator = {
        "ann": ["listed", "invalid", "listed", "invalid", "listed", "listed"],
        "bob": ["listed", "invalid", "invalid", "invalid", "", ""],
        "cid": ["listed", "invalid", "listed", "listed", "listed", ""],
    }
    found = agreement(ratings(said(by_annotator)), draws=50)
    observed = (1 + 1 + 1 / 3 + 1 / 3 + 1) / 5
    listed = (1 + 0 + 2 / 3 + 1 / 3 + 1) / 5
    expected = listed**2 + (1 - listed) ** 2
    assert (found.kappa.name, found.kappa.items) == ("Fleiss' kappa", 5)
    assert found.percent.value == pytest.approx(observed)
    assert found.kappa.value == pytest.approx((observed - expected) / (1 - expected))
    assert "different numbers of verdicts" in found.kappa.note
    assert agreement(ratings(said({n: v[:4] for n, v in by_annotator.items()})), draws=50).kappa.note == ""


def test_one_label_only_is_undefined_and_not_perfect() -> None:
    found = agreement(ratings(said({"ann": ["listed"] * 4, "bob": ["listed"] * 4})), draws=20)
    for coefficient in (found.kappa, found.alpha):
        assert coefficient.value is None
        assert "only one label" in coefficient.note
    assert found.percent.value == 1
    three = said({"ann": ["listed"] * 4, "bob": ["listed"] * 4, "cid": ["listed"] * 4})
    assert agreement(ratings(three), draws=20).kappa.value is None


def test_an_interval_that_rests_on_one_odd_item_is_not_given() -> None:
    found = agreement(ratings(said({"ann": ["listed"] * 9 + ["invalid"], "bob": ["listed"] * 10})), draws=200)
    assert found.alpha.value == pytest.approx(0)
    assert (found.alpha.low, found.alpha.high) == (None, None)
    assert "No interval" in found.alpha.note


@pytest.mark.parametrize("by_annotator", [{}, {"ann": ["listed", "invalid"]}])
def test_without_a_second_verdict_nothing_is_claimed(by_annotator: Mapping[str, Sequence[str]]) -> None:
    found = agreement(ratings(said(by_annotator)))
    assert [c.value for c in (found.percent, found.kappa, found.alpha)] == [None] * 3
    assert found.shared == 0
    assert "no item has two verdicts" in found.percent.note


def test_the_evidence_axis_counts_only_what_was_said_of_evidence() -> None:
    labels = {"ann": ["supports", "", "insufficient"], "bob": ["supports", "supports", "contradicts"]}
    matrix = ratings(said(labels, "evidence"), "evidence")
    assert matrix.labels == (("supports", "supports"), ("", "supports"), ("insufficient", "contradicts"))
    assert agreement(matrix, draws=20).percent.value == pytest.approx(0.5)
    assert set(AXES) == {"answer", "evidence"}


def test_spellings_of_an_answer_are_one_item_and_the_latest_verdict_of_a_person_counts() -> None:
    made = [
        Judgement("t", "Who?", "Beyoncé", "invalid", "ann", at="2026-01-02"),
        Judgement("t", "Who?", "Beyonce", "listed", "ann", at="2026-01-03"),
        Judgement("t", "Who?", "beyonce", "listed", "bob", at="2026-01-01"),
    ]
    assert ratings(made).labels == (("listed", "listed"),)


def test_those_left_out_leave_no_column() -> None:
    made = said({"ann": ["listed"], "umpire": ["invalid"], "bob": ["listed"]})
    assert ratings(made, leave_out={"umpire"}).annotators == ("ann", "bob")
    assert disagreements(made, leave_out={"umpire"}) == ()


def test_disagreements_come_most_evenly_split_first() -> None:
    made = said(
        {
            "ann": ["listed", "listed", "listed", "unsure"],
            "bob": ["listed", "invalid", "invalid", "unsure"],
            "cid": ["listed", "listed", "variant", "unsure"],
        }
    )
    found = disagreements(made)
    assert [d.item.answer for d in found] == ["answer 2", "answer 1"]
    assert found[1].labels == (("listed", 2), ("invalid", 1))
    assert [j.annotator for j in found[1].judgements] == ["ann", "bob", "cid"]


def test_the_matrix_has_a_header_and_a_row_an_item() -> None:
    rows = list(matrix_rows(ratings(said({"bob": ["listed", ""], "ann": ["", "invalid"]}))))
    assert rows == [
        ("trace_id", "question", "answer", "ann", "bob"),
        ("t", "Who?", "answer 0", "", "listed"),
        ("t", "Who?", "answer 1", "invalid", ""),
    ]


def test_agreement_of_the_same_seed_is_the_same() -> None:
    matrix = ratings(said(observers(KRIPPENDORFF)))
    assert agreement(matrix, seed=3, draws=30) == agreement(matrix, seed=3, draws=30)


def test_alpha_of_chance_is_near_zero() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(400, 2))
    counts = np.stack([(labels == 0).sum(axis=1), (labels == 1).sum(axis=1)], axis=1)
    assert abs(krippendorff_alpha(counts)) < 0.1


def resampled(items: np.ndarray, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Kinds of items, how often each resample has each, and the resampled items themselves."""
    kinds, number = np.unique(items, axis=0, return_inverse=True)
    number = number.reshape(-1)
    rng = np.random.default_rng(seed)
    places = [rng.integers(len(items), size=len(items)) for _ in range(draws)]
    drawn = np.array([np.bincount(number[own], minlength=len(kinds)) for own in places], dtype=float)
    return kinds, drawn, [items[own] for own in places]


def defined(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


@pytest.mark.parametrize(("items", "labels"), [(3, 2), (8, 5), (60, 4)])
def test_the_resamples_coefficients_are_the_libraries(items: int, labels: int) -> None:
    rng = np.random.default_rng(items)
    codes = rng.integers(labels, size=(items, 2))
    kinds, drawn, samples = resampled(codes, 40, seed=1)
    confusions = [np.histogram2d(*sample.T, bins=np.arange(labels + 1))[0].astype(int) for sample in samples]
    own = defined([cohen_kappa(confusion) for confusion in confusions])
    assert cohen_kappas(kinds, drawn) == pytest.approx(own, nan_ok=True)
    counts = np.array(
        [np.bincount(rng.integers(labels, size=2 + i % 4), minlength=labels) for i in range(items)]
    )
    kinds, drawn, samples = resampled(counts, 40, seed=2)
    for many, one in ((fleiss_kappas, fleiss_kappa), (krippendorff_alphas, krippendorff_alpha)):
        own = defined([one(sample) for sample in samples])
        assert many(kinds, drawn) == pytest.approx(own, nan_ok=True)
    assert items > 3 or np.isnan(own).any()  # the smallest case has resamples of one label only


def test_an_interval_is_that_of_items_drawn_one_by_one() -> None:
    rng = np.random.default_rng(3)
    first = rng.choice(NAMES[:3], 150)
    second = np.where(rng.random(150) < 0.6, first, rng.choice(NAMES[:3], 150))
    found = agreement(ratings(said({"ann": first.tolist(), "bob": second.tolist()})), draws=4000)
    codes = np.array([[NAMES.index(a), NAMES.index(b)] for a, b in zip(first, second, strict=True)])
    kinds, drawn, _ = resampled(codes, 4000, seed=4)
    low, high = np.percentile(cohen_kappas(kinds, drawn), (2.5, 97.5))
    assert (found.kappa.low, found.kappa.high) == pytest.approx((low, high), abs=0.015)


def test_2000_items_of_two_annotators_take_less_than_a_second() -> None:
    rng = np.random.default_rng(5)
    labels = rng.choice(NAMES, (2, 2000))
    judgements = said({"ann": labels[0].tolist(), "bob": labels[1].tolist()})
    agreement(ratings(judgements[:1] + judgements[2000:2001]), draws=1)  # loads the libraries
    krippendorff_alpha(np.array([[1, 1], [2, 0]]))
    cohen_kappa(np.array([[1, 1], [0, 1]]))
    start = time.process_time()
    found = agreement(ratings(judgements))
    assert time.process_time() - start < 1
    assert found.shared == 2000
    assert found.kappa.low < found.kappa.value < found.kappa.high
