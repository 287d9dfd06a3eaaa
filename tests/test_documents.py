import codecs
import io
import logging
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from encoders import WordEncoder
from pypdf import PdfWriter

from rtv_core.corpus.documents import DocumentLimits, Documents, read_documents
from rtv_core.corpus.intake import CorpusReport
from rtv_core.corpus.sources import open_corpus
from rtv_core.corpus.tables import parse_columns
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Passage
from rtv_core.retrieval.index import build_index, open_index


def laid(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """`folder` with these files in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(*paths: Path, **options) -> tuple[list[Passage], CorpusReport]:
    report = CorpusReport()
    return list(read_documents(paths, report=report, **options)), report


def the_one(folder: Path, name: str, content: str | bytes, **options) -> Passage:
    """The only passage of a document."""
    (passage,) = read(laid(folder, {name: content}) / name, **options)[0]
    return passage


def refusal(folder: Path, name: str, content: str | bytes, **options) -> str:
    """Why a document is a bad file, by a folder that holds another too, which is read all the same."""
    passages, report = read(laid(folder, {name: content, "zz.txt": "Good."}), **options)
    assert [passage.id for passage in passages] == ["zz.txt#1"]
    assert (report.bad_lines, report.files) == (1, 1)
    where, _, reason = report.reasons[0].partition(": ")
    assert where == name
    return reason


def pdf_of(*pages: Sequence[str] | bytes, title: str = "", page_entry: bytes = b"") -> bytes:
    """A PDF with these lines on its pages; bytes are a page's compressed content."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", _FONT, b"<</Title(%s)>>" % _escaped(title)]
    kids = []
    for page in pages:
        kids.append(b"%d 0 R" % (len(objects) + 1))
        data = page if isinstance(page, bytes) else zlib.compress(_drawn(page))
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>"
            b"/Contents %d 0 R %s>>" % (len(objects) + 2, page_entry),
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(data), data),
        ]
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(kids), len(kids))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, at)
    return bytes(out)


_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def _escaped(text: str) -> bytes:
    return "".join(f"\\{c}" if c in "\\()" else c for c in text).encode("cp1252")


def _drawn(lines: Sequence[str]) -> bytes:
    return b"BT /F 12 Tf 14 TL 72 720 Td %s ET" % b" ".join(b"(%s) Tj T*" % _escaped(line) for line in lines)


def sentence(words: int) -> str:
    return " ".join(["Word", *["word"] * (words - 1)]) + "."


# Folders, names and ids


def test_a_folder_gives_every_form_under_its_path_inside_in_order_of_names(tmp_path):
    laid(
        tmp_path,
        {
            "sub/b.md": "# Moons\n\nMars has two.",
            "a_note.TXT": "A note.",
            "page.html": "<title>Page</title><p>A page.",
            "paper.pdf": pdf_of(["A paper."]),
            "rows.csv": "id,title,text\n7,Row,A row.\n",
            "sub/rows.tsv": "title\ttext\nRow\tAnother row.\n",
        },
    )
    passages, report = read(tmp_path)
    assert passages == [
        Passage("a_note.TXT#1", "a note", "A note."),
        Passage("page.html#1", "Page", "A page."),
        Passage("paper.pdf#1", "paper", "A paper."),
        Passage("rows.csv#7", "Row", "A row."),
        Passage("sub/b.md#1", "Moons", "Mars has two."),
        Passage("sub/rows.tsv#1", "Row", "Another row."),
    ]
    assert (report.files, report.passages, report.left_out, report.bad_lines) == (6, 6, 0, 0)


def test_a_long_document_is_cut_at_sentence_ends_and_its_first_ids_outlive_what_is_added(tmp_path):
    text = f"{sentence(97)} {sentence(40)}"
    before = read(laid(tmp_path, {"a.txt": sentence(97)}))[0]
    after, report = read(laid(tmp_path, {"a.txt": text}))
    assert [(p.id, p.text) for p in after] == [("a.txt#1", sentence(97)), ("a.txt#2", sentence(40))]
    assert before == after[:1]
    assert (report.records, report.cut) == (1, 1)


def test_several_paths_are_named_by_themselves_and_folders_put_theirs_in_front(tmp_path):
    laid(tmp_path, {"one/a.txt": "A.", "two/a.txt": "B.", "c.txt": "C."})
    passages, _ = read(tmp_path / "two", tmp_path / "one", tmp_path / "one" / ".." / "c.txt")
    assert [(p.id, p.text) for p in passages] == [
        ("c.txt#1", "C."),
        ("one/a.txt#1", "A."),
        ("two/a.txt#1", "B."),
    ]


def test_two_documents_of_one_name_are_refused(tmp_path):
    laid(tmp_path, {"one/a.txt": "A.", "two/a.txt": "B."})
    with pytest.raises(InputError, match=r"Two documents are called 'a\.txt'\. Rename one"):
        Documents([tmp_path / "one" / "a.txt", tmp_path / "two" / "a.txt"])


def test_hidden_files_other_forms_and_archives_are_left_out_and_counted_by_kind(tmp_path, caplog):
    laid(
        tmp_path,
        {
            "a.txt": "A.",
            ".b.txt": "B.",
            ".git/c.txt": "C.",
            "d.docx": "D",
            "e.jsonl": "{}",
            "f.zip": "",
            "g": "G",
        },
    )
    with caplog.at_level(logging.INFO):
        passages, report = read(tmp_path)
    assert [p.id for p in passages] == ["a.txt#1"]
    assert (report.left_out, report.bad_lines) == (6, 0)
    assert "2 hidden" in caplog.text
    assert "1 of another form (.zip)" in caplog.text


def test_links_that_lead_out_of_the_folder_are_never_followed(tmp_path):
    laid(tmp_path, {"secret.txt": "Secret.", "other/x.txt": "Other.", "in/store/b.txt": "Inside."})
    folder = tmp_path / "in"
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "absolute.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path / "other", target_is_directory=True)
    (folder / "round").symlink_to(folder, target_is_directory=True)
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "gone.txt").symlink_to("nowhere.txt")
    (folder / "kept.txt").symlink_to("store/b.txt")
    assert [p.id for p in read(folder)[0]] == ["kept.txt#1", "store/b.txt#1"]


def test_what_is_no_regular_file_is_left_out(tmp_path):
    os.mkfifo(laid(tmp_path, {"a.txt": "A."}) / "b.txt")
    assert [p.id for p in read(tmp_path)[0]] == ["a.txt#1"]


def test_names_that_would_break_a_line_or_turn_text_around_are_made_plain(tmp_path):
    laid(tmp_path, {"a\nb.txt": "A.", "\u202egpj.txt": "B.", "x..y\\..\\z.txt": "C."})
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("D.", encoding="utf-8")
    names = {p.text: p.id for p in read(tmp_path)[0]}
    assert names == {
        "A.": "a\ufffdb.txt#1",
        "B.": "\ufffdgpj.txt#1",
        "C.": "x..y\\..\\z.txt#1",
        "D.": "caf\ufffd.txt#1",
    }


@pytest.mark.parametrize("name", ["none", "none.pdf", "a\0b.txt"])
def test_an_absent_path_is_said_at_once(tmp_path, name):
    with pytest.raises(MissingError, match=r"no corpus file .*, and no folder of that name"):
        Documents([tmp_path / name])


def test_a_folder_without_documents_is_refused_with_what_it_holds(tmp_path):
    laid(tmp_path / "papers", {"a.docx": "A", "b.docx": "B", ".c.txt": "C"})
    with pytest.raises(
        InputError, match=r"papers holds no documents \(1 hidden, 2 of another form \(\.docx\)\)"
    ):
        Documents([tmp_path / "papers"])


def test_a_named_file_of_another_form_is_refused_with_the_forms_there_are(tmp_path):
    laid(tmp_path, {"a.docx": "A", "b.txt": "B", "c.jsonl": "{}"})
    with pytest.raises(InputError, match=r"a\.docx is of no form that can be read\. Give \.txt, \.md"):
        open_corpus([tmp_path / "a.docx"])
    with pytest.raises(InputError, match=r"c\.jsonl is of no form .* one file alone, in \.jsonl"):
        open_corpus([tmp_path / "b.txt", tmp_path / "c.jsonl"])


def test_no_paths_at_all_are_refused():
    with pytest.raises(InputError, match="holds no documents"):
        Documents([])


def test_the_same_document_twice_is_read_once(tmp_path):
    passages, report = read(laid(tmp_path, {"a.md": "# Moon\n\nMars.", "copy.md": "# Moon\n\nMars."}))
    assert [p.id for p in passages] == ["a.md#1"]
    assert (report.repeats, report.files) == (1, 2)


# Limits and bad files


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("a.txt", DocumentLimits(text_bytes=9)),
        ("a.html", DocumentLimits(text_bytes=9)),
        ("a.csv", DocumentLimits(table_bytes=9)),
        ("a.pdf", DocumentLimits(pdf_bytes=9)),
    ],
)
def test_a_file_of_too_many_bytes_is_a_bad_file(tmp_path, name, limits):
    assert refusal(tmp_path, name, "x" * 10, limits=limits) == "more than 9 bytes; split it"


def test_a_document_of_too_many_characters_is_a_bad_file(tmp_path):
    limits = DocumentLimits(characters=9)
    assert refusal(tmp_path, "a.txt", "x" * 10, limits=limits) == "10 characters; the most is 9; split it"


def test_too_many_files_stop_before_any_is_read(tmp_path):
    laid(tmp_path / "d", {f"{i}.txt": "x" for i in range(4)})
    with pytest.raises(InputError, match="d holds 4 documents; the most is 3"):
        Documents([tmp_path / "d"], DocumentLimits(files=3))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"caf\xe9 au lait", "not UTF-8 at byte 3; save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8 at byte 0; save it as UTF-8"),
        (b"plain\0text", "a NUL: it is no text, or UTF-16 without a byte order mark"),
        ("Moon".encode("utf-16-le"), "a NUL: it is no text, or UTF-16 without a byte order mark"),
        (codecs.BOM_UTF16_LE + b"a\0b", "not UTF-16-LE at byte 2; save it as UTF-8"),
        (b"", "no text"),
        (b" \n\x0c\x01 \n", "no text"),
    ],
)
def test_what_is_no_text_is_a_bad_file(tmp_path, content, reason):
    assert refusal(tmp_path, "a.txt", content) == reason


def test_a_file_that_goes_away_before_it_is_read_is_a_bad_file(tmp_path):
    documents = Documents([laid(tmp_path, {"a.txt": "A.", "b.txt": "B."})])
    (tmp_path / "a.txt").unlink()
    report = CorpusReport()
    assert [p.id for p in documents.passages(report)] == ["b.txt#1"]
    assert report.reasons == ["a.txt: it can't be opened (No such file or directory)"]


def test_bad_files_and_rows_up_to_the_limit_are_skipped_and_one_more_stops(tmp_path, caplog):
    laid(tmp_path, {"a.txt": b"\xff", "b.csv": "text\nx\ny,z\n", "c.pdf": b"%PDF-", "d.txt": "D."})
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path, bad_limit=3)[1].bad_lines == 3
    assert "b.csv, line 3: 2 columns instead of 1; skipped" in caplog.text
    with pytest.raises(InputError, match=r"c\.pdf: .*bad file or row 3; at most 2 are skipped"):
        read(tmp_path, bad_limit=2)


# Text


@pytest.mark.parametrize(
    "data",
    [
        "Café 🌙".encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + "Café 🌙".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "Café 🌙".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "Café 🌙".encode("utf-32-le"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv"])
def test_a_byte_order_mark_says_the_encoding(tmp_path, name, data):
    if name == "a.csv":
        encoding = {b"\xef\xbb": "utf-8-sig", b"\xfe\xff": "utf-16-be"}.get(data[:2])
        encoding = encoding or ("utf-32-le" if data[2:4] == b"\0\0" else "utf-16-le")
        head = "" if encoding == "utf-8-sig" else "\ufeff"
        data = f"{head}text\nCafé 🌙\n".encode(encoding)
    assert the_one(tmp_path, name, data).text == "Café 🌙"


def test_lines_of_a_paragraph_are_joined_and_blank_lines_part_paragraphs(tmp_path):
    text = "The moon\r\nis   round.\r\n \r\nIt\tshines.\r\rIt\u00a0sets.\x0cEnd\x07\u00ad\ufeff."
    assert the_one(tmp_path, "a.txt", text).text == "The moon is round.\nIt shines.\nIt sets.\nEnd."


def test_a_megabyte_in_one_line_is_cut_and_nothing_is_lost(tmp_path):
    line = "".join(str(number) for number in range(170_000))[:1_000_000]
    passages, _ = read(laid(tmp_path, {"a.txt": line}))
    assert "".join(p.text for p in passages) == line
    assert max(len(p.text) for p in passages) < 15_000
    assert passages[-1].id == f"a.txt#{len(passages)}"


# Markdown


def test_markdown_loses_its_marks_and_keeps_its_words(tmp_path):
    note = (
        "Intro with *stress*, `code`, [a link](http://example.org) and &amp;.\n\n"
        "## The **moons** of Mars\n\nPhobos\nand ~~not~~ Deimos.\n\n"
        "- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n```\n\n"
        "<div>inside</div>\n\n<script>alert(1)</script>\n"
    )
    assert the_one(tmp_path, "a.md", note) == Passage(
        "a.md#1",
        "The moons of Mars",
        "Intro with stress, code, a link and &.\nPhobos and not Deimos.\none\ntwo\na b\n1 2\nx = 1\ninside",
    )


@pytest.mark.parametrize(
    ("note", "title", "text"),
    [
        ('---\ntitle: "Front"\ntags: x\n---\n# Head\n\nBody.', "Front", "Head\nBody."),
        ("---\r\ntags: x\r\n---\r\n# Head\r\n\r\nBody.", "Head", "Body."),
        ("Body.\n\n---\n\nMore.", "my note", "Body.\nMore."),
        ("# \n\nHead\n====\n\nBody.", "Head", "Body."),
        ("<h2 hidden>No</h2>\n\n### Head\n\nBody.", "Head", "Body."),
    ],
)
def test_a_notes_title_is_its_front_matters_or_its_first_heading_or_its_name(tmp_path, note, title, text):
    assert the_one(tmp_path, "my_note.md", note) == Passage("my_note.md#1", title, text)


@pytest.mark.parametrize("mark", ["[", "*a_ ", "> ", "- ", "`a``b", "![", "<!--", "[[]("])
def test_hostile_markdown_is_no_trouble(tmp_path, mark):
    report = read(laid(tmp_path, {"a.md": mark * 500, "z.txt": "Good."}))[1]
    assert report.passages + report.bad_lines >= 2


# HTML


def test_html_gives_what_a_reader_sees(tmp_path):
    page = """<?xml version="1.0" encoding="latin-1"?><!doctype html><html><head>
        <title> Moons &amp;\n stars </title><style>p {color: red}</style><script>var a = "<p>no</p>"</script>
        </head><body onload="alert(1)"><nav><a href="/">Home</a></nav><!-- no -->
        <h1>The moons</h1><p>Ph<b>ob</b>os &eacute;&#233;&lt;b&gt;<br>and
        <a href="javascript:alert(1)">Deimos</a>.
        <table><tr><th>Name<th>Year<tr><td>Hall<td>1877</table>
        <p style="color: red; DISPLAY : none">no</p><p hidden>no</p><span aria-hidden="true">no</span>tail
        <noscript>no</noscript><template><p>no</template><svg onload="alert(1)"><text>no</text></svg>
        <iframe src="x">no</iframe><button>no</button><select><option>no</select><textarea>no</textarea>
        <footer>no</footer> end</body></html>"""
    assert the_one(tmp_path, "a.html", page) == Passage(
        "a.html#1",
        "Moons & stars",
        "The moons\nPhobos éé<b> and Deimos.\nName Year\nHall 1877\ntail end",
    )


def test_a_page_with_one_main_part_gives_that_alone(tmp_path):
    page = "<title>T</title><p>before<main><p>The text.</main>tail<p>after"
    assert the_one(tmp_path, "a.htm", page).text == "The text."
    both = "<title>T</title><main>One.</main><main>Two.</main>"
    assert the_one(tmp_path, "b.htm", both).text == "One.\nTwo."


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<h1></h1><h2>The <i>moons</i></h2><p>Text.", "The moons"),
        ("<div hidden><h1>No</h1></div><p>Text.", "a page"),
        (f"<title>{'long ' * 1000}</title>Text.", ("long " * 40)),
        ("<svg><title>No</title></svg><p>Text.", "a page"),
    ],
)
def test_a_page_without_a_title_has_its_first_heading_or_its_name(tmp_path, page, title):
    assert the_one(tmp_path, "a_page.html", page) == Passage("a_page.html#1", title, "Text.")


def test_characters_that_can_not_be_stored_never_come_out_of_entities(tmp_path):
    text = the_one(tmp_path, "a.html", "<p>a&#0;&#xD800;&#x1;&#8;b &#x1F642;&bogus; &amp;amp; &#xFEFF;c").text
    assert text.encode("utf-8")
    assert text.translate({0xFFFD: None}) == "ab 🙂&bogus; &amp; c"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1251">', "windows-1251"),
        ('<META http-equiv="Content-Type" content="text/html; charset=KOI8-R">', "koi8-r"),
    ],
)
def test_a_page_may_declare_an_older_encoding(tmp_path, head, encoding):
    assert the_one(tmp_path, "a.html", f"{head}<p>Луна".encode(encoding)).text == "Луна"


def test_a_page_that_declares_latin_1_is_read_as_browsers_do(tmp_path):
    assert the_one(tmp_path, "a.html", b'<meta charset="iso-8859-1"><p>\x93caf\xe9\x94').text == "“café”"


@pytest.mark.parametrize("name", ["utf-8", "punycode", "unicode_escape", "zip", "no-such-thing"])
def test_other_encodings_are_refused_whatever_a_page_declares(tmp_path, name):
    page = f'<meta charset="{name}"><p>caf'.encode() + b"\xe9"
    assert refusal(tmp_path, "a.html", page).startswith("not UTF-8 at byte ")


@pytest.mark.parametrize("mark", ["<!--", "<a ", "<![CDATA[", "</", "<?", "<", "&", "<a b='", "<script>"])
def test_a_megabyte_of_broken_markup_takes_no_time_and_spoils_nothing_else(tmp_path, mark):
    report = read(laid(tmp_path, {"a.html": mark * (1_000_000 // len(mark)), "z.txt": "Good."}))[1]
    assert report.passages + report.bad_lines >= 2


def test_a_page_nested_beyond_reason_is_a_bad_file_and_a_deep_one_is_read(tmp_path):
    assert "Excessive depth" in refusal(tmp_path, "a.html", "<div>" * 100_000 + "deep")
    assert the_one(tmp_path, "b.html", "<div>" * 1_000 + "deep").text == "deep"


# PDF


def test_a_pdf_gives_the_text_of_its_pages_as_it_runs(tmp_path):
    pdf = pdf_of(
        ["The moons of Mars (both) are small,", "an exam-", "ple of captured aster-"],
        ["oids. Café \\ self-", "Made."],
        title="Two moons",
    )
    assert the_one(tmp_path, "a.pdf", pdf) == Passage(
        "a.pdf#1",
        "Two moons",
        "The moons of Mars (both) are small, an example of captured asteroids. Café \\ self- Made.",
    )


@pytest.mark.parametrize(
    "title",
    ["", " ", "untitled", "Untitled", "Microsoft Word - thesis", "thesis.DOCX", "main.tex", "Document1"],
)
def test_a_title_that_a_program_wrote_gives_way_to_the_files_name(tmp_path, title):
    assert the_one(tmp_path, "my_paper.pdf", pdf_of(["Text."], title=title)).title == "my paper"


def test_running_heads_and_page_numbers_are_left_out(tmp_path):
    pages = [
        ["Journal of Moons 12", f"Part {word}", "of it.", str(number)] for number, word in enumerate("abcd")
    ]
    text = the_one(tmp_path, "a.pdf", pdf_of(*pages)).text
    assert text == "Part a of it. Part b of it. Part c of it. Part d of it."


def test_lines_that_come_back_on_few_pages_are_no_running_heads(tmp_path):
    text = the_one(tmp_path, "a.pdf", pdf_of(["Amen.", "One."], ["Amen.", "Two."], ["Amen."])).text
    assert text == "Amen. One. Amen. Two. Amen."


def test_the_leaders_of_a_table_of_contents_are_left_out(tmp_path):
    pdf = pdf_of(["1 Phobos . . . . . . . . 4", "2 Deimos......... 17", "and so on ..."])
    assert the_one(tmp_path, "a.pdf", pdf).text == "1 Phobos 4 2 Deimos 17 and so on ..."


def encrypted(data: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_behind_a_password_is_a_bad_file_and_a_merely_restricted_one_is_read(tmp_path):
    pdf = pdf_of(["Secret."])
    assert refusal(tmp_path, "a.pdf", encrypted(pdf, "x")) == "encrypted; save a copy without protection"
    assert the_one(tmp_path, "b.pdf", encrypted(pdf, "")).text == "Secret."


def test_a_pdf_with_an_unknown_lock_is_a_bad_file(tmp_path):
    pdf = encrypted(pdf_of(["Secret."]), "").replace(b"/Standard", b"/Unheard!")
    assert refusal(tmp_path, "a.pdf", pdf)


@pytest.mark.parametrize(("pages", "said"), [(1, "its page is pictures"), (3, "its 3 pages are pictures")])
def test_a_scan_without_text_is_said_to_be_one(tmp_path, pages, said):
    pdf = pdf_of(*[zlib.compress(b"0 0 612 792 re f")] * pages)
    assert refusal(tmp_path, "a.pdf", pdf) == f"no text: {said}, as a scan's; let an OCR program add the text"


def test_a_pdf_of_too_many_pages_or_characters_is_a_bad_file(tmp_path):
    pdf = pdf_of(*[["Text."]] * 3)
    few, short = DocumentLimits(pages=2), DocumentLimits(characters=9)
    assert refusal(tmp_path, "a.pdf", pdf, limits=few) == "3 pages; the most is 2; split it"
    assert refusal(tmp_path, "a.pdf", pdf, limits=short) == "more than 9 characters; split it"


def test_a_small_pdf_that_unpacks_to_a_huge_one_is_a_bad_file(tmp_path):
    pdf = pdf_of(zlib.compress(b" " * 76_000_000, 1))
    assert len(pdf) < 500_000
    assert refusal(tmp_path, "a.pdf", pdf).startswith("a damaged PDF (LimitReachedError")


@pytest.mark.parametrize(
    "damage",
    [
        lambda pdf: pdf[: len(pdf) // 3],
        lambda pdf: pdf.replace(b"/Kids[5 0 R]", b"/Kids[2 0 R]"),
        lambda pdf: pdf.replace(b"/Root 1 0 R", b"/Root 9 0 R").replace(b"/Catalog", b"/Nothing"),
        lambda pdf: b"%PDF-1.4\n" + bytes(range(256)) * 40,
        lambda pdf: b"%PDF-1.7",
    ],
)
def test_a_damaged_pdf_is_a_bad_file(tmp_path, damage):
    reason = refusal(tmp_path, "a.pdf", damage(pdf_of(["Text."])))
    assert reason.startswith(("a damaged PDF", "no text"))


def test_a_file_that_is_only_called_a_pdf_is_a_bad_file(tmp_path):
    assert refusal(tmp_path, "a.pdf", "<html>Please sign in</html>") == "no PDF"


def test_damaged_metadata_spoil_no_text(tmp_path):
    pdf = pdf_of(["Text."], title="T").replace(b"/Info 4 0 R", b"/Info 3 0 R")
    assert the_one(tmp_path, "a.pdf", pdf).text == "Text."


# Tables


def rows(folder: Path, content: str | bytes, name: str = "a.csv", **options) -> list[Passage]:
    return read(laid(folder, {name: content}) / name, **options)[0]


@pytest.mark.parametrize(
    "header", ["id,title,text", "ID,Title,Contents", " docid , name , body ", "abstract,_id,headline,text"]
)
def test_known_headers_are_recognised(tmp_path, header):
    cells = {"id": "7", "_id": "7", "docid": "7", "text": "Text.", "body": "Text.", "contents": "Text."}
    names = [name.strip().lower() for name in header.split(",")]
    row = ",".join(cells.get(name, "A title") for name in names)
    assert rows(tmp_path, f"{header}\n{row}\n") == [Passage("7", "A title", "Text.")]


def test_columns_can_be_named_and_only_the_text_must_be(tmp_path):
    table = "Nr,Was,Langer Text\n7,Mond,Text.\n"
    columns = parse_columns(["id=nr, text=Langer Text", "title=Was"])
    assert rows(tmp_path, table, columns=columns) == [Passage("7", "Mond", "Text.")]
    assert rows(tmp_path, table, columns={"text": "Was"}) == [Passage("1", "", "Mond")]


def test_of_two_names_that_differ_in_case_the_exact_one_is_taken(tmp_path):
    assert rows(tmp_path, "TEXT,text\nno,yes\n")[0].text == "yes"
    assert rows(tmp_path, "TEXT,text\nyes,no\n", columns={"text": "TEXT"})[0].text == "yes"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["body"], "'body' names no column"),
        (["text="], "'text=' names no column"),
        (["author=x"], "'author=x' names no column"),
        (["text=a,text=b"], "column of the text is named twice"),
    ],
)
def test_columns_that_say_nothing_are_refused(values, said):
    with pytest.raises(InputError, match=said):
        parse_columns(values)


def test_a_columns_name_may_hold_a_comma():
    assert parse_columns(["text=Answer, long,id=Nr"]) == {"text": "Answer, long", "id": "Nr"}


def test_columns_are_refused_where_there_is_no_table(tmp_path):
    laid(tmp_path, {"a.txt": "A.", "b.jsonl": "{}"})
    for name in ("a.txt", "b.jsonl"):
        with pytest.raises(InputError, match="no columns can be named"):
            open_corpus([tmp_path / name], {"text": "body"})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no first line with the names of the columns"),
        (
            "name,value\na,b\n",
            "no column known as the text among 'name', 'value'; say which by --columns text=NAME",
        ),
        ('id,"text\n', "quotes that don't match (unexpected end of data)"),
        (b"PK\x03\x04\xff", "not UTF-8; save it as UTF-8"),
        ("id,te\0xt\n", "a NUL: it is no text"),
    ],
)
def test_a_table_without_the_right_first_line_is_a_bad_file(tmp_path, content, reason):
    assert refusal(tmp_path, "a.csv", content) == reason


def test_a_named_column_that_is_not_there_is_said(tmp_path):
    (reason,) = read(laid(tmp_path, {"a.csv": "id,text\n1,x\n"}), columns={"text": "body"})[1].reasons
    assert reason == "a.csv: no column 'body' among 'id', 'text'"


def test_cells_hold_commas_quotes_and_lines_and_semicolons_or_tabs_may_part_them(tmp_path):
    assert rows(tmp_path, 'id,text\n1,"a, ""b""\nc"\n') == [Passage("1", "", 'a, "b"\nc')]
    assert rows(tmp_path, "id;text\r\n1;a, b\r\n") == [Passage("1", "", "a, b")]
    assert rows(tmp_path, "id\ttext\n1\ta, b\n") == [Passage("1", "", "a, b")]
    assert rows(tmp_path, 'body\tid\n"a\nb"\t1\n', "a.tsv") == [Passage("1", "", "a\nb")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b'2,"open', "quotes that don't match"),
        (b'2,"x"y', "quotes that don't match"),
        (b"2", "1 columns instead of 2"),
        (b",text", "an empty id"),
        (b"2,  ", "an empty text"),
        (b"1,again", "the id '1' for the second time"),
        (b"2,caf\xe9", "not UTF-8; save it as UTF-8"),
        (b"2,a\0b", "a NUL: it is no text"),
        (b"2," + b"x" * 1_000_000, "a line of more than 1,000,000 characters"),
        (b'2,"' + b"x" * 1_000_000, "a line of more than 1,000,000 characters"),
        (b"2" * 300 + b",x", "an id of 300 characters; the most is 200"),
    ],
)
def test_a_bad_row_spoils_no_other(tmp_path, row, reason):
    table = b"id,text\n1,one\n" + row + b'\n3,"th\nree"\n\n,\n4,four\n'
    passages, report = read(laid(tmp_path, {"a.csv": table}) / "a.csv")
    assert [(p.id, p.text) for p in passages] == [("1", "one"), ("3", "th\nree"), ("4", "four")]
    (said,) = report.reasons
    assert said.startswith(f"a.csv, line 3: {reason}")


def test_a_row_keeps_its_number_when_the_one_before_it_is_mended(tmp_path):
    assert rows(tmp_path, "title,text\nA,one\nB\nC,three\n")[-1].id == "3"
    assert rows(tmp_path, "title,text\nA,one\n\nB,two\nC,three\n")[-1].id == "3"


def test_a_long_cell_is_cut_like_any_text_and_a_long_title_is_cut_off(tmp_path):
    text = f"{sentence(97)} {sentence(40)}"
    passages = rows(tmp_path, f"id,title,text\n7,{'t' * 900},{text}\n")
    assert [(p.id, len(p.title)) for p in passages] == [("7-1", 200), ("7-2", 200)]


def test_a_cell_of_half_a_megabyte_is_read(tmp_path):
    words = " ".join(map(str, range(80_000)))
    *cell, after = rows(tmp_path, f"id,text\n7,{words}\n8,x\n")
    assert " ".join(p.text for p in cell) == words
    assert after == Passage("8", "", "x")


# A corpus


def test_a_table_of_passages_is_read_as_ever_unless_columns_are_named(tmp_path):
    dpr = laid(tmp_path, {"a.tsv": 'id\ttext\ttitle\n1\t"open\tA\n2\ttwo\tB\n'}) / "a.tsv"
    assert list(open_corpus([dpr]).passages()) == [Passage("2", "B", "two")]
    named = open_corpus([dpr], {"text": "title"})
    assert [p.text for p in named.passages()] == ["B"]
    plain = laid(tmp_path, {"b.tsv": "docid\tbody\n7\tText.\n"}) / "b.tsv"
    assert list(open_corpus([plain]).passages()) == [Passage("7", "", "Text.")]


def test_the_hash_covers_names_contents_and_columns_and_nothing_else(tmp_path):
    folder = laid(tmp_path / "one", {"a.txt": "A.", "t.csv": "text,body\nx,y\n"})

    def current(columns=None, limits=None) -> str:
        return Documents([folder], limits, columns).sha256()

    first = current()
    laid(tmp_path / "two", {"a.txt": "A.", "t.csv": "text,body\nx,y\n"})
    assert Documents([tmp_path / "two"]).sha256() == first
    laid(folder, {".hidden.txt": "x", "b.docx": "x"})
    assert current() == first
    assert current({"text": "body"}) != first
    laid(folder, {"a.txt": "B."})
    changed = current()
    laid(folder, {"a.txt": "A."})
    (folder / "a.txt").rename(folder / "b.txt")
    assert len({first, changed, current()}) == 3
    assert len(current(limits=DocumentLimits(text_bytes=1))) == 64


def test_the_hash_of_a_file_of_passages_is_that_of_the_file(tmp_path):
    path = laid(tmp_path, {"a.jsonl": "abc"}) / "a.jsonl"
    assert open_corpus([path]).sha256() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class Stopping(WordEncoder):
    """Is stopped before the second shard."""

    def encode(self, texts):
        if self.texts:
            raise KeyboardInterrupt
        return super().encode(texts)


def test_an_index_of_a_folder_says_what_it_was_made_of_and_goes_on_after_a_stop(tmp_path):
    folder = laid(
        tmp_path / "notes", {f"{i}.txt": f"Moon number {i}." for i in range(6)} | {"bad.txt": b"\xff"}
    )
    with pytest.raises(KeyboardInterrupt):
        build_index(folder, tmp_path / "i", Stopping(), shard=3)
    encoder = WordEncoder()
    manifest = build_index(open_corpus([folder]), tmp_path / "i", encoder, shard=3)
    assert len(encoder.texts) == 3
    assert (manifest.corpus, manifest.passages, manifest.bad_lines) == ("notes", 6, 1)
    assert manifest.corpus_sha256 == Documents([folder]).sha256()
    assert open_index(tmp_path / "i").passages[5] == Passage("5.txt#1", "5", "Moon number 5.")


def test_a_corpus_of_bad_files_alone_says_why_and_leaves_nothing(tmp_path):
    folder = laid(tmp_path / "notes", {"bad.txt": b"\xff"})
    with pytest.raises(InputError, match=r"notes holds no passages \(bad\.txt: not UTF-8 at byte 0"):
        build_index(folder, tmp_path / "i", WordEncoder())
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_several_paths_have_one_name(tmp_path):
    laid(tmp_path, {"a.txt": "A.", "b.txt": "B.", "c.txt": "C."})
    assert Documents([tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]).name == "a.txt and 2 more"
