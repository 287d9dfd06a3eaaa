import json
from dataclasses import replace

import pytest
from encoders import WordEncoder
from tiny import PASSAGES, QUESTIONS, candidate_of, hits_of, tiny_network

from rtv_core.evidence import rank_evidence
from rtv_core.factory import Models
from rtv_core.reading.network import ALL_TOTALS
from rtv_core.reading.reader import Reader
from rtv_core.records import EVIDENCE_SIZES, Question, Trace, Verdict
from rtv_core.report import answer_report
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.settings import Settings
from rtv_core.wire import to_json

HITS = hits_of(PASSAGES)


def trace_of(**p_right: tuple[float, float, float]) -> Trace:
    """A finished trace with these candidates, in this order."""
    candidates = tuple(candidate_of(answer, HITS) for answer in p_right)
    evidence = tuple(rank_evidence(c, "", HITS, [h.dense for h in HITS], "strict") for c in candidates)
    return Trace(
        Question("q1", QUESTIONS[0]),
        hits=HITS,
        candidates=candidates,
        evidence=evidence,
        verdicts=tuple(Verdict(p, (0.1,) * 10) for p in p_right.values()),
        seconds={"retrieve": 0.25},
        provenance={"rtv": "0"},
        stage="verified",
    )


TRACE = trace_of(Merin=(0.2, 0.6, 0.7), harbour=(0.9, 0.1, 0.1), Tovo=(0.8, 0.8, 0.9))


def under(tau: float = 0.5, k: int = 10, trace: Trace = TRACE) -> dict:
    return answer_report(trace, Settings().with_values({"verifier.tau": tau, "verifier.k": k}))


def test_the_candidates_come_best_first_with_a_score_for_each_evidence_size():
    report = under()
    assert report["question"] == QUESTIONS[0]
    assert report["answers"] == ["Tovo", "Merin"]
    assert [(c["answer"], c["accepted"], c["fallback"]) for c in report["candidates"]] == [
        ("Tovo", True, False),
        ("Merin", True, False),
        ("harbour", False, False),
    ]
    assert report["candidates"][1]["p_right"] == {"1": 0.2, "5": 0.6, "10": 0.7}
    assert (report["tau"], report["k"]) == (0.5, 10)
    assert (report["seconds"], report["provenance"]) == ({"retrieve": 0.25}, {"rtv": "0"})


def test_tau_and_k_of_the_settings_decide():
    assert under(k=1)["answers"] == ["harbour", "Tovo"]
    assert under(tau=0.85)["answers"] == ["Tovo"]
    report = under(tau=0.95)
    assert report["answers"] == ["Tovo"]
    assert [c["fallback"] for c in report["candidates"]] == [True, False, False]


def test_the_evidence_names_passages_that_stand_once_below():
    report = under()
    merin = report["candidates"][1]
    assert merin["evidence"][0] == {
        "covers": ["strict", "official"],
        "passage": "p00",
        "rank": 1,
        "recalled": True,
        "similarity": 0.9,
    }
    assert (merin["recall_score"], merin["spellings"]) == (0.8, ["Merin"])
    assert len(merin["evidence"]) == 10
    named = {e["passage"] for c in report["candidates"] for e in c["evidence"]}
    assert list(report["passages"]) == sorted(named)
    assert report["passages"]["p00"] == {
        "id": "p00",
        "title": PASSAGES[0].title,
        "text": PASSAGES[0].text,
    }


def test_a_report_is_json_and_the_same_each_time():
    text = to_json(under())
    assert text == to_json(under())
    assert json.loads(text) == under()


def test_a_trace_without_candidates_or_verdicts_is_reported_as_it_is():
    empty = under(trace=Trace(Question("", "who sang")))
    assert (empty["answers"], empty["candidates"], empty["passages"]) == ([], [], {})
    stopped = under(trace=replace(TRACE, verdicts=TRACE.verdicts[:1], stage="gathered"))
    assert [c["answer"] for c in stopped["candidates"]] == ["Merin"]


# The report of a real pipeline, over a tiny index and a tiny reader


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    rows = [{"id": p.id, "title": p.title, "text": p.text} for p in PASSAGES]
    (folder / "world.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    encoder = WordEncoder()
    build_index(folder / "world.jsonl", folder / "index", encoder)
    network, card, form = tiny_network()
    retriever = HybridRetriever(open_index(folder / "index", encoder.fingerprint), encoder)
    return Models(retriever, Reader(network, form), card, "f" * 64)


def test_a_whole_pipeline_says_the_same_each_time(models):
    settings = Settings().with_values({"recaller.relevance": 0.0, "retriever.passages": 12})
    traces = [models.pipeline(settings).ask(QUESTIONS[0]) for _ in range(2)]
    reports = [
        {name: part for name, part in answer_report(trace, settings).items() if name != "seconds"}
        for trace in traces
    ]
    assert to_json(reports[0]) == to_json(reports[1])
    trace = traces[0]
    assert trace.complete
    assert len(trace.hits) == len(trace.readings) == 12
    assert len(trace.candidates) == len(trace.verdicts) > 0
    assert set(trace.seconds) == {"retrieve", "recall", "gather", "verify"}
    retrieved = {hit.passage.id for hit in trace.hits}
    assert {p.hit.passage.id for body in trace.evidence for p in body.passages} <= retrieved
    for body, verdict in zip(trace.evidence, trace.verdicts, strict=True):
        assert len(verdict.p_right) == len(EVIDENCE_SIZES)
        assert len(verdict.weights) == len(body.passages) == 10


def test_the_settings_of_a_pipeline_reach_its_stages(models):
    few = models.pipeline(Settings().with_values({"retriever.passages": 3})).ask(QUESTIONS[0])
    assert len(few.hits) == 3
    none = models.pipeline(Settings().with_values({"recaller.span": 1.0})).ask(QUESTIONS[0])
    assert (none.candidates, none.complete) == ((), True)


def test_the_provenance_names_the_corpus_the_models_and_the_settings(models):
    settings = Settings().with_values({"verifier.tau": 0.6})
    provenance = models.pipeline(settings).provenance
    manifest = models.retriever.index.manifest
    assert provenance["corpus_sha256"] == manifest.corpus_sha256
    assert provenance["encoder_sha256"] == WordEncoder().fingerprint
    assert provenance["reader_sha256"] == "f" * 64
    assert json.loads(provenance["settings"])["verifier"]["tau"] == 0.6


def calibrated_by(models: Models, offset: float) -> Models:
    rows = [[offset, 0.3] + [0.0] * ALL_TOTALS for _ in EVIDENCE_SIZES]
    return replace(models, card=replace(models.card, calibration=rows))


def test_calibration_changes_the_scores_and_can_be_left_out(models):
    settings = Settings().with_values({"recaller.relevance": 0.0, "retriever.passages": 5})
    calibrated = calibrated_by(models, 1.0)
    scores = [
        [v.at(10) for v in m.pipeline(settings).ask(QUESTIONS[0]).verdicts]
        for m in (models, calibrated, calibrated.uncalibrated())
    ]
    assert scores[0] == scores[2]
    assert all(one != other for one, other in zip(scores[0], scores[1], strict=True))


def test_the_provenance_tells_one_calibration_from_another(models):
    kinds = [models, calibrated_by(models, 1.0), calibrated_by(models, 1.5)]
    named = [kind.pipeline(Settings()).provenance["calibration"] for kind in kinds]
    assert len(set(named)) == 3
    assert [json.loads(name) for name in named] == [kind.card.calibration for kind in kinds]
