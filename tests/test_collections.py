"""Documents that people hand in: names made safe, limits, what lies where, and reading ahead."""

from pathlib import Path

import pytest

from rtv_core.corpus.collections import Collections, collections_folder
from rtv_core.corpus.documents import DocumentLimits, Documents
from rtv_core.corpus.preview import read_ahead
from rtv_core.corpus.uploads import UploadLimits, safe_file_name
from rtv_core.errors import InputError, MissingError

SMALL = UploadLimits(total_bytes=300, files=3, spare_bytes=0, documents=DocumentLimits(text_bytes=200))


@pytest.fixture
def shelf(tmp_path: Path) -> Collections:
    return Collections(tmp_path / "in" / "rtv.db-documents", SMALL)


@pytest.fixture
def letters(shelf: Collections) -> str:
    return shelf.create("Letters", "Ann").id


def handed(shelf: Collections, collection_id: str, name: str, content: bytes | str = "A note.") -> str:
    """Hand a file in; the name that it got."""
    with shelf.receive(collection_id, name) as incoming:
        incoming.write(content if isinstance(content, bytes) else content.encode())
        return incoming.commit()


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# Names


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("..\\..\\boot.TXT", "boot.TXT"),
        ("/etc/cron.d/x.md", "x.md"),
        ("C:\\Users\\a b.html", "a b.html"),
        ("%2e%2e%2fx.md", "_2e_2e_2fx.md"),
        (".hidden.txt", "hidden.txt"),
        ("a\0b\n.txt", "a_b_.txt"),
        ("\u202etxt.exe.md", "_txt.exe.md"),
        ("a#b?.csv", "a_b_.csv"),
        ("<img src=x>.md", "_img src=x_.md"),
        ("Brief über Ölpreise.txt", "Brief über Ölpreise.txt"),
        ("e\u0301tude.md", "étude.md"),
        ("...a.txt", "a.txt"),
    ],
)
def test_a_name_keeps_what_names_a_file_in_its_folder(said, kept):
    assert safe_file_name(said) == kept


@pytest.mark.parametrize("said", ["", ".", "..", "../..", ".md", "a.exe", "a.txt/", "a.md.zip", "a", "\0"])
def test_a_name_of_no_known_form_is_refused_with_the_forms_that_are_read(said):
    with pytest.raises(InputError, match=r"of no form that can be read\. Give \.txt, \.md"):
        safe_file_name(said)


def test_a_long_name_is_cut_and_keeps_its_ending():
    name = safe_file_name("ß" * 500 + ".html")
    assert name == "ß" * 60 + ".html"


@pytest.mark.parametrize(
    "name", ["../../out", "/etc", "..a", "a/b", "\0x", "x" * 500, "Ünïcode Straße", "a.partial"]
)
def test_a_collection_lies_in_the_folder_whatever_it_is_called(shelf, tmp_path, name):
    made = shelf.create(name)
    handed(shelf, made.id, "a.txt")
    assert not set("/\\.") & set(made.id)
    assert len(made.id.encode()) <= 60
    assert (shelf.folder / "files" / made.id / "a.txt").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["rtv.db-documents"]


@pytest.mark.parametrize("name", ["", "..", "/", "  ", "\u202e"])
def test_a_collection_without_a_name_is_refused(shelf, name):
    with pytest.raises(InputError, match="has no name"):
        shelf.create(name)
    assert shelf.all() == []


def test_collections_of_one_name_have_ids_of_their_own(shelf):
    assert [shelf.create("Letters").id for _ in range(3)] == ["letters", "letters-2", "letters-3"]
    assert {c.name for c in shelf.all()} == {"Letters"}


def test_an_id_that_is_no_collection_is_refused(shelf, letters, tmp_path):
    (tmp_path / "outside").mkdir()
    for wrong in ("", ".", "..", "../..", "../../outside", str(tmp_path / "outside"), "LETTERS", "none"):
        for call in (shelf.files, shelf.documents, shelf.index, shelf.stamp, shelf.delete, shelf.get):
            with pytest.raises(MissingError, match="no collection"):
                call(wrong)
        with pytest.raises(MissingError):
            shelf.receive(wrong, "a.txt")
    assert (tmp_path / "outside").is_dir()


def test_the_collections_lie_beside_the_store():
    assert collections_folder(Path("x/rtv.db")) == Path("x/rtv.db-documents")


# Files


def test_files_of_one_name_are_kept_apart_unless_they_are_the_same(shelf, letters):
    assert handed(shelf, letters, "a.txt", "one") == "a.txt"
    assert handed(shelf, letters, "a.txt", "two") == "a-2.txt"
    assert handed(shelf, letters, "x/a.txt", "one") == "a.txt"
    assert handed(shelf, letters, "a.txt", "two") == "a-2.txt"
    assert [(file.name, file.size) for file in shelf.files(letters)] == [("a-2.txt", 3), ("a.txt", 3)]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([201], "more than"),
        ([150, 151], "limit"),
        ([1, 1, 1, 1], "3 files; that is the most"),
        ([0], "empty"),
    ],
)
def test_what_goes_beyond_a_limit_leaves_nothing(shelf, letters, sizes, message):
    *fitting, last = sizes
    for number, size in enumerate(fitting):
        handed(shelf, letters, f"{number}.txt", b"x" * size)
    before = everything(shelf.folder)
    with pytest.raises(InputError, match=message):
        handed(shelf, letters, "last.txt", b"x" * last)
    assert everything(shelf.folder) == before


def test_a_size_that_is_announced_is_refused_before_a_byte_comes(shelf, letters):
    before = everything(shelf.folder)
    with pytest.raises(InputError, match="more than"):
        shelf.receive(letters, "a.txt", 201)
    assert everything(shelf.folder) == before


def test_a_disk_that_is_nearly_full_takes_nothing(tmp_path):
    shelf = Collections(tmp_path, UploadLimits(spare_bytes=2**62))
    made = shelf.create("Letters")
    with pytest.raises(InputError, match="doesn't fit on the server's disk"):
        shelf.receive(made.id, "a.txt", 1)


def test_a_file_that_comes_in_part_is_gone(shelf, letters):
    with shelf.receive(letters, "a.txt") as incoming:
        incoming.write(b"half")
        assert [path[-5:] for path in everything(shelf.folder / "files" / letters)] == [".part"]
        assert shelf.files(letters) == []
    assert everything(shelf.folder / "files" / letters) == []


def test_links_are_neither_read_nor_written_through(shelf, letters, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    folder = shelf.folder / "files" / letters
    (folder / "a.txt").symlink_to(secret)
    assert shelf.files(letters) == []
    assert handed(shelf, letters, "a.txt", "mine") == "a-2.txt"
    assert [p.text for p in shelf.documents(letters).passages()] == ["mine"]
    with pytest.raises(MissingError):
        shelf.remove(letters, "a.txt")
    assert secret.read_text(encoding="utf-8") == "secret"
    elsewhere = tmp_path / "elsewhere"
    (shelf.folder / "files").rename(elsewhere)
    (shelf.folder / "files").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link"):
        shelf.receive(letters, "b.txt")
    (shelf.folder / "files").unlink()
    (shelf.folder / "files").mkdir()
    (shelf.folder / "files" / letters).symlink_to(elsewhere / letters)
    with pytest.raises(MissingError, match="no collection"):
        shelf.receive(letters, "b.txt")


def test_a_file_is_taken_out_by_its_name_alone(shelf, letters, tmp_path):
    handed(shelf, letters, "a.txt")
    (shelf.folder / "files" / "b.txt").write_text("beside", encoding="utf-8")
    for wrong in ("../b.txt", "b.txt", "", "A.TXT", str(shelf.folder / "files" / "b.txt")):
        with pytest.raises(MissingError, match="no file"):
            shelf.remove(letters, wrong)
    shelf.remove(letters, "a.txt")
    assert shelf.files(letters) == []
    assert (shelf.folder / "files" / "b.txt").is_file()


def test_deleting_takes_documents_and_index_and_nothing_else(shelf, letters):
    other = shelf.create("Other").id
    for name in (letters, other):
        handed(shelf, name, "a.txt")
    (shelf.index(letters)).mkdir()
    (shelf.folder / "indexes" / "letters.partial").mkdir()
    shelf.delete(letters)
    assert everything(shelf.folder) == [
        "collections",
        "collections/other.json",
        "files",
        "files/other",
        "files/other/a.txt",
        "indexes",
    ]
    assert [c.id for c in shelf.all()] == ["other"]


def test_a_collection_is_as_it_was_after_a_restart(shelf, letters):
    handed(shelf, letters, "t.csv", "Nr,Body\n1,x\n")
    shelf.name_columns(letters, "t.csv", {"text": "Body"})
    again = Collections(shelf.folder).get(letters)
    assert (again.name, again.by, dict(again.tables["t.csv"])) == ("Letters", "Ann", {"text": "Body"})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id": "../x", "name": "x", "at": ""}', '{"colour": 1}'])
def test_a_description_that_cannot_be_read_hides_no_other(shelf, letters, text):
    (shelf.folder / "collections" / "bad.json").write_text(text, encoding="utf-8")
    assert [c.id for c in shelf.all()] == [letters]


def test_the_stamp_changes_with_files_and_columns_and_nothing_else(shelf, letters):
    stamps = [shelf.stamp(letters), shelf.stamp(letters)]
    handed(shelf, letters, "t.csv", "Nr,Body\n1,x\n")
    stamps.append(shelf.stamp(letters))
    shelf.name_columns(letters, "t.csv", {"text": "Body"})
    stamps.append(shelf.stamp(letters))
    shelf.note_built(letters, "x")
    stamps.append(shelf.stamp(letters))
    assert [stamps.index(stamp) for stamp in stamps] == [0, 0, 2, 3, 3]


# Tables


def test_each_table_has_columns_of_its_own(shelf, letters):
    handed(shelf, letters, "one.csv", "Nr,Head,Body\n7,H,First.\n")
    handed(shelf, letters, "two.tsv", "Sinn\tWort\nSecond.\tW\n")
    assert shelf.columns(letters, "one.csv") == ("Nr", "Head", "Body")
    shelf.name_columns(letters, "one.csv", {"id": "Nr", "title": "Head"})
    shelf.name_columns(letters, "two.tsv", {"text": "Sinn"})
    passages = list(shelf.documents(letters).passages())
    assert [(p.id, p.title, p.text) for p in passages] == [
        ("one.csv#7", "H", "First."),
        ("two.tsv#1", "", "Second."),
    ]


@pytest.mark.parametrize("columns", [{"text": "None"}, {"colour": "Nr"}, {"text": ""}])
def test_a_column_that_is_not_there_is_refused(shelf, letters, columns):
    handed(shelf, letters, "one.csv", "Nr,Body\n7,First.\n")
    with pytest.raises(InputError, match="has no column"):
        shelf.name_columns(letters, "one.csv", columns)


def test_the_hash_of_documents_knows_the_columns_of_each_table(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    hashes = [
        Documents([tmp_path], tables=tables).sha256()
        for tables in (None, {}, {"a.csv": {"text": "x"}}, {"a.csv": {"text": "y"}})
    ]
    assert [hashes.index(sha) for sha in hashes] == [0, 0, 2, 3]


# Reading ahead


def test_a_preview_tells_what_each_document_gives_and_what_is_wrong_in_which_line(tmp_path):
    long = " ".join(["Word"] + ["word"] * 89) + "."
    (tmp_path / "a.txt").write_text(" ".join([long] * 5), encoding="utf-8")
    (tmp_path / "b.csv").write_text("id,text\n1,Good.\n2,\n3,Fine.\n3,Twice.\n", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"no PDF at all")
    (tmp_path / "d.md").write_text("# T\n\nText.", encoding="utf-8")
    seen = []
    preview = read_ahead(Documents([tmp_path]), lambda *progress: seen.append(progress), first=2)
    a, b, c, d = preview.documents
    assert [(x.name, x.passages, x.repeats) for x in (a, b, c, d)] == [
        ("a.txt", 1, 4),
        ("b.csv", 2, 0),
        ("c.pdf", 0, 0),
        ("d.md", 1, 0),
    ]
    assert b.problems == ("line 3: an empty text", "line 5: the id 'b.csv#3' for the second time")
    assert c.problems == ("no PDF",)
    assert [p.id for p in b.first] == ["b.csv#1", "b.csv#3"]
    assert (d.first[0].title, d.first[0].text) == ("T", "Text.")
    assert (preview.passages, preview.repeats, preview.problems, preview.refusal) == (4, 4, 3, "")
    assert seen[0][:2] == (0, 4)
    assert seen[-1] == (4, 4, 4)


def test_a_preview_counts_what_an_index_would_hold(tmp_path):
    for name in "abc":
        text = " ".join(f"{name.upper()} sentence number {number} of this note." for number in range(80))
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "again.txt").write_text("Only here.", encoding="utf-8")
    preview = read_ahead(Documents([tmp_path]))
    passages = list(Documents([tmp_path]).passages())
    assert preview.passages == len(passages) > 10
    assert sum(document.passages for document in preview.documents) == len(passages)


def test_a_preview_says_why_no_index_can_be_made(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"x")
    assert "holds no passages" in read_ahead(Documents([tmp_path])).refusal
    (tmp_path / "b.csv").write_text("id,text\n" + "1,\n" * 150, encoding="utf-8")
    assert "at most 100 are skipped" in read_ahead(Documents([tmp_path])).refusal


def test_reading_ahead_ends_where_its_progress_raises(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")

    def stop(read: int, documents: int, passages: int) -> None:
        if read == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_ahead(Documents([tmp_path]), stop)
