"""The command line: one plain line for what a person can mend, and what each command leaves behind."""

from __future__ import annotations

import csv
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pytest
from click.testing import CliRunner
from encoders import WordEncoder, save_tiny_encoder

from rtv_core.cli import main
from rtv_core.cli.judgements import _write
from rtv_core.cli.options import with_settings
from rtv_core.errors import InputError, MismatchError
from rtv_core.factory import MODELS, _encoder
from rtv_core.reading.weights import read_card, weights_sha256
from rtv_core.records import EVIDENCE_SIZES, Judgement, Question, Trace
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.retrieval.manifest import read_manifest
from rtv_core.settings import load_settings
from rtv_core.store.export import COLUMNS
from rtv_core.store.judgements import JudgementStore

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "When did You Don't Know Jack come out?"
RECORDS = (
    {"id": "1", "title": "Jack", "text": "The first game came out in 1995."},
    {"_id": "2", "title": "Jack", "contents": "The film came out in 2010."},
    {"id": "3", "title": "Jack", "text": "The first game came out in 1995."},
    {"id": 4, "title": "", "text": "A moon is a natural satellite."},
)
"""Three passages and a repeat."""


class Ended(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("rtv_core").level

    def run(*arguments: object) -> Ended:
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            logging.getLogger("rtv_core").setLevel(level)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ["jack", "the", "first", "game", "film", "came", "out", "in", "1995", "2010", "moon"]
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"), words)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = [json.dumps(record) for record in RECORDS] + ["{broken"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def complaint(ended: Ended) -> str:
    """What a failed command says: the last line on stderr, and nothing on stdout."""
    assert ended.code == 1
    assert not ended.out
    assert ended.err.endswith("\n")
    last = ended.err.splitlines()[-1]
    assert last.startswith("Error: ")
    return last


# Bad input

BAD = (
    (["ask", ""], "question is empty"),
    (["ask", " \t\n"], "question is empty"),
    (["ask", "?!"], "question is empty"),
    (["ask", "x" * 10_000], "10,000 characters; the most is 1,000"),
    (["ask", QUESTION, "--index", "nowhere"], "no index in nowhere. Build one: `python -m rtv_core index"),
    (["ask", QUESTION, "--set", "retriever.pasages=3"], "Did you mean 'retriever.passages'?"),
    (["ask", QUESTION, "--set", "tau=0.5"], "Did you mean 'verifier.tau'?"),
    (["ask", QUESTION, "--set", "verifier.tau"], "Write it as part.name=value"),
    (["ask", QUESTION, "--set", "verifier.tau=high"], "'high'; it must be a float"),
    (["ask", QUESTION, "--set", "verifier.tau=2"], "must lie between 0 and 1"),
    (["ask", QUESTION, "--set", "verifier.tau=nan"], "must lie between 0 and 1"),
    (["ask", QUESTION, "--set", "verifier.k=7"], "must be one of 1, 5, 10"),
    (["ask", QUESTION, "--profile", "t6"], "no profile 't6'"),
    (["serve", "--index", "nowhere"], "no index in nowhere"),
    (["serve", "--set", "verifier.tua=0.5"], "Did you mean 'verifier.tau'?"),
    (["judgements", "export"], "no judgements in rtv.db. Name the file by --store"),
)


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_gets_one_plain_line(arguments: Sequence[str], said: str, run: Run) -> None:
    ended = run(*arguments)
    assert said in complaint(ended)
    assert ended.err.count("\n") == 1


def test_bad_input_is_refused_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    asked = [arguments for arguments, _ in BAD if arguments[0] == "ask"]
    code = f"""
import sys
from rtv_core.cli import main
from rtv_core.cli.options import with_settings
for arguments in {asked!r}:
    try:
        main(arguments)
    except SystemExit as stop:
        assert stop.code == 1, arguments
    else:
        raise AssertionError(arguments)
print(sorted({{"torch", "transformers", "sentence_transformers", "faiss", "gradio"}} & set(sys.modules)))
"""
    ended = in_a_process(tmp_path, "-c", code)
    assert (ended.code, ended.out) == (0, "[]\n")
    assert [line[:7] for line in ended.err.splitlines()] == ["Error: "] * len(asked)


def in_a_process(folder: Path, *arguments: str) -> Ended:
    """A fresh interpreter with its own cache folder."""
    own = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=os.environ | own, capture_output=True, text=True
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_a_wrong_option_gets_the_usage_and_status_2(run: Run) -> None:
    ended = run("ask", QUESTION, "--jsn")
    assert ended.code == 2
    assert "Usage: rtv_core ask" in ended.err
    assert "--json" in ended.err


def test_app_py_is_serve(tmp_path: Path) -> None:
    app = in_a_process(tmp_path, str(ROOT / "app.py"), "--help")
    serve = in_a_process(tmp_path, "-m", "rtv_core", "serve", "--help")
    assert app == serve
    assert serve.code == 0
    assert "--port" in serve.out


def test_serve_refuses_an_address_that_others_can_reach(tmp_path: Path) -> None:
    ended = in_a_process(tmp_path, "-m", "rtv_core", "serve", "--host", "0.0.0.0")
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("Error: The address '0.0.0.0' can be reached")


# Index


def test_an_index_says_what_it_kept_and_what_it_left_out(
    run: Run, corpus: Path, encoder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ended = run("index", "--corpus", corpus, "--out", "made", "--encoder", encoder)
    assert ended.code == 0
    assert ended.out == "made: 3 passages; 1 exact repeats dropped, 1 bad lines or files skipped.\n"
    assert "corpus.jsonl, line 5: not JSON" in caplog.text
    opened = open_index(Path("made"), SentenceEncoder(str(encoder)).fingerprint)
    assert [opened.passages[row].id for row in range(3)] == ["1", "2", "4"]


def test_an_index_is_replaced_only_when_asked_to(run: Run, corpus: Path, encoder: Path) -> None:
    command = ("index", "--corpus", corpus, "--out", "made", "--encoder", encoder)
    run(*command)
    corpus.write_text(json.dumps(RECORDS[0]) + "\n", encoding="utf-8")
    assert "exists. Name another folder with --out, or add --overwrite." in complaint(run(*command))
    assert read_manifest(Path("made")).passages == 3
    assert run(*command, "--overwrite").out.startswith("made: 1 passages; 0 exact repeats")
    assert read_manifest(Path("made")).passages == 1


class Interrupted(SentenceEncoder):
    """An encoder that is stopped by Ctrl-C before its first batch."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        raise KeyboardInterrupt


def test_an_interrupted_index_is_said_to_be_unfinished_and_goes_on(
    run: Run, corpus: Path, encoder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_index(corpus, Path("made"), Interrupted(str(encoder)))
    assert "is unfinished. Run the same command again" in complaint(run("ask", QUESTION, "--index", "made"))
    ended = run("index", "--corpus", corpus, "--out", "made", "--encoder", encoder)
    assert ended.out == "made: 3 passages; 1 exact repeats dropped, 1 bad lines or files skipped.\n"
    assert "Going on with the unfinished index" in caplog.text
    assert not Path("made.partial").exists()


def test_documents_and_a_table_become_one_index(run: Run, encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "jack.md").write_text("# Jack\n\nThe first game.\n", encoding="utf-8")
    (tmp_path / "notes" / "scan.pdf").write_bytes(b"%PDF-")
    (tmp_path / "rows.csv").write_text("Nr,Body\n7,A moon.\n", encoding="utf-8")
    command = ["index", "--corpus", "notes", "--corpus", "rows.csv", "--columns", "id=Nr,text=Body"]
    ended = run(*command, "--out", "made", "--encoder", encoder)
    assert ended.out == "made: 2 passages; 0 exact repeats dropped, 1 bad lines or files skipped.\n"
    assert [passage.id for passage in open_index(Path("made")).passages] == ["notes/jack.md#1", "rows.csv#7"]
    assert read_manifest(Path("made")).corpus == "notes and 1 more"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--corpus", "absent.jsonl"], "no corpus file 'absent.jsonl'"),
        (["--corpus", "corpus.csv"], "corpus.csv holds no passages"),
        (["--corpus", "corpus.jsonl", "--bad-lines", "0"], "at most 0 are skipped"),
        (["--corpus", "corpus.csv", "--columns", "body"], "'body' names no column"),
        (["--corpus", "corpus.jsonl", "--columns", "text=body"], "corpus.jsonl is no table"),
        (["--corpus", "corpus.jsonl", "--corpus", "corpus.csv"], "corpus.jsonl is of no form"),
        (["--corpus", "."], "corpus.csv: no column known as the text"),
        (["--corpus", "corpus.jsonl", "--encoder", "./absent"], "no model folder './absent'"),
    ],
)
def test_a_corpus_or_encoder_that_can_not_be_used_leaves_nothing(
    options: list[str], said: str, run: Run, corpus: Path, encoder: Path
) -> None:
    corpus.with_suffix(".csv").write_text("id,value\n", encoding="utf-8")
    encoders = [] if "--encoder" in options else ["--encoder", encoder]
    assert said in complaint(run("index", "--out", "made", *options, *encoders))
    assert not list(Path().glob("made*"))


def test_an_index_finds_its_encoder_from_any_folder(
    run: Run, corpus: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(encoder, "own")
    assert run("index", "--corpus", corpus, "--encoder", "own", "--out", "made").code == 0
    made = (tmp_path / "made").resolve()
    monkeypatch.chdir("/")
    assert _encoder(made).fingerprint == read_manifest(made).encoder_fingerprint


def test_an_index_asks_the_hub_for_nothing_and_names_its_encoder(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked = []

    def snapshot_download(name: str, **options: object) -> str:
        asked.append(options.get("local_files_only"))
        raise OSError("not there")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    there = WordEncoder(fingerprint="f" * 64)
    there.name = "somebody/encoder"
    build_index(corpus, tmp_path / "made", there)
    own = _encoder(tmp_path / "made")
    assert asked == [True]
    with pytest.raises(MismatchError, match=r"--encoder somebody/encoder --overwrite"):
        open_index(tmp_path / "made", own.fingerprint)


def test_a_corpus_with_a_name_that_is_no_utf8_is_indexed(corpus: Path, tmp_path: Path) -> None:
    odd = corpus.rename(corpus.with_name(os.fsdecode(b"caf\xe9.jsonl")))
    made = build_index(odd, tmp_path / "made", WordEncoder())
    assert made.passages == 3
    assert read_manifest(tmp_path / "made").corpus.encode("utf-8").startswith(b"caf")


def test_the_folder_that_one_is_in_can_be_named(run: Run, corpus: Path, encoder: Path) -> None:
    Path("empty").mkdir()
    os.chdir("empty")
    assert "no index in ." in complaint(run("ask", QUESTION, "--index", "."))
    assert "no index in /" in complaint(run("ask", QUESTION, "--index", "/"))
    assert "exists and is no index" in complaint(
        run("index", "--corpus", corpus, "--out", ".", "--encoder", encoder)
    )


def test_a_path_that_cannot_be_used_is_one_plain_line(
    run: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtv_core.factory.load_models", lambda *given: (corpus / "below").mkdir())
    assert "can't be used: Not a directory." in complaint(run("ask", QUESTION))


@pytest.fixture
def foreign_index(corpus: Path, tmp_path: Path) -> Path:
    """An index of another encoder than the default one."""
    build_index(corpus, tmp_path / "foreign", WordEncoder(fingerprint="f" * 64))
    return tmp_path / "foreign"


def test_training_on_an_index_of_another_encoder_is_refused(run: Run, foreign_index: Path) -> None:
    Path("sets").mkdir()
    ended = run("train", "recaller", "--data", "sets", "--index", foreign_index, "--out", "trained")
    said = complaint(ended)
    assert "was built with the encoder words (ffffffffffff)" in said
    assert "Build it again: `python -m rtv_core index" in said


@pytest.mark.slow
@pytest.mark.skipif(not MODELS.is_dir(), reason="the trained reader is not there")
def test_asking_an_index_of_another_encoder_is_refused(run: Run, foreign_index: Path) -> None:
    ended = run("ask", QUESTION, "--index", foreign_index)
    assert "was built with the encoder words (ffffffffffff)" in complaint(ended)


# Train


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["recaller"], "no folder 'absent'. Name the one with the training sets by --data"),
        (["verifier", "--from", "unread"], "in unread"),
    ],
)
def test_training_without_what_it_needs_says_what_is_missing(
    command: list[str], said: str, run: Run, foreign_index: Path
) -> None:
    ended = run("train", *command, "--data", "absent", "--index", foreign_index, "--out", "trained")
    assert said in complaint(ended)
    assert not Path("trained").exists()


MOONS = (
    {
        "id": "1",
        "title": "Moons of Mars",
        "text": "Mars has two moons, Phobos and Deimos, found in 1877 by Hall.",
    },
    {
        "id": "2",
        "title": "Uganda",
        "text": "Uganda is in East Africa. Its capital, Kampala, lies by Lake Victoria.",
    },
    {"id": "3", "title": "Hamlet", "text": "Hamlet is a tragedy by William Shakespeare, set in Denmark."},
)
ASKED = (
    {"id": "1", "question": "what are the moons of mars", "answers": [["Phobos"], ["Deimos"]]},
    {"id": "2", "question": "what is the capital of uganda", "answers": [["Kampala"]]},
    {"id": "3", "question": "who wrote hamlet", "answers": [["William Shakespeare", "Shakespeare"]]},
)


@pytest.mark.slow
@pytest.mark.skipif(not MODELS.is_dir(), reason="the trained reader is not there")
def test_calibrating_changes_the_card_alone_and_only_if_something_can_be_fitted(run: Run) -> None:
    shutil.copytree(MODELS, "models")
    Path("moons.jsonl").write_text("".join(json.dumps(record) + "\n" for record in MOONS))
    build_index(Path("moons.jsonl"), Path("moons"), SentenceEncoder())
    before, weights = read_card(Path("models")), weights_sha256(Path("models"))
    command = ("train", "calibrate", "--models", "models", "--index", "moons", "--questions", "asked.jsonl")

    Path("asked.jsonl").write_text(json.dumps(ASKED[0] | {"answers": [["Zanzibar"]]}) + "\n")
    failed = run(*command)
    assert (failed.code, failed.out) == (1, "")
    assert "candidates 0 are right: a calibration needs right and wrong ones" in failed.err
    assert "Traceback" not in failed.err
    assert read_card(Path("models")) == before

    unknown = {"id": "4", "question": "who is it"}  # without gold it is left out
    Path("asked.jsonl").write_text("".join(json.dumps(record) + "\n" for record in (*ASKED, unknown)))
    ended = run(*command)
    card = read_card(Path("models"))
    facts = card.training["calibration"]
    assert ended.out == (
        f"tau {card.tau:.2f}: F1 {100 * facts['f1']:.1f} on the 3 questions it was chosen on. "
        f"Without the passages that answer them {100 * facts['silent']:.0f} % stay unanswered.\n"
    )
    assert (facts["tau"], facts["questions"]) == (card.tau, 3)
    assert [len(row) for row in card.calibration] == [len(before.calibration[0])] * len(EVIDENCE_SIZES)
    assert card.calibration != before.calibration
    kept = {"calibration": before.calibration, "tau": before.tau, "training": before.training}
    assert replace(card, **kept) == before
    assert weights_sha256(Path("models")) == weights


# Judgements


@pytest.fixture
def store(tmp_path: Path) -> JudgementStore:
    """A store with two judgements in the default place."""
    store = JudgementStore(tmp_path / "rtv.db")
    trace = store.save_trace(Trace(Question("q", QUESTION), provenance={"corpus": "demo"}))
    typed = Judgement(trace, QUESTION, "1995", "listed", "Ann", gold="1995", recalled=False)
    store.judge(typed, "one")
    store.judge(replace(typed, answer="=2010", label="invalid", gold="", note="two\nlines, “so”"), "two")
    return store


@pytest.mark.usefixtures("store")
def test_judgements_are_printed_as_json_lines(run: Run) -> None:
    ended = run("judgements", "export")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["answer"], row["label"]) for row in rows] == [("1995", "listed"), ("=2010", "invalid")]
    assert {row["provenance"]["corpus"] for row in rows} == {"demo"}
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.usefixtures("store")
def test_judgements_are_written_to_a_csv_file_and_counted(run: Run) -> None:
    ended = run("judgements", "export", "--format", "csv", "--out", "out.csv")
    assert ended == Ended(0, "out.csv: 2 judgements.\n", "")
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["answer"] for row in rows] == ["1995", "'=2010"]
    assert rows[1]["note"] == "two\nlines, “so”"


@pytest.mark.usefixtures("store")
def test_the_file_and_the_terminal_get_the_same(run: Run) -> None:
    for form in ("jsonl", "csv"):
        printed = run("judgements", "export", "--format", form).out
        run("judgements", "export", "--format", form, "--out", "file")
        assert Path("file").read_bytes().decode() == printed


def test_an_empty_store_exports_nothing(run: Run, tmp_path: Path) -> None:
    JudgementStore(tmp_path / "other.db")
    ended = run("judgements", "export", "--store", "other.db", "--out", "out.jsonl")
    assert ended == Ended(0, "out.jsonl: 0 judgements.\n", "")


def test_a_file_that_is_no_store_is_refused(run: Run) -> None:
    Path("notes.txt").write_text("not a database " * 100, encoding="utf-8")
    assert "notes.txt" in complaint(run("judgements", "export", "--store", "notes.txt"))


def test_evidence_is_a_short_form_of_its_setting_which_wins_where_both_are_given() -> None:
    @click.command()
    @with_settings
    def shown(index: Path | None, profile: str, overrides: tuple[str, ...]) -> None:
        click.echo(load_settings(profile, overrides).evidence.source)

    def source(*arguments: str) -> str:
        return CliRunner().invoke(shown, arguments, catch_exceptions=False).output.strip()

    assert source() == "retrieved"
    assert source("--evidence", "fresh") == "fresh"
    assert source("--evidence", "fresh", "--set", "evidence.source=retrieved") == "retrieved"
    assert "'stale' is not one of" in source("--evidence", "stale")


def test_an_export_overwrites_no_database_and_keeps_the_last_if_it_fails(run: Run, tmp_path: Path) -> None:
    JudgementStore(tmp_path / "rtv.db").backup(tmp_path / "copy.db")
    before = Path("copy.db").read_bytes()
    assert "copy.db is a database" in complaint(run("judgements", "export", "--out", "copy.db"))
    assert Path("copy.db").read_bytes() == before

    def lines():
        yield "one\n"
        raise OSError(5, "broken")

    Path("kept.jsonl").write_text("whole\n", encoding="utf-8")
    with pytest.raises(InputError, match="broken"):
        _write(Path("kept.jsonl"), lines(), Path("rtv.db"))
    assert Path("kept.jsonl").read_text(encoding="utf-8") == "whole\n"
    assert not list(Path().glob("*.part"))
