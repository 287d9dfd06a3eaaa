"""QAMPARI and RoMQA from files of their formats to the figures that their own scripts would print."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtv_core.datasets import load_questions, read_clusters
from rtv_core.metrics import Score, cluster_minimum, score_labels, score_qampari, score_qampari_5

DATA = Path(__file__).resolve().parent / "data"

ROMQA_PREDICTIONS = {
    "11": ["Velda", "Orla"],
    "12": ["Orla"],
    "13": ["Merin", "Tovo", "Tovo am See"],
    "14": [],
}


def test_romqa_is_scored_on_labels_and_robustly_by_the_worst_of_each_cluster() -> None:
    questions, clusters = load_questions(DATA / "romqa.json"), read_clusters(DATA / "romqa.json")
    labels = {q.id: [spellings[0] for spellings in q.answers[0]] for q in questions}
    assert labels["13"] == ["Merin", "Tovo", "Sund", "Dorn"]
    scores = {id_: score_labels(ROMQA_PREDICTIONS[id_], labels[id_]) for id_ in labels}
    assert scores["11"] == Score(1 / 2, 1 / 2, 1 / 2)
    assert scores["12"] == Score(1, 1, 1)
    assert (scores["13"].precision, scores["13"].recall) == (2 / 3, 2 / 4)  # an alias is no label
    assert scores["14"] == Score(0, 0, 0)
    f1 = [scores[id_].f1 for id_ in labels]
    assert sum(f1) / 4 == pytest.approx((1 / 2 + 1 + 4 / 7 + 0) / 4)
    assert cluster_minimum(f1, [clusters[id_] for id_ in labels]) == (1 / 2 + 0) / 2
    precision = [scores[id_].precision for id_ in labels]
    assert cluster_minimum(precision, [clusters[id_] for id_ in labels]) == (1 / 2 + 0) / 2


def test_qampari_is_scored_with_aliases_over_distinct_predictions() -> None:
    lakes, opera = load_questions(DATA / "qampari.jsonl")
    assert lakes.id == "1__wikidata_simple__dev"
    assert lakes.answers == ((("Merin", "Lake Merin"), ("Tovo",)),)
    assert score_qampari(["Lake Merin", "Lake Merin", "Sund"], lakes.answers) == Score(1 / 2, 1 / 2, 1 / 2)
    assert score_qampari(["A. Lind", "Per Holm"], opera.answers) == Score(1, 1, 1)
    assert score_qampari_5(["A. Lind"], opera.answers).recall == 1 / 2
