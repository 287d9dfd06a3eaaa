"""How the Documents page looks."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from rtv_core.corpus.documents import FORMS
from rtv_core.corpus.preview import Preview
from rtv_core.corpus.tables import FIELDS
from rtv_core.corpus.uploads import UploadLimits
from rtv_core.records import Passage
from rtv_core.ui.analysis.tables import note, section, short, table
from rtv_core.ui.documents.board import Board, Entry, File, Opened, Table
from rtv_core.ui.documents.work import Work
from rtv_core.ui.markup import Markup, escape, join, tag
from rtv_core.ui.render.frame import render_message
from rtv_core.ui.render.parts import counted, passage_title
from rtv_core.ui.render.server import bar, command, moment, none_yet, quoted, size_text, time_left

__all__ = ["render_board", "render_refused", "render_work"]

LONGEST_NAME = 200
LONGEST_BLOCK = 900
LONGEST_PROBLEM = 300
FILES_SHOWN = 500
PROBLEMS_SHOWN = 20


def render_refused(text: str, turn: int = 0) -> Markup:
    """Nothing but why there is nothing."""
    return _page("", turn, render_message(text, "error"))


def render_work(work: Work | None, opened: str = "") -> Markup:
    """What goes on, with Stop; or what came of the last work on the collection that is `opened`."""
    if work is None or (work.ended and work.collection != opened):
        return Markup("")
    if work.ended:
        return render_message(work.said, "error" if work.failed else "done")
    stop = tag(
        "button",
        "Stopping…" if work.stopping else "Stop",
        type="button",
        disabled=work.stopping,
        data_documents="stop",
        data_serial=work.serial,
    )
    return tag(
        "div",
        tag("p", tag("b", short(work.name)), ": ", _stage(work), role="status"),
        bar(work.done, work.total, work.stage) if work.total else None,
        stop,
        class_="rtv-work",
        data_running=work.serial,
    )


def render_board(board: Board, said: str = "", failed: bool = False, turn: int = 0) -> Markup:
    """The whole page, under what the last action did; `turn` is the number of the request it answers."""
    message = tag("div", render_message(said, "error" if failed else "note"), class_="said")
    if board.opened is None:
        return _page("", turn, tag("div", message, class_="top"), _begin(board), _all(board))
    opened = board.opened
    collection = opened.entry.collection
    back = tag("button", "All collections", type="button", data_documents="show", data_collection="")
    return _page(
        collection.id,
        turn,
        tag("div", tag("h2", short(collection.name, LONGEST_NAME)), back, class_="top opened"),
        message,
        _files(opened, board.limits),
        _read(opened) if opened.files else None,
        _index(opened, board) if opened.files or opened.entry.made else None,
        _delete(opened.entry),
    )


def _page(opened: str, turn: int, *parts: Markup | None) -> Markup:
    """Each drawing is another one, so that the browser notices that it came."""
    serial = secrets.token_hex(6)
    # The looks of tables, buttons and commands are those of the Admin page.
    data = {"data_serial": serial, "data_opened": opened, "data_turn": turn}
    return tag("div", *parts, class_="rtv-admin rtv-documents", **data)


# Work


def _stage(work: Work) -> str:
    of = f" of {work.total:,}" if work.total is not None else ""
    parts = [work.stage or "beginning"]
    if work.total is not None or work.done:
        parts.append(f"{work.done:,}{of}")
    if work.rate is not None:
        parts.append(f"{work.rate:,.0f} a second" if work.rate >= 2 else f"{60 * work.rate:,.0f} a minute")
    if work.seconds_left is not None and work.done < (work.total or 0):
        parts.append(f"about {time_left(work.seconds_left)} left")
    return " · ".join(parts)


# All collections


def _begin(board: Board) -> Markup:
    name = tag(
        "label",
        "Name of the collection",
        tag("input", type="text", maxlength=80, placeholder="for example: Letters", data_name=True),
    )
    return section(
        "Ask over your own documents",
        tag(
            "p",
            "Hand in text, Markdown, HTML, PDF, or tables with a line of column names. They are read first, "
            "so that you see what each gives; then an index is made of them, which can be searched like the "
            "demo corpus. Documents and indexes stay on this server, in ",
            tag("code", escape(str(board.folder))),
            ".",
            class_="lead",
        ),
        name,
        _drop(board.limits, board.limits.total_bytes, board.limits.files),
        name="begin",
    )


def _all(board: Board) -> Markup:
    if not board.entries:
        return section("Collections", none_yet("There is none yet."), name="collections")
    rows = [_entry(entry) for entry in board.entries]
    columns = ("collection", "documents", "size", "made", "index")
    return section("Collections", table("Collections, newest first", columns, rows), name="collections")


def _entry(entry: Entry) -> tuple[Markup | str, ...]:
    collection = entry.collection
    name = tag(
        "button",
        short(collection.name, LONGEST_NAME),
        type="button",
        class_="opens",
        data_documents="show",
        data_collection=collection.id,
    )
    by = tag("span", " by ", short(collection.by), class_="quiet") if collection.by else None
    return (
        name,
        f"{entry.files:,}",
        size_text(entry.size),
        tag("span", moment(collection.at), by),
        _state(entry),
    )


def _state(entry: Entry) -> Markup:
    if entry.unfinished:
        return tag("b", "unfinished", class_="open")
    if entry.made is None:
        return tag("span", "none yet", class_="quiet")
    words = f"{counted(entry.made.passages, 'passage')}"
    return tag("span", tag("b", "✓ ", words, class_="good"), " · changed since" if entry.changed else None)


# Files


def _drop(limits: UploadLimits, room: int, files: int) -> Markup:
    """Where files are handed in; the browser refuses at once what the server would."""
    documents = limits.documents
    most = " ".join(f"{ending}={documents.size(form)}" for ending, form in FORMS.items())
    choose = tag("input", type="file", multiple=True, accept=",".join(FORMS), data_files=True)
    return tag(
        "div",
        tag("label", "Choose files", choose, class_="choose"),
        tag("span", " or drop them here", class_="quiet"),
        note(
            f"{', '.join(FORMS)}. A PDF of at most {size_text(documents.pdf_bytes)}, a table of "
            f"{size_text(documents.table_bytes)}, any other file of {size_text(documents.text_bytes)}; all "
            f"together {size_text(limits.total_bytes)} and {limits.files:,} files."
        ),
        tag("div", class_="sending", aria_live="polite"),
        class_="drop",
        data_most=most,
        data_room=max(room, 0),
        data_left=max(files, 0),
    )


def _files(opened: Opened, limits: UploadLimits) -> Markup:
    entry = opened.entry
    drop = _drop(limits, limits.total_bytes - entry.size, limits.files - entry.files)
    if not opened.files:
        return section("Documents", drop, none_yet("Nothing was handed in yet."), name="files")
    rows = [_file(file, entry.collection.id) for file in opened.files[:FILES_SHOWN]]
    more = len(opened.files) - len(rows)
    columns = ("document", "size", "passages", "what was read", "take out")
    return section(
        f"{counted(entry.files, 'document')}, {size_text(entry.size)}",
        drop,
        table("Documents by name", columns, rows),
        note(f"{counted(more, 'more document')} not shown.") if more else None,
        name="files",
    )


def _file(file: File, collection_id: str) -> tuple[Markup | str, ...]:
    name = file.upload.name
    remove = tag(
        "button",
        "Take out",
        type="button",
        aria_label=f"take {name} out",
        data_documents="remove",
        data_collection=collection_id,
        data_file=name,
    )
    told = join([_found(file), _columns(file, collection_id)])
    read = file.read
    return (
        short(name, LONGEST_NAME),
        size_text(file.upload.size),
        "–" if read is None else f"{read.passages:,}",
        tag("div", told, class_="told"),
        remove,
    )


def _found(file: File) -> Markup:
    """How the document begins and what of it can't be used."""
    if file.read is None:
        return tag("span", "not read yet", class_="quiet")
    read = file.read
    parts = []
    if read.first:
        many = counted(len(read.first), "passage") if len(read.first) > 1 else "passage"
        listed = tag("ol", *(tag("li", _passage(passage)) for passage in read.first))
        parts.append(tag("details", tag("summary", f"First {many}"), listed))
    if read.repeats:
        text = f"{counted(read.repeats, 'exact repeat')} left out"
        parts.append(tag("span", text, class_="quiet"))
    problems = [] if file.table and "text" not in file.table.gives else list(read.problems)
    if problems:
        parts.append(_problems(problems))
    return join(parts)


def _passage(passage: Passage) -> Markup:
    title = tag("b", passage_title(passage)) if passage.title else None
    return join([title, tag("bdi", escape(passage.text, LONGEST_BLOCK))])


def _problems(problems: Sequence[str]) -> Markup:
    if len(problems) == 1:
        return tag("span", "✕ ", escape(problems[0], LONGEST_PROBLEM), class_="problem")
    listed = (tag("li", escape(problem, LONGEST_PROBLEM)) for problem in problems[:PROBLEMS_SHOWN])
    more = len(problems) - PROBLEMS_SHOWN
    return tag(
        "details",
        tag("summary", f"✕ {counted(len(problems), 'problem')}", class_="problem"),
        tag("ul", *listed, tag("li", f"and {more:,} more") if more > 0 else None),
    )


def _columns(file: File, collection_id: str) -> Markup | None:
    """Which columns of a table give what; open as long as that isn't known."""
    if file.table is None or not file.table.columns:
        return None
    known = "text" in file.table.gives
    apply = tag("button", "Use these columns", type="button", data_documents="columns")
    said = ", ".join(f"{what}: {column}" for what, column in file.table.gives.items())
    asked = tag("span", "✕ No column is known as the text. Choose one.", class_="problem")
    return tag(
        "details",
        tag("summary", "Columns · ", short(said, LONGEST_NAME)) if known else tag("summary", asked),
        tag(
            "div",
            *(_choice(what, file.table, file.upload.name) for what in FIELDS),
            apply,
            class_="columns",
            data_collection=collection_id,
            data_file=file.upload.name,
        ),
        open=not known,
    )


def _choice(what: str, read: Table, name: str) -> Markup:
    given = read.gives.get(what)
    absent = {"id": "the row's number", "title": "none"}.get(what, "choose")
    options = [tag("option", absent, value="", selected=given is None)]
    options += [
        tag("option", escape(column, LONGEST_NAME), value=column, selected=column == given)
        for column in read.columns
    ]
    return tag(
        "label", what, tag("select", *options, data_column=what, aria_label=f"column of the {what} in {name}")
    )


# Preview and index


def _read(opened: Opened) -> Markup:
    collection_id = opened.entry.collection.id
    preview = opened.preview
    again = _button("Read the documents", "read", collection_id, main=preview is None)
    if preview is None:
        text = "Nothing is built before you have seen what each document gives."
        return section("What is in them", tag("div", again, note(text), class_="make"), name="preview")
    return section(
        "What is in them",
        render_message(preview.refusal, "error") if preview.refusal else tag("p", _sum(preview)),
        note("Texts are cut into passages of about 100 words, at the ends of sentences."),
        name="preview",
    )


def _sum(preview: Preview) -> Markup:
    given = sum(1 for document in preview.documents if document.passages)
    parts = [
        tag("b", counted(preview.passages, "passage")),
        f" from {given:,} of {counted(len(preview.documents), 'document')}",
        f" · {counted(preview.repeats, 'exact repeat')} left out" if preview.repeats else None,
    ]
    if preview.problems:
        text = f"✕ {counted(preview.problems, 'file or row')} skipped, named above"
        parts += [" · ", tag("span", text.replace("file or rows", "files or rows"), class_="problem")]
    return join(parts)


def _index(opened: Opened, board: Board) -> Markup:
    entry, preview = opened.entry, opened.preview
    build = _build(entry, preview is not None and not preview.refusal)
    if entry.made is None:
        return section("Index", build, name="index")
    made = tag(
        "p",
        tag("b", "✓ ", counted(entry.made.passages, "passage"), class_="good"),
        ", made ",
        moment(entry.made.built_at),
        ". The documents have changed since." if entry.changed else ".",
    )
    return section("Index", made, build, _use(opened, board), name="index")


def _build(entry: Entry, can: bool) -> Markup | None:
    collection_id = entry.collection.id
    if entry.unfinished:
        button = _button("Go on", "build", collection_id, main=True)
        return tag("div", button, note("A build was stopped. It goes on where it was."), class_="make")
    if entry.made is not None and not entry.changed:
        return None
    if not can:
        return none_yet("Read the documents first." if entry.made is None else "Read them to build it again.")
    if entry.made is None:
        text = "It can be stopped, and goes on later where it was."
        return tag(
            "div", _button("Build the index", "build", collection_id, main=True), note(text), class_="make"
        )
    text = "The present one stays until the new one is whole."
    return tag("div", _button("Build it again", "build", collection_id, main=True), note(text), class_="make")


def _use(opened: Opened, board: Board) -> Markup:
    index, name = quoted(opened.index), quoted(opened.index.name)
    commands = (
        ("a server that asks over it", f"serve --index {index} --store {quoted(board.store)}"),
        ("one question on the command line", f'ask --index {index} "QUESTION"'),
        ("a question set, as a run to judge", f"evaluate --questions FILE --index {index} --name {name}"),
    )
    listed = (tag("div", tag("dt", what), tag("dd", command(how))) for what, how in commands)
    return tag("dl", *listed)


def _delete(entry: Entry) -> Markup:
    button = tag(
        "button",
        "Delete the collection",
        type="button",
        class_="delete",
        data_documents="delete",
        data_collection=entry.collection.id,
        data_sure="Delete it for good?",
    )
    return tag(
        "div", button, note("Its documents and its index go; runs made with it stay."), class_="make end"
    )


def _button(text: str, name: str, collection_id: str, main: bool = False) -> Markup:
    return tag(
        "button",
        text,
        type="button",
        class_="main" if main else None,
        data_documents=name,
        data_collection=collection_id,
    )
