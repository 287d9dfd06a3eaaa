import json
import logging
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from encoders import WordEncoder

from rtv_core.errors import InputError, MismatchError, MissingError
from rtv_core.records import Passage
from rtv_core.retrieval.index import build_index, open_index
from rtv_core.retrieval.lexical import LexicalIndex
from rtv_core.retrieval.lock import alone
from rtv_core.retrieval.manifest import FileStamp, file_sha256
from rtv_core.retrieval.passages import PassageFile, write_passages

WORDS = ("river", "moon", "opera", "bridge", "comet", "violin", "desert", "harbour", "glacier", "castle")


def corpus_of(passages: int, path: Path) -> Path:
    rows = (
        {
            "id": f"p{i}",
            "title": f"Title {i}",
            "text": f"The {WORDS[i % 10]} number {i} by the {WORDS[i // 10 % 10]}.",
        }
        for i in range(passages)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    corpus = corpus_of(30, folder / "corpus.jsonl")
    with corpus.open("a", encoding="utf-8") as file:
        file.write('{"id": "again", "title": "Title 0", "text": "The river number 0 by the river."}\n{\n')
    build_index(corpus, folder / "index", WordEncoder())
    return folder / "index"


@pytest.fixture
def copied(built, tmp_path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "index"))


class Stopping(WordEncoder):
    """Fails once it has encoded so many texts, as if someone had stopped the build."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def encode(self, texts):
        if len(self.texts) + len(texts) > self.after:
            raise KeyboardInterrupt
        return super().encode(texts)


# A whole index


def test_an_index_holds_every_passage_its_vector_and_its_row(built):
    index = open_index(built, WordEncoder.fingerprint)
    assert len(index) == 30
    assert index.passages[3] == Passage("p3", "Title 3", "The bridge number 3 by the river.")
    assert [index.row(p.id) for p in index.passages] == list(range(30))
    assert (index.vectors.shape, index.vectors.dtype) == ((30, 64), np.float16)
    expected = WordEncoder().encode(["Title 7. The harbour number 7 by the river."])[0]
    assert float(index.vectors[7].astype(np.float32) @ expected) == pytest.approx(1, abs=1e-3)


def test_the_manifest_says_what_the_index_was_made_of(built):
    manifest = open_index(built).manifest
    assert (manifest.corpus, manifest.passages, manifest.repeats, manifest.bad_lines) == (
        "corpus.jsonl",
        30,
        1,
        1,
    )
    assert manifest.corpus_sha256 == file_sha256(built.parent / "corpus.jsonl")
    assert (manifest.encoder, manifest.encoder_fingerprint, manifest.dimension) == ("words", "0" * 64, 64)
    assert {"rtv", "bm25s", "numpy"} <= set(manifest.versions)
    files = {str(path.relative_to(built)) for path in built.rglob("*") if path.is_file()}
    assert {stamp.path for stamp in manifest.files} == files - {"manifest.json"}


def test_nothing_is_left_beside_a_finished_index(built):
    assert sorted(path.name for path in built.parent.iterdir()) == ["corpus.jsonl", "index"]


def test_an_id_that_is_not_there_is_a_key_error(built):
    with pytest.raises(KeyError):
        open_index(built).row("p30")


def test_an_id_whose_hash_another_passage_shares_is_still_found(tmp_path):
    write_passages([Passage("a", "", "1"), Passage("b", "", "2")], tmp_path)
    table = np.load(tmp_path / "ids.npy")
    table["hash"] = table["hash"][table["row"] == 0]
    for rows in ([0, 1], [1, 0]):
        table["row"] = rows
        np.save(tmp_path / "ids.npy", table)
        assert PassageFile(tmp_path).row("a") == 0
    table["row"] = 1
    np.save(tmp_path / "ids.npy", table)
    with pytest.raises(KeyError):
        PassageFile(tmp_path).row("a")


def test_odd_characters_come_back_as_they_were(tmp_path):
    passage = Passage("ı\u2028x", 'Q"uote\\', "tab\there\nline \u0000 🙂 e\u0301 ${7*7} </script>")
    write_passages([passage, passage], tmp_path)
    assert list(PassageFile(tmp_path)) == [passage, passage]


def test_building_twice_gives_the_same_bytes(built, tmp_path):
    manifest = build_index(built.parent / "corpus.jsonl", tmp_path / "again", WordEncoder())
    assert manifest.files == open_index(built).manifest.files


# Whole or absent, and resumed


def test_progress_counts_up_to_the_number_of_passages(tmp_path):
    corpus, reports = corpus_of(90, tmp_path / "c.jsonl"), []
    build_index(corpus, tmp_path / "i", WordEncoder(), lambda *report: reports.append(report), shard=40)
    assert reports == [(0, 90), (40, 90), (80, 90), (90, 90)]


def test_a_stopped_build_is_absent_and_goes_on_after_its_last_whole_shard(tmp_path):
    corpus, out, reports = corpus_of(300, tmp_path / "c.jsonl"), tmp_path / "i", []
    with pytest.raises(KeyboardInterrupt):
        build_index(corpus, out, Stopping(after=110), shard=40)
    assert not out.exists()
    with pytest.raises(MissingError, match=r"unfinished\. Run the same command again"):
        open_index(out)
    encoder = WordEncoder()
    build_index(corpus, out, encoder, lambda *report: reports.append(report), shard=40)
    assert reports[0] == (80, 300)
    assert len(encoder.texts) == 220
    whole = build_index(corpus, tmp_path / "whole", WordEncoder())
    assert open_index(out).manifest.files == whole.files


def test_a_shard_that_was_cut_off_is_made_again(tmp_path):
    corpus, out = corpus_of(120, tmp_path / "c.jsonl"), tmp_path / "i"
    with pytest.raises(KeyboardInterrupt):
        build_index(corpus, out, Stopping(after=80), shard=40)
    shard = tmp_path / "i.partial" / "shards" / "0000000000.npy"
    shard.write_bytes(shard.read_bytes()[:-100])
    encoder = WordEncoder()
    build_index(corpus, out, encoder, shard=40)
    assert len(encoder.texts) == 80
    assert open_index(out).vectors.shape == (120, 64)


@pytest.mark.parametrize("change", ["corpus", "encoder"])
def test_a_build_starts_over_and_says_so_when_its_corpus_or_encoder_changed(tmp_path, caplog, change):
    corpus, out = corpus_of(120, tmp_path / "c.jsonl"), tmp_path / "i"
    with pytest.raises(KeyboardInterrupt):
        build_index(corpus, out, Stopping(after=80), shard=40)
    encoder = WordEncoder(fingerprint="1" * 64 if change == "encoder" else "0" * 64)
    corpus_of(121 if change == "corpus" else 120, corpus)
    with caplog.at_level(logging.WARNING):
        build_index(corpus, out, encoder, shard=40)
    assert f"Starting over: the {change} changed" in caplog.text
    assert len(encoder.texts) == len(open_index(out, encoder.fingerprint))


def test_an_existing_index_stays_unless_it_may_be_overwritten(copied, tmp_path):
    corpus, encoder = corpus_of(5, tmp_path / "c.jsonl"), WordEncoder()
    with pytest.raises(InputError, match=r"exists.*--overwrite"):
        build_index(corpus, copied, encoder)
    assert (len(open_index(copied)), encoder.texts) == (30, [])
    shutil.copytree(copied, tmp_path / "index.former")  # as if an earlier build had died in its last step
    build_index(corpus, copied, encoder, overwrite=True)
    assert len(open_index(copied)) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "index"]


@pytest.mark.parametrize("name", ["mine", "index.partial"])
def test_a_folder_that_is_no_index_is_never_overwritten(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_text("dear", encoding="utf-8")
    out = tmp_path / name.removesuffix(".partial")
    with pytest.raises(InputError, match="is no"):
        build_index(corpus_of(5, tmp_path / "c.jsonl"), out, WordEncoder(), overwrite=True)
    assert (tmp_path / name / "thesis.txt").read_text(encoding="utf-8") == "dear"


@pytest.mark.parametrize(("line", "message"), [("", "no passages"), ("{\n" * 3, "at most 2")])
def test_a_corpus_that_is_no_good_leaves_nothing_behind(tmp_path, line, message):
    (tmp_path / "c.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        build_index(tmp_path / "c.jsonl", tmp_path / "i", WordEncoder(), bad_line_limit=2)
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


def test_an_absent_corpus_leaves_nothing_behind(tmp_path):
    with pytest.raises(MissingError, match="no corpus file"):
        build_index(tmp_path / "none.jsonl", tmp_path / "i", WordEncoder())
    assert list(tmp_path.iterdir()) == []


# One at a time


class Looking(WordEncoder):
    """Runs something while it encodes."""

    def __init__(self, look) -> None:
        super().__init__()
        self.look = look

    def encode(self, texts):
        self.look()
        return super().encode(texts)


def test_a_second_build_of_the_same_index_is_refused_and_does_not_disturb_the_first(tmp_path):
    corpus, out, refused = corpus_of(20, tmp_path / "c.jsonl"), tmp_path / "i", []

    def again() -> None:
        with pytest.raises(InputError, match="is being built already") as error:
            build_index(corpus, out, WordEncoder(), overwrite=True)
        refused.append(error)

    build_index(corpus, out, Looking(again))
    assert refused
    assert len(open_index(out)) == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "i"]


def test_another_process_is_refused_until_the_one_that_builds_is_killed(tmp_path):
    corpus, out = corpus_of(5, tmp_path / "c.jsonl"), tmp_path / "i"
    code = (
        "import sys, time; from pathlib import Path; from rtv_core.retrieval.lock import alone\n"
        "with alone(Path(sys.argv[1]), 'busy'):\n    print('held', flush=True); time.sleep(600)"
    )
    held = [sys.executable, "-c", code, str(tmp_path / "i.lock")]
    with subprocess.Popen(held, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="is being built already"):
            build_index(corpus, out, WordEncoder())
        holder.kill()
        holder.wait()
    build_index(corpus, out, WordEncoder())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "i"]


def test_of_many_who_want_a_lock_one_has_it_at_any_time(tmp_path):
    inside, most, entered = [], [], []

    def try_often() -> None:
        for _ in range(200):
            with suppress(InputError), alone(tmp_path / "lock", "busy"):
                inside.append(1)
                most.append(len(inside))
                entered.append(1)
                inside.pop()

    threads = [threading.Thread(target=try_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


# Damage


def test_an_absent_index_is_said_with_the_next_command(tmp_path):
    with pytest.raises(MissingError, match=r"python -m rtv_core index --corpus PATH --out .*none"):
        open_index(tmp_path / "none")


def test_an_index_of_another_encoder_is_refused(built):
    with pytest.raises(
        MismatchError, match=r"encoder words \(000000000000\); the one in use is 111111111111"
    ):
        open_index(built, "1" * 64)


@pytest.mark.parametrize(
    "name", ["vectors.npy", "passages.jsonl", "offsets.npy", "ids.npy", "lexical/data.csc.index.npy"]
)
def test_a_file_cut_off_changed_or_absent_is_refused_with_the_next_command(copied, name):
    path = copied / name
    whole = path.read_bytes()
    command = r"python -m rtv_core index --corpus corpus\.jsonl --out "
    path.write_bytes(whole[:-1])
    with pytest.raises(MismatchError, match=rf"{name} .* bytes instead of .*{command}"):
        open_index(copied)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(MismatchError, match=rf"{name} .* has changed.*{command}"):
        open_index(copied)
    path.unlink()
    with pytest.raises(MissingError, match=rf"lacks its file {name}.*{command}"):
        open_index(copied)


def restamp(folder: Path, **changes) -> None:
    """Make the manifest agree with the files as they are now."""
    plain = json.loads((folder / "manifest.json").read_text(encoding="utf-8")) | changes
    for stamp in plain["files"]:
        path = folder / stamp["path"]
        stamp |= {"size": path.stat().st_size, "sha256": file_sha256(path)}
    (folder / "manifest.json").write_text(json.dumps(plain), encoding="utf-8")


@pytest.mark.parametrize("shape", [(30, 63), (29, 64), (30 * 64,)])
def test_vectors_of_the_wrong_shape_are_refused(copied, shape):
    np.save(copied / "vectors.npy", np.zeros(shape, np.float16))
    restamp(copied)
    with pytest.raises(MismatchError, match=r"its manifest says \(30, 64\)"):
        open_index(copied)


def test_a_pickle_in_place_of_the_vectors_is_never_loaded(copied):
    np.save(copied / "vectors.npy", np.array([print], dtype=object), allow_pickle=True)
    restamp(copied)
    with pytest.raises(MismatchError, match="can't be read"):
        open_index(copied)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": 1, "colour": "red"}'])
def test_a_damaged_manifest_is_refused(copied, text):
    (copied / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(MismatchError, match=r"manifest\.json can't be read.*Build it again"):
        open_index(copied)


def test_a_later_format_is_refused(copied):
    restamp(copied, format=2)
    with pytest.raises(MismatchError, match="has format 2; this version reads 1"):
        open_index(copied)


def test_a_file_the_manifest_does_not_stamp_is_refused(copied):
    plain = json.loads((copied / "manifest.json").read_text(encoding="utf-8"))
    plain["files"] = [stamp for stamp in plain["files"] if stamp["path"] != "vectors.npy"]
    (copied / "manifest.json").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(MismatchError, match=r"does not vouch for vectors\.npy"):
        open_index(copied)


def test_a_stamp_knows_size_and_hash(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert FileStamp("f", 3, file_sha256(tmp_path / "f")) == FileStamp("f", 3, expected)


# Words


def test_a_corpus_without_any_word_still_has_an_index(tmp_path):
    (tmp_path / "c.jsonl").write_text('{"id": "x", "text": "the of !"}\n', encoding="utf-8")
    build_index(tmp_path / "c.jsonl", tmp_path / "i", WordEncoder())
    lexical = LexicalIndex(open_index(tmp_path / "i").lexical_folder)
    assert lexical.scores("the moon").tolist() == [0]
