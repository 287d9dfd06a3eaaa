"""The Experiments page: results from a folder, what is missing or no result, links, and escaping."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import FakeWorkbench

from rtv_core.experiments import NEEDED, TITLES
from rtv_core.experiments.results import read_results
from rtv_core.experiments.table import Bar, Bars, Cell, Chart, Row, Series, Table
from rtv_core.metrics import Interval
from rtv_core.ui.app import build_app
from rtv_core.ui.experiments.page import show_experiments
from rtv_core.wire import to_json, to_plain

ATTACK = "<img src=x onerror=alert(1)>"

TABLE = Table(
    "table4",
    "Table 4: answers, demo",
    "system",
    ("F1", "ahead"),
    (
        Row("ours", (Cell(Interval(0.351, 0.319, 0.385), Interval(0.2, 0.1, 0.3)), None), "52.1/41.6"),
        Row("another", (Cell(Interval(0.5, 0.5, 0.5)), Cell(Interval(-0.01, -0.02, 0.0)))),
        Row("JPR", published="48.5/37.6"),
    ),
    "a paper",
    ("Over 382 questions.",),
    (
        Chart("F1 by tau", "tau", "F1, %", (Series("ours", ((0.0, 1.0), (1.0, 2.0))),)),
        Bars("Answers", "F1, %", ("F1, %",), (Bar("ours", (35.1,), (31.9, 38.5)),)),
    ),
    (("corpus", "wiki"), ("command", "python -m rtv_core experiment table4 --index wiki --out 'my runs'")),
)


def keep(folder: Path, table: Table, name: str = "") -> Path:
    path = folder / f"{name or table.name}.json"
    path.write_text(to_json(table, indent=1), encoding="utf-8")
    return path


def page_of(folder: Path, name: object = "table4") -> str:
    return show_experiments(folder, {"name": name})


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def article_of(page: str) -> str:
    return page.partition("<article>")[2]


def test_a_result_shows_its_table_plots_notes_provenance_and_command(tmp_path):
    keep(tmp_path, TABLE)
    (tmp_path / "table4.svg").write_text(ATTACK, encoding="utf-8")
    page = article_of(page_of(tmp_path))
    text = text_of(page)
    assert "Table 4: answers, demo" in text
    assert "published (a paper)" in text
    assert "35.1 (31.9 to 38.5) / 20.0 (10.0 to 30.0)" in text
    assert "50.0 \N{MINUS SIGN}1.0 (\N{MINUS SIGN}2.0 to 0.0)" in text
    assert "Over 382 questions." in text
    assert page.count("<svg ") == 2
    assert "corpus wiki" in text
    assert "python -m rtv_core experiment table4 --index wiki --out 'my runs'" in text
    assert "does not tell" not in text
    assert "onerror" not in page
    assert "<details>" in page


def test_published_figures_alone_stand_on_a_line_that_says_so(tmp_path):
    keep(tmp_path, replace(TABLE, rows=(*TABLE.rows, Row("published: Refuel", published="48.3/37.3"))))
    page = page_of(tmp_path)
    lines = re.findall(r'<tr class="theirs">.*?</tr>', page)
    assert [text_of(line) for line in lines] == [
        "JPR published: 48.5/37.6",
        "published: Refuel published: 48.3/37.3",
    ]
    assert all('colspan="3"' in line for line in lines)


@pytest.mark.parametrize("name", TITLES)
def test_without_a_result_it_says_what_is_shown_and_how_to_make_it(tmp_path, name):
    folder = tmp_path / "my runs"
    folder.mkdir()
    text = text_of(article_of(page_of(folder, name)))
    assert TITLES[name] in text
    needed = f"{NEEDED[name]} " if name in NEEDED else ""
    assert f"python -m rtv_core experiment {name} {needed}--out '{folder.name}'" in text


def test_a_result_that_tells_no_command_gets_its_experiments_own(tmp_path):
    keep(tmp_path, replace(TABLE, provenance=()))
    text = text_of(page_of(tmp_path))
    assert f"python -m rtv_core experiment table4 --out {tmp_path.name}" in text
    assert "does not tell the options" in text


def test_a_link_names_the_experiment_and_the_first_result_is_shown_without_one(tmp_path):
    keep(tmp_path, TABLE)
    keep(tmp_path, replace(TABLE, title="On dev"), "table4-dev")
    for event in ({}, None, [], {"name": ""}):
        assert 'data-experiment="table4" aria-current="page"' in show_experiments(tmp_path, event)
    page = page_of(tmp_path, "table4-dev")
    assert 'href="?page=experiments&amp;experiment=table4-dev"' in page
    assert 'data-experiment="table4-dev" aria-current="page"' in page
    assert "On dev" in article_of(page)
    listed = re.findall(r'data-experiment="([^"]*)"', page)
    assert listed[-6:] == ["table4", "table4-dev", "table5", "table7", "table9", "table10"]


@pytest.mark.parametrize("name", ["table99", "../secret", ATTACK, 7, ["table4"], "x" * 300])
def test_a_link_to_no_experiment_is_answered_in_a_line(tmp_path, name):
    page = page_of(tmp_path, name)
    assert "rtv-message error" in page
    assert "<img" not in page


def test_a_new_result_is_there_when_the_page_is_opened_again(tmp_path):
    folder = tmp_path / "later"
    assert f"There is no folder {folder.name} yet" in text_of(page_of(folder))
    folder.mkdir()
    assert "There is no result of it yet" in text_of(page_of(folder))
    keep(folder, TABLE)
    assert "Table 4: answers, demo" in text_of(page_of(folder))


def test_what_is_no_folder_is_said_in_a_line(tmp_path):
    file = keep(tmp_path, TABLE)
    assert f"{file.name} can't be read" in text_of(page_of(file))


PLAIN = to_plain(TABLE)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"a": 1}',
        "\udcff",
        json.dumps(PLAIN | {"title": 5}),
        json.dumps(PLAIN | {"columns": ["F1"]}),
        json.dumps(PLAIN | {"charts": [{"title": "neither"}]}),
        json.dumps(PLAIN | {"rows": [{"name": "ours", "cells": [None]}]}),
        json.dumps(PLAIN).replace('"digits": 1', '"digits": -1'),
        json.dumps(PLAIN).replace("[1.0, 2.0]", "[1.0, 1e999]"),
        json.dumps(PLAIN).replace("[1.0, 2.0]", "[1.0, NaN]"),
        json.dumps(PLAIN).replace("F1 by tau", "\\ud800"),
    ],
    ids=range(15),
)
def test_a_file_that_is_no_result_is_named_and_breaks_nothing(tmp_path, content):
    keep(tmp_path, TABLE)
    (tmp_path / f"{ATTACK[:8]}.json").write_bytes(content.encode(errors="surrogateescape"))
    (tmp_path / "table2.json").mkdir()
    page = page_of(tmp_path)
    assert read_results(tmp_path).unreadable == ("<img src.json", "table2.json")
    assert "left out: <img src.json, table2.json." in text_of(page)
    assert "Table 4: answers, demo" in text_of(page)
    assert "There is no result of it yet" in text_of(page_of(tmp_path, "table2"))


def test_every_string_of_a_file_is_escaped(tmp_path):
    def poisoned(value):
        if isinstance(value, str):
            return f'{ATTACK}"><svg onload=alert(2)>'
        if isinstance(value, dict):
            return {key: poisoned(item) for key, item in value.items()}
        return [poisoned(item) for item in value] if isinstance(value, list) else value

    charts = (
        replace(TABLE.charts[0], ticks=((0.0, "a"),), lines=(((0.0, 0.0), (1.0, 1.0), "b"),)),
        replace(TABLE.charts[1], parts=("read", "verify")),
    )
    plain = poisoned(to_plain(replace(TABLE, charts=charts)))
    (tmp_path / f"{ATTACK[:20]}.json").write_text(json.dumps(plain), encoding="utf-8")
    page = page_of(tmp_path, ATTACK[:20])
    assert page.count("<svg ") == 2
    assert page.count("&lt;img") > 20
    assert "<img" not in page
    assert "<svg onload" not in page


def test_the_page_is_there_only_where_a_folder_is_named(tmp_path):
    def tabs(**more):
        config = build_app(FakeWorkbench((), "x"), **more).get_config_file()
        return {part["props"].get("elem_id") for part in config["components"]}

    assert "rtv-experiments" not in tabs()
    assert "rtv-experiments" in tabs(experiments=tmp_path)
