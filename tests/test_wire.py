"""Records survive JSON."""

from __future__ import annotations

import json
import math
from types import MappingProxyType

import pytest

from rtv_core.experiments.table import Bar, Bars, Cell, Chart, Row, Series, Table
from rtv_core.metrics import Interval
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    Reading,
    Source,
    Span,
    Trace,
    Verdict,
)
from rtv_core.wire import fits, from_json, from_plain, to_json, to_plain


def full_trace() -> Trace:
    hit = Hit(Passage("p1", "", "Out in 1995. 👩‍👩‍👧 \u2028 \x00 İ"), 0.1 + 0.2, 0.0, None, 3, 1)
    span = Span(7, 11, 1 / 3)
    candidate = Candidate("1995", ("1995", "in 1995"), 1 / 3, (Source("p1", 1, span, 0.9),))
    return Trace(
        Question("7", "When?", ((("1995", "in 1995"),), ())),
        hits=(hit,),
        readings=(Reading("p1", 0.9, (span,)),),
        candidates=(candidate,),
        evidence=(Evidence(candidate, "When? 1995", (EvidencePassage(hit, ("strict",), 0.5, True),)),),
        verdicts=(Verdict((0.1, 0.2, 0.3), (1.0,)),),
        seconds=MappingProxyType({"recall": 0.25}),
        provenance=MappingProxyType({"model": "m"}),
        stage="verified",
    )


def test_a_trace_survives_json() -> None:
    trace = full_trace()
    again = from_json(Trace, to_json(trace))
    assert again == trace
    assert hash(again.hits) == hash(trace.hits)
    assert to_json(again) == to_json(trace)


def test_every_optional_part_may_be_missing_or_empty() -> None:
    assert from_json(Trace, '{"question": {"id": "", "text": "q"}}') == Trace(Question("", "q"))
    no_answer = Question("", "q", ((),))
    assert from_plain(Question, to_plain(no_answer)) == no_answer


def test_a_judgement_without_scores_survives_json() -> None:
    judgement = Judgement("t", "q", "a", "listed", "Ann", p_right=None, tau=0.5, k=10)
    assert from_json(Judgement, to_json(judgement)) == judgement


def test_json_has_sorted_keys_and_readable_letters() -> None:
    assert to_json(Passage("1", "É", "中")) == '{"id": "1", "text": "中", "title": "É"}'
    assert to_json({"b": (1, 2), "a": None}) == '{"a": null, "b": [1, 2]}'
    assert json.loads(to_json(full_trace(), indent=2)) == to_plain(full_trace())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_json_lacks_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(Span(0, 1, value))


def test_an_unknown_or_missing_field_is_named() -> None:
    with pytest.raises(TypeError, match="Passage has no field 'txt'"):
        from_json(Passage, '{"id": "", "title": "", "txt": ""}')
    with pytest.raises(TypeError, match="'text'"):
        from_json(Passage, '{"id": "", "title": ""}')


def test_a_record_that_is_no_object_is_refused() -> None:
    with pytest.raises(TypeError, match="Question must be an object, not list"):
        from_json(Trace, '{"question": []}')


LINE = Chart(
    "F1 by tau",
    "tau",
    "F1, %",
    (
        Series("ours", ((0.0, 1.0), (1.0, 2.0)), ((0.5, 1.5), (1.5, 2.5))),
        Series("theirs", (), scattered=True),
    ),
    ticks=((0.0, "none"), (1.0, "all")),
    lines=(((0.0, 0.0), (1.0, 1.0), "unchanged"),),
)
BARS = Bars("F1", "F1, %", ("F1, %",), (Bar("ours", (35.1,), (31.9, 38.5)), Bar("theirs", (33.7,), None, 2)))


def test_the_members_of_a_union_are_told_apart_by_their_fields() -> None:
    row = Row("ours", (Cell(Interval(0.5, 0.4, 0.6), Interval(0.3, 0.2, 0.4)), None), "52.1/41.6")
    table = Table("t", "T", "system", ("F1", "k"), (row,), "a paper", charts=(LINE, BARS, LINE))
    assert from_json(Table, to_json(table)) == table
    assert fits(Table, to_plain(table))


def test_a_value_that_fits_no_member_of_a_union_is_refused() -> None:
    plain = to_plain(Table("t", "T", "system", (), (), "", charts=(BARS,)))
    plain["charts"] = [{"title": "neither"}]
    assert not fits(Table, plain)
    with pytest.raises(TypeError, match="must be Chart or Bars, and fits none"):
        from_plain(Table, plain)


@pytest.mark.parametrize(
    "change",
    [
        {"title": 5},
        {"title": None},
        {"columns": "F1"},
        {"columns": ["F1", 2]},
        {"notes": {}},
        {"provenance": [["a"]]},
        {"rows": [{}]},
        {"rows": [{"name": "ours", "cells": [{"all": {"mean": "1", "low": 1, "high": 1}}]}]},
        {"rows": [{"name": "ours", "cells": [{"all": {"mean": 1, "low": 1, "high": 1}, "digits": True}]}]},
        {"more": 1},
    ],
    ids=str,
)
def test_what_another_type_stands_in_does_not_fit(change: dict[str, object]) -> None:
    plain = to_plain(Table("t", "T", "system", (), (), ""))
    assert fits(Table, plain)
    assert not fits(Table, plain | change)


def test_a_tuple_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(TypeError, match="1 values stand where 2 belong"):
        from_plain(Series, {"name": "ours", "points": [[1.0]]})


def test_every_record_fits_its_own_type() -> None:
    for record in (full_trace(), Trace(Question("", "q")), LINE, BARS):
        assert fits(type(record), to_plain(record))
        assert fits(type(record), json.loads(to_json(record)))
