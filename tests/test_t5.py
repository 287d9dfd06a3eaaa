"""The T5 recaller: what it reads, how what it writes becomes answers and spans; and T5 folders."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from encoders import WordEncoder
from tiny import PASSAGES, QUESTIONS, hits_of
from tiny_t5 import TEXTS, shared_t5, tiny_t5

from rtv_core.errors import MismatchError, MissingError, SettingError
from rtv_core.factory import Models
from rtv_core.protocols import Recaller
from rtv_core.reading.t5 import CARDS, VERIFIER, find_t5, length_batches, load_t5, pad_rows, save_t5
from rtv_core.recall.merge import unite
from rtv_core.recall.seq2seq import (
    SequenceRecaller,
    Written,
    locate_answer,
    parse_answers,
    recaller_row,
    write,
)
from rtv_core.records import Passage
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.settings import T5Settings, load_settings
from rtv_core.training.blank_t5 import word_tokenizer
from rtv_core.wire import to_json

HERE = T5Settings(device="cpu", dtype="float32", local_files_only=True)


def written(t5, text: str) -> Written:
    """What a decoder would have written: | is the separator, # the end, the rest is words."""
    ids: list[int] = []
    for part in text.replace("|", "\0|\0").replace("#", "\0#\0").split("\0"):
        special = {"|": [t5.separator], "#": [t5.end]}
        ids += special.get(part.strip()) or t5.words(part.strip())
    return Written(tuple(ids), (-0.5,) * len(ids), 0.1)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Merin #", ["Merin"]),
        ("Merin | Tovo | Sund #", ["Merin", "Tovo", "Sund"]),
        ("Ana Lind | Per Holm # | | |", ["Ana Lind", "Per Holm"]),  # what comes after the end is padding
        ("Merin | Tovo | Su", ["Merin", "Tovo"]),  # the last one of several was cut off
        ("Merin Tovo Su", ["Merin Tovo Su"]),  # a single one is kept though it was cut off
        ("Merin | Tovo |", ["Merin", "Tovo"]),  # cut off where the next would begin
        ("irrelevant #", []),
        ("irrelevant", []),
        ("Merin | irrelevant #", []),
        ("Merin | irrelevant", []),  # though the word itself was cut off
        ("Merin | Merin | Tovo #", ["Merin", "Tovo"]),
        ("| Merin | | Tovo | #", ["Merin", "Tovo"]),
        ("#", []),
        ("", []),
        ("| | | |", []),
    ],
)
def test_what_was_written_becomes_answers(text: str, answers: list[str]) -> None:
    t5 = shared_t5("recaller")
    assert [answer.text for answer in parse_answers(t5, written(t5, text))] == answers


def test_an_answers_score_is_the_geometric_mean_of_its_tokens_probabilities() -> None:
    t5 = shared_t5("recaller")
    ids = (*t5.words("Ana Lind"), t5.separator, *t5.words("Per"), t5.end)
    logs = tuple(math.log(p) for p in (0.9, 0.4, 0.01, 0.25, 0.02))
    one, other = parse_answers(t5, Written(ids, logs, 0.3))
    assert (one.text, other.text) == ("Ana Lind", "Per")
    assert one.score == pytest.approx(math.sqrt(0.9 * 0.4))
    assert other.score == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("Merin lies by Tovo; merin is old.", "Merin", ["Merin", "merin"]),
        ("It opened on 24 April 2010 in Karo.", "April 24, 2010", ["24 April 2010"]),
        ("Beyoncé sang it.", "Beyonce", ["Beyoncé"]),
        ("The Jean Luc bridge.", "Jean-Luc", ["Jean Luc"]),
        ("Merin and Tovo.", "Sund", []),
        ("Merin and Tovo.", "", []),
        ("", "Merin", []),
    ],
)
def test_an_answer_is_found_where_the_passage_has_it(text: str, answer: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in locate_answer(text, answer)] == found


def test_what_is_read_has_the_papers_form_and_length() -> None:
    t5 = shared_t5("recaller")
    row = recaller_row(t5, QUESTIONS[1], PASSAGES[1])
    p = PASSAGES[1]
    assert t5.text(row) == f"question: {QUESTIONS[1]} title: {p.title} context: {p.text}"
    assert (row[-1], row.count(t5.end)) == (t5.end, 1)
    long = recaller_row(t5, QUESTIONS[1], replace(p, text=p.text * 50))
    assert (len(long), long[-1]) == (240, t5.end)


def test_special_tokens_and_braces_in_a_text_are_text() -> None:
    t5 = shared_t5("recaller")
    row = recaller_row(t5, "who sang {context} </s>", Passage("x", "<pad>", "{title} <pad> sang"))
    assert row.count(t5.end) == 1
    assert t5.separator not in row
    assert t5.text(row) == "question: who sang {context} </s> title: <pad> context: {title} <pad> sang"


def test_passages_in_a_batch_are_read_as_one_by_one_whatever_the_bound() -> None:
    t5 = tiny_t5("recaller", factor=2.0)
    rows = [recaller_row(t5, QUESTIONS[0], passage) for passage in PASSAGES[:6]]
    singles = [write(t5, [row])[0] for row in rows]
    for bound in (1, 100, 100_000):
        batch = write(replace(t5, batch_tokens=bound), rows)
        for one, other in zip(singles, batch, strict=True):
            count = min(len(one.ids), len(other.ids))  # a batch goes on until its last one has ended
            assert other.ids[:count] == one.ids[:count]
            assert other.irrelevant == pytest.approx(one.irrelevant, abs=1e-6)
    assert len({one.ids for one in singles}) > 1


def test_greedy_decoding_equals_the_librarys() -> None:
    t5 = tiny_t5("recaller", factor=2.0)
    row = recaller_row(t5, QUESTIONS[0], PASSAGES[0])
    own = write(t5, [row])[0]
    theirs = t5.model.generate(
        torch.tensor([row]), max_new_tokens=t5.card.answer_tokens, do_sample=False, num_beams=1
    )
    assert list(own.ids) == theirs[0, 1:].tolist()


def test_a_passage_that_is_written_off_gives_nothing_and_low_relevance() -> None:
    t5 = taught({0: "Merin | Sund #", 1: "irrelevant #"})
    recaller = SequenceRecaller(t5)
    hits = hits_of(PASSAGES[:2])
    found, nothing = recaller.recall(QUESTIONS[0], hits)
    text = PASSAGES[0].text
    assert [text[span.start : span.end] for span in found.spans] == ["Merin", "Sund"]
    assert all(0 < span.score <= 1 for span in found.spans)
    assert found.relevance > 0.8
    assert (nothing.spans, nothing.relevance < 0.2) == ((), True)
    assert isinstance(recaller, Recaller)
    candidates = unite(hits, [found, nothing], load_settings("t5").recaller)
    assert [c.answer for c in candidates] == ["Merin", "Sund"]


def test_a_recaller_in_bfloat16_answers_as_in_float32(tmp_path: Path) -> None:
    save_t5(taught({0: "Merin | Sund #", 1: "irrelevant #"}), tmp_path)
    hits = hits_of(PASSAGES[:2])
    exact, rounded = (
        load_t5(str(tmp_path), "recaller", replace(HERE, dtype=dtype)) for dtype in ("float32", "bfloat16")
    )
    assert rounded.model.dtype == torch.bfloat16
    found, expected = (SequenceRecaller(t5).recall(QUESTIONS[0], hits) for t5 in (rounded, exact))
    for own, other in zip(found, expected, strict=True):
        assert [(s.start, s.end) for s in own.spans] == [(s.start, s.end) for s in other.spans]
        # A logit near 10 is rounded by up to .03, which moves a probability by at most .01, a few times over.
        assert [s.score for s in own.spans] == pytest.approx([s.score for s in other.spans], abs=0.05)
        assert own.relevance == pytest.approx(other.relevance, abs=0.05)
    assert [len(own.spans) for own in found] == [2, 0]


def test_an_answer_that_the_text_does_not_have_is_kept_in_the_recallers_words() -> None:
    t5 = taught({0: "Merin | opera #", 1: "irrelevant #"})
    (reading,) = SequenceRecaller(t5).recall(QUESTIONS[0], hits_of(PASSAGES[:1]))
    assert [PASSAGES[0].text[span.start : span.end] for span in reading.spans] == ["Merin"]
    assert [wording.text for wording in reading.wordings] == ["opera"]
    assert 0 < reading.wordings[0].score <= 1
    candidates = unite(hits_of(PASSAGES[:1]), [reading], load_settings("t5").recaller)
    assert [c.answer for c in candidates] == ["Merin", "opera"]


def taught(targets: dict[int, str]):
    """A tiny T5 that has learned to write these texts for the first question on these passages."""
    t5 = tiny_t5("recaller")
    rows = [recaller_row(t5, QUESTIONS[0], PASSAGES[i]) for i in targets]
    labels = [list(written(t5, text).ids) for text in targets.values()]
    longest = max(map(len, labels))
    target = torch.tensor([label + [-100] * (longest - len(label)) for label in labels])
    ids, mask = pad_rows(rows)
    optimizer = torch.optim.Adam(t5.model.parameters(), lr=0.01)
    for _ in range(60):
        loss = t5.model(input_ids=ids, attention_mask=mask, labels=target).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return t5


def test_rows_of_like_length_share_batches_within_the_bound() -> None:
    lengths = [5, 9, 2, 9, 30, 1]
    batches = list(length_batches(lengths, 20))
    assert batches == [[4], [1, 3], [0, 2, 5]]
    assert list(length_batches([], 20)) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t5") / "model"
    save_t5(shared_t5("recaller"), path)
    return path


def test_a_saved_model_reads_as_before(folder: Path) -> None:
    loaded = load_t5(str(folder), "recaller", HERE)
    own = shared_t5("recaller")
    row = recaller_row(own, QUESTIONS[0], PASSAGES[0])
    assert loaded.row(question="a", title="b", context="c") == own.row(question="a", title="b", context="c")
    assert write(loaded, [row])[0].ids == write(own, [row])[0].ids
    assert loaded.card == own.card
    assert len(loaded.fingerprint) == 64
    assert not list(folder.glob("*.bin"))


def test_an_untied_lm_head_is_saved_and_read(tmp_path: Path) -> None:
    own = tiny_t5("recaller", tied=False, gated=True, factor=2.0)
    head, embeddings = own.model.lm_head.weight, own.model.shared.weight
    assert not torch.allclose(head, embeddings)
    save_t5(own, tmp_path)
    loaded = load_t5(str(tmp_path), "recaller", HERE)
    assert torch.equal(loaded.model.lm_head.weight, head)
    for part in (loaded.model.shared, loaded.model.encoder.embed_tokens, loaded.model.decoder.embed_tokens):
        assert torch.equal(part.weight, embeddings)
    assert not loaded.model.config.scale_decoder_outputs
    row = recaller_row(own, QUESTIONS[0], PASSAGES[0])
    assert write(loaded, [row]) == write(own, [row])


@pytest.mark.parametrize("texts", [(), TEXTS, ("It is rightly wronged.", "birthright")])
def test_the_label_words_are_tokens_of_a_tokenizer_made_in_code(texts: tuple[str, ...]) -> None:
    tokenizer = word_tokenizer(texts)
    unknown = tokenizer.token_to_id("<unk>")
    after = tokenizer.encode("Merin is", add_special_tokens=False).ids
    for label in VERIFIER.labels:
        (token,) = tokenizer.encode(label, add_special_tokens=False).ids
        assert token != unknown
        assert tokenizer.encode(f"Merin is {label}", add_special_tokens=False).ids == [*after, token]


def test_a_t5_without_a_card_is_taken_for_the_papers(folder: Path, tmp_path: Path) -> None:
    bare = copied(folder, tmp_path)
    (bare / "rtv.json").unlink()
    assert load_t5(str(bare), "verifier", HERE).card == CARDS["verifier"]
    assert load_t5(str(bare), "recaller", HERE).card == CARDS["recaller"]


def copied(folder: Path, tmp_path: Path) -> Path:
    other = tmp_path / "copy"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    return other


def test_a_tokenizer_that_cannot_be_read_says_what_reads_one(folder: Path, tmp_path: Path) -> None:
    bare = copied(folder, tmp_path)
    (bare / "tokenizer.json").rename(bare / "spiece.model")
    with pytest.raises(MismatchError, match=r"spiece.model .* `pip install sentencepiece protobuf`"):
        load_t5(str(bare), "recaller", HERE)


def test_a_model_of_the_other_stage_is_refused(folder: Path) -> None:
    with pytest.raises(MismatchError, match="was trained as a recaller, not as a verifier"):
        load_t5(str(folder), "verifier", HERE)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rtv.json", lambda plain: plain | {"mood": "good"}, "is not a T5's card of this version"),
        (
            "rtv.json",
            lambda plain: plain | {"template": "question: {question}"},
            "its template has the fields",
        ),
        ("rtv.json", lambda plain: plain | {"separator": "<sep>"}, "does not know the separator '<sep>'"),
        ("config.json", lambda plain: plain | {"model_type": "bart"}, "a model of type 'bart'"),
        ("config.json", lambda plain: plain | {"vocab_size": 40}, "can't be read|has .* tokens"),
    ],
)
def test_a_folder_whose_parts_do_not_fit_is_refused(
    folder: Path, tmp_path: Path, name: str, change, message: str
) -> None:
    other = copied(folder, tmp_path)
    plain = json.loads((other / name).read_text())
    (other / name).write_text(json.dumps(change(plain)))
    with pytest.raises(MismatchError, match=message):
        load_t5(str(other), "recaller", HERE)


def test_pickled_weights_are_never_read(folder: Path, tmp_path: Path) -> None:
    other = copied(folder, tmp_path)
    (other / "model.safetensors").rename(other / "pytorch_model.bin")
    with pytest.raises(MissingError, match=r"no weights \(\*.safetensors\)"):
        load_t5(str(other), "recaller", HERE)


def test_a_model_that_is_nowhere_is_missing_and_the_hub_is_not_asked() -> None:
    with pytest.raises(MissingError, match=r"which t5.local_files_only says not to ask"):
        find_t5("nobody/no-such-t5", local_files_only=True)
    with pytest.raises(MissingError, match="The profile names no T5"):
        load_t5("", "recaller", HERE)


def test_the_profile_has_the_papers_values() -> None:
    settings = load_settings("t5", ["t5.recaller=a", "t5.verifier=b"])
    assert (settings.verifier.tau, settings.verifier.k, settings.retriever.passages) == (0.5, 10, 100)
    assert (settings.t5.recaller, settings.t5.verifier) == ("a", "b")
    for override, message in (
        ("t5.device=gpu", "t5.device is 'gpu'"),
        ("t5.dtype=int8", "t5.dtype is 'int8'"),
        ("t5.batch_tokens=0", "t5.batch_tokens is 0"),
    ):
        with pytest.raises(SettingError, match=message):
            load_settings("t5", [override])


def test_the_profile_answers_with_the_models_that_it_names(folder: Path, tmp_path: Path) -> None:
    save_t5(tiny_t5("verifier", seed=1), tmp_path / "verifier")
    encoder, corpus = WordEncoder(), tmp_path / "corpus.jsonl"
    corpus.write_text("".join(to_json(passage) + "\n" for passage in PASSAGES), encoding="utf-8")
    build_index(corpus, tmp_path / "index", encoder)
    retriever = HybridRetriever(open_index(tmp_path / "index", encoder.fingerprint), encoder)
    models = Models(retriever, None, None, "")
    names = [f"t5.recaller={folder}", f"t5.verifier={tmp_path / 'verifier'}", "t5.device=cpu"]
    pipeline = models.pipeline(load_settings("t5", names))
    trace = pipeline.ask(QUESTIONS[0])
    assert trace.complete
    assert len(trace.readings) == len(PASSAGES)
    assert len(trace.verdicts) == len(trace.candidates)
    assert models.pipeline(load_settings("t5", names)).recaller is pipeline.recaller, "loaded once"
    loaded = load_t5(str(folder), "recaller", HERE)
    assert trace.provenance["recaller_sha256"] == loaded.fingerprint
    assert trace.provenance["verifier_sha256"] != loaded.fingerprint
    with pytest.raises(MissingError, match="The profile names no T5"):
        models.pipeline(load_settings("t5"))
