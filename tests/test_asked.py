"""How much of what is asked the evidence of a candidate speaks of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rtv_core.records import Candidate, EvidencePassage, Hit, Passage
from rtv_core.verify.asked import asked_share, unmentioned
from rtv_core.words import content_stems, content_words, stem, stems

QUESTION = "Who designed the costumes of the singers of Merin?"
ANNA = Candidate("Anna Lind", ("Anna Lind",), 0.5, ())


def evidence(*texts: str, title: str = "", covers: bool = True) -> list[EvidencePassage]:
    passages = [Passage(f"p{i}", title, text) for i, text in enumerate(texts)]
    hits = [Hit(passage, 0.5, 0.0, i, None, i) for i, passage in enumerate(passages, 1)]
    return [EvidencePassage(hit, ("strict",) if covers else (), 0.5, False) for hit in hits]


def test_small_words_tell_nothing_unless_there_is_nothing_else() -> None:
    assert content_words(QUESTION) == {"designed", "costumes", "singers", "merin"}
    assert content_words("Who is it?") == {"who", "is", "it"}
    assert content_words("?!") == frozenset()
    assert content_stems(QUESTION) == {"design", "costum", "singer", "merin"}


def test_stems_are_compared_whatever_case_and_ending() -> None:
    assert stems("Designs, DESIGNED; designing") == {"design"}
    words = [f"designing{i}s" for i in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stem, words)) == [stem.__wrapped__(word) for word in words]


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        (("Anna Lind sang in Merin.",), 1 / 4),
        (("A singer, Anna Lind, designs costumes.",), 3 / 4),
        (("Anna Lind: design.", "Anna Lind, a singer with costumes."), 2 / 4),  # of one passage, not of both
        ((), 0.0),
        (("Anna Lind was here.",), 0.0),
    ],
)
def test_the_share_is_that_of_the_passage_with_the_most(texts: tuple[str, ...], share: float) -> None:
    assert asked_share(QUESTION, ANNA, evidence(*texts)) == pytest.approx(share)


def test_the_title_counts_and_what_does_not_cover_the_candidate_does_not() -> None:
    assert asked_share(QUESTION, ANNA, evidence("Anna Lind", title="Singers of Merin")) == 2 / 4
    assert asked_share(QUESTION, ANNA, evidence("Anna Lind designs costumes.", covers=False)) == 0


def test_what_no_covering_passage_names_is_told_as_it_is_written_once_and_in_order() -> None:
    question = "Who designed COSTUMES, costumes for the Singers of Merin?"
    found = unmentioned(question, ANNA, evidence("Anna Lind of Merin.", "Anna Lind designs."))
    assert found == ("COSTUMES", "costumes", "Singers")
    assert unmentioned(question, ANNA, evidence("Anna Lind of Merin.", covers=False)) == ()
    everything = evidence("Anna Lind designs a singer's costume in Merin.")
    assert unmentioned(question, ANNA, everything) == ()


def test_words_of_the_candidate_prove_nothing_unless_the_question_has_no_others() -> None:
    merin = Candidate("Merin", ("Merin",), 0.5, ())
    assert asked_share("where is Merin river", merin, evidence("Merin is a town.")) == 0
    assert asked_share("where is Merin", merin, evidence("Merin is a town.")) == 1
    assert asked_share("", merin, evidence("Merin is a town.")) == 0
