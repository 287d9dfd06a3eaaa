"""The reader that the repository ships, on the demo corpus."""

import os

import pytest

from rtv_core.factory import MODELS, load_models
from rtv_core.reading.weights import read_card
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.settings import Settings
from rtv_core.thresholds import answers, judge
from rtv_core.verify.embedded import FACTS

LARGEST = 30_000_000


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield load_models()
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


def test_the_weights_fit_into_thirty_megabytes():
    assert 0 < sum(path.stat().st_size for path in MODELS.iterdir()) < LARGEST


def test_the_default_tau_is_the_one_that_was_chosen_on_dev():
    card = read_card(MODELS)
    assert card.stage == "verifier"
    assert Settings().verifier.tau == card.tau == card.training["calibration"]["tau"]


def test_the_card_has_a_rising_calibration_for_each_evidence_size():
    rows = read_card(MODELS).calibration
    assert len(rows) == len(EVIDENCE_SIZES)
    for _, slope, *totals in rows:
        assert slope > 0
        assert len(totals) == FACTS - 1


def test_a_question_with_two_answers_gets_both_with_evidence_that_covers_them(models):
    trace = models.pipeline(Settings()).ask("moons of mars names")
    predictions = judge(trace, Settings().verifier)
    assert {"Phobos", "Deimos"} <= set(answers(predictions))
    for prediction in predictions[:2]:
        assert trace.evidence[prediction.index].passages[0].covers
    assert len(trace.hits) == 100
    assert trace.complete


def test_the_same_question_gives_the_same_trace_from_the_cache_and_read_anew(models):
    pipeline = models.pipeline(Settings().with_values({"retriever.passages": 20}))
    first, again = pipeline.ask("who sang lost boy"), pipeline.ask("who sang lost boy")
    assert again.grown(seconds={}) == first.grown(seconds={})
    anew = load_models().pipeline(pipeline.settings).ask("who sang lost boy")
    assert anew.grown(seconds={}) == first.grown(seconds={})
