import gzip
import json
import logging
from pathlib import Path

import pytest

from rtv_core.corpus.blocks import cut_blocks
from rtv_core.corpus.read import CorpusReport, read_passages
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Passage


def read(path: Path, **options) -> tuple[list[Passage], CorpusReport]:
    report = CorpusReport()
    return list(read_passages(path, report, **options)), report


def write_lines(path: Path, *rows: dict | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def sentence(words: int, mark: str = ".") -> str:
    return " ".join(["Word", *["word"] * (words - 1)]) + mark


# Forms


def test_dpr_rows_keep_tabs_quotes_and_column_order(tmp_path):
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(
        'id\ttext\ttitle\n1\t"He said ""no""\tand left."\tAaron\n2\tPlain text.\t"""Heroes"" (song)"\n',
        encoding="utf-8",
    )
    assert read(path)[0] == [
        Passage("1", "Aaron", 'He said "no"\tand left.'),
        Passage("2", '"Heroes" (song)', "Plain text."),
    ]


def test_a_gzipped_dpr_file_gives_the_same_passages(tmp_path):
    text = "id\ttext\ttitle\n1\tSome text.\tAaron\n"
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(text.encode()))
    assert (
        read(tmp_path / "a.tsv")[0] == read(tmp_path / "a.tsv.gz")[0] == [Passage("1", "Aaron", "Some text.")]
    )


def test_json_lines_take_either_name_for_id_and_text_and_need_no_title(tmp_path):
    path = write_lines(
        tmp_path / "a.jsonl",
        {"id": "x", "title": "T", "text": "One."},
        {"_id": 7, "contents": "Two."},
        {"id": "y", "title": None, "text": " Three. ", "source": "ignored"},
    )
    assert read(path)[0] == [Passage("x", "T", "One."), Passage("7", "", "Two."), Passage("y", "", "Three.")]


def test_a_byte_order_mark_and_blank_lines_are_no_trouble(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "x", "text": "One."}\n\n   \n{"id": "y", "text": "Two."}\r\n')
    passages, report = read(path)
    assert [p.id for p in passages] == ["x", "y"]
    assert report.bad_lines == 0


@pytest.mark.parametrize("name", ["a.csv", "a.gz", "a.parquet", "tsv"])
def test_an_unknown_form_is_refused_with_the_known_ones(tmp_path, name):
    (tmp_path / name).write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"Name it \.tsv, \.jsonl"):
        read_passages(tmp_path / name)


def test_an_absent_corpus_is_said_at_once(tmp_path):
    with pytest.raises(MissingError, match="no corpus file"):
        read_passages(tmp_path / "none.jsonl")


@pytest.mark.parametrize("header", ["", "name\tvalue", "id\ttitle", 'id\t"text'])
def test_a_table_without_the_right_header_is_refused(tmp_path, header):
    (tmp_path / "a.tsv").write_text(f"{header}\n1\ttext\ttitle\n", encoding="utf-8")
    with pytest.raises(InputError, match="first line"):
        read(tmp_path / "a.tsv")


@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: b"plain" + data])
def test_a_damaged_archive_is_refused(tmp_path, damage):
    lines = "".join(json.dumps({"id": str(i), "text": f"text {i}"}) + "\n" for i in range(50))
    (tmp_path / "a.jsonl.gz").write_bytes(damage(gzip.compress(lines.encode())))
    with pytest.raises(InputError, match="is damaged after line"):
        read(tmp_path / "a.jsonl.gz")


# Bad lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "a JSON list, not an object"),
        ('{"text": "no id"}', "no id"),
        ('{"id": "", "text": "t"}', "an empty id"),
        ('{"id": true, "text": "t"}', "a id that is a bool"),
        ('{"id": "x"}', "no text"),
        ('{"id": "x", "text": " "}', "an empty text"),
        ('{"id": "x", "text": ["t"]}', "a text that is a list"),
        ('{"id": "x", "title": 3, "text": "t"}', "a title that is a int"),
        ('{"id": "x", "text": "\\ud83d"}', "half a character"),
        ('{"id": "first", "text": "another text"}', "the id 'first' for the second time"),
    ],
)
def test_a_bad_line_is_skipped_counted_and_logged_with_number_and_reason(tmp_path, caplog, line, reason):
    path = write_lines(
        tmp_path / "a.jsonl", {"id": "first", "text": "t1"}, line, {"id": "last", "text": "t2"}
    )
    with caplog.at_level(logging.WARNING):
        passages, report = read(path)
    assert [p.id for p in passages] == ["first", "last"]
    assert (report.bad_lines, report.lines, report.passages) == (1, 3, 2)
    assert f"a.jsonl, line 2: {reason}" in report.reasons[0]
    assert f"a.jsonl, line 2: {reason}" in caplog.text


def test_a_stray_quote_or_missing_column_spoils_its_own_line_only(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('id\ttext\ttitle\n1\t"open\tA\n2\ttwo\n3\tthree\tC\n', encoding="utf-8")
    passages, report = read(path)
    assert passages == [Passage("3", "C", "three")]
    assert [
        "quotes that don't match" in report.reasons[0],
        "2 columns instead of 3" in report.reasons[1],
    ] == [
        True,
        True,
    ]


def test_bytes_that_are_no_utf8_spoil_their_own_line_only(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(
        b'{"id": "x", "text": "caf\xe9"}\n{"id": "y", "text": "caf\xc3\xa9"}\n'
    )
    passages, report = read(tmp_path / "a.jsonl")
    assert passages == [Passage("y", "", "café")]
    assert "not UTF-8 at byte 24" in report.reasons[0]


def test_bad_lines_up_to_the_limit_are_skipped_and_one_more_stops(tmp_path):
    good = {"id": "x", "text": "t"}
    assert read(write_lines(tmp_path / "a.jsonl", *["{"] * 3, good), bad_line_limit=3)[1].bad_lines == 3
    with pytest.raises(InputError, match=r"line 4: .*bad line 4; at most 3"):
        read(write_lines(tmp_path / "b.jsonl", *["{"] * 4, good), bad_line_limit=3)


# Repeats


def test_repeats_of_title_and_text_are_dropped_and_counted_whatever_their_id(tmp_path):
    path = write_lines(
        tmp_path / "a.jsonl",
        {"id": "x", "title": "T", "text": "Same."},
        {"id": "x", "title": "T", "text": "Same."},
        {"id": "y", "title": "T", "text": "Same. "},
        {"id": "z", "title": "Other", "text": "Same."},
        {"id": "u", "title": "TS", "text": "ame."},
    )
    passages, report = read(path)
    assert [p.id for p in passages] == ["x", "z", "u"]
    assert (report.repeats, report.bad_lines, report.records) == (2, 0, 3)


def test_a_block_that_another_record_holds_too_is_dropped(tmp_path):
    shared, own, other = sentence(100), sentence(99), sentence(98)
    path = write_lines(
        tmp_path / "a.jsonl", {"id": "a", "text": f"{shared} {own}"}, {"id": "b", "text": f"{shared} {other}"}
    )
    passages, report = read(path)
    assert [(p.id, p.text) for p in passages] == [("a-1", shared), ("a-2", own), ("b-2", other)]
    assert (report.repeats, report.cut, report.passages) == (1, 2, 3)


def test_ids_made_by_cutting_never_meet_another_record(tmp_path):
    long = f"{sentence(100)} {sentence(50)}"
    path = write_lines(
        tmp_path / "a.jsonl",
        {"id": "a", "text": long},
        {"id": "a-2", "text": "late"},
        {"id": "b-1", "text": "early"},
        {"id": "b", "text": f"{long} More."},
    )
    passages, report = read(path)
    assert [p.id for p in passages] == ["a-1", "a-2", "b-1"]
    assert ["'a-2'" in report.reasons[0], "'b-1'" in report.reasons[1]] == [True, True]


def test_a_table_takes_texts_of_any_length(tmp_path):
    path = tmp_path / "long.tsv"
    path.write_text(
        "id\ttext\ttitle\n1\t" + " ".join(f"w{i}" for i in range(30_000)) + "\tLong\n", encoding="utf-8"
    )
    passages, report = read(path)
    assert report.bad_lines == 0
    assert sum(len(p.text.split()) for p in passages) == 30_000


# Blocks


@pytest.mark.parametrize("words", [1, 100, 120])
def test_a_text_of_at_most_120_words_stays_whole(words):
    text = "  ".join(["word."] * words)
    assert cut_blocks(f"\n{text} ") == [text]


def test_a_long_text_is_cut_at_the_sentence_end_nearest_to_100_words():
    text = " ".join([sentence(85), sentence(12), sentence(13), sentence(60)])
    assert [len(block.split()) for block in cut_blocks(text)] == [97, 73]


def test_a_text_without_sentence_ends_is_cut_at_100_words():
    assert [len(block.split()) for block in cut_blocks(" ".join(["word"] * 250))] == [100, 100, 50]


def test_a_short_tail_joins_the_block_before():
    assert [len(block.split()) for block in cut_blocks(" ".join(["word"] * 229))] == [100, 129]
    assert [len(block.split()) for block in cut_blocks(" ".join(["word"] * 230))] == [100, 100, 30]
    assert [len(block.split()) for block in cut_blocks(" ".join(["word"] * 129))] == [129]


@pytest.mark.parametrize("end", ["Dr.", "J.", "U.S.", "vs.", "3.5", "etc. and"])
def test_an_abbreviation_ends_no_sentence(end):
    head = f"{sentence(92)[:-1]} {end}"
    block = cut_blocks(f"{head} Word {sentence(60, '')}")[0]
    assert block != head
    assert len(block.split()) == 100


@pytest.mark.parametrize("end", ["end.", "end?", 'end."', "end.)", "end…", "結束。", "(1999).", "end\n"])
def test_these_end_a_sentence(end):
    head = f"{sentence(92)[:-1]} {end}"
    assert cut_blocks(f"{head} Word {sentence(60, '')}")[0] == head.strip()


def test_no_word_is_lost_and_every_block_is_bounded():
    text = " ".join(sentence(length) for length in (5, 31, 140, 2, 77, 90, 119, 8, 400, 1, 29))
    blocks = cut_blocks(text)
    assert " ".join(blocks) == text
    assert all(80 <= len(block.split()) < 150 for block in blocks[:-1])
    assert 30 <= len(blocks[-1].split()) < 150


def test_a_megabyte_without_a_space_is_cut_too():
    blocks = cut_blocks("x" * 1_000_000)
    assert "".join(blocks) == "x" * 1_000_000
    assert max(map(len, blocks)) < 15_000
