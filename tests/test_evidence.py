from dataclasses import replace

import numpy as np
import pytest
from tiny import candidate_of

from rtv_core.evidence import (
    CoverFirstGatherer,
    FreshGatherer,
    UnionGatherer,
    evidence_query,
    is_fresh,
    near_duplicates,
    rank_evidence,
    template_questions,
    verification_question,
)
from rtv_core.records import Candidate, Hit, Passage
from rtv_core.settings import EvidenceSettings

QUESTION = "how tall is the tower"


def hit(rank: int, text: str, title: str = "") -> Hit:
    return Hit(Passage(f"p{rank}", title, text), 1 - rank / 100, 0.0, rank, None, rank)


def candidate(answer: str, *spellings: str) -> Candidate:
    return Candidate(answer, (answer, *spellings), 0.5, ())


def ranked(answer: Candidate, hits: list[Hit], similarity: list[float], rule: str = "strict") -> list[int]:
    body = rank_evidence(answer, evidence_query(QUESTION, answer), hits, similarity, rule)
    return [passage.hit.rank for passage in body.passages]


def test_a_covering_passage_comes_before_any_that_does_not_cover():
    hits = [hit(1, "nothing"), hit(2, "it is 300 metres"), hit(3, "nothing either")]
    assert ranked(candidate("300 metres"), hits, [0.9, 0.1, 0.5]) == [2, 1, 3]


def test_among_covering_passages_similarity_decides_and_among_equals_the_retriever_s_rank():
    hits = [hit(rank, text) for rank, text in ((1, "x"), (2, "300"), (3, "300"), (4, "300"), (5, "y"))]
    assert ranked(candidate("300"), hits, [0.7, 0.2, 0.4, 0.2, 0.7]) == [3, 2, 4, 1, 5]


def test_the_order_of_the_hits_does_not_matter():
    hits = [hit(rank, text) for rank, text in ((1, "x"), (2, "300"), (3, "300"), (4, "y"))]
    similarity = [0.5, 0.2, 0.2, 0.5]
    assert ranked(candidate("300"), hits[::-1], similarity[::-1]) == ranked(
        candidate("300"), hits, similarity
    )


@pytest.mark.parametrize(("rule", "first"), [("strict", 2), ("official", 1)])
def test_the_rule_of_the_settings_decides_what_covers(rule, first):
    hits = [hit(1, "150 million people"), hit(2, "15 people")]
    assert ranked(candidate("15"), hits, [0.9, 0.1], rule)[0] == first


def test_each_passage_names_every_rule_by_which_it_covers_whatever_rule_ranked_it():
    hits = [hit(1, "150 million people"), hit(2, "15 people"), hit(3, "nobody")]
    for rule in ("strict", "official"):
        body = rank_evidence(candidate("15"), "", hits, [0.3, 0.2, 0.1], rule)
        assert {p.hit.rank: p.covers for p in body.passages} == {
            1: ("official",),
            2: ("strict", "official"),
            3: (),
        }


def test_a_title_and_another_spelling_cover_too():
    hits = [hit(1, "nothing"), hit(2, "about a tower", title="Beyoncé"), hit(3, "Knowles sang there")]
    assert ranked(candidate("Beyonce", "Beyoncé", "Knowles"), hits, [0.9, 0.1, 0.2]) == [3, 2, 1]


def test_a_passage_is_marked_as_recalled_only_where_the_candidate_was_taken_from_it():
    hits = [hit(1, "the tower has 300 metres"), hit(2, "300 bolts were used")]
    taken = candidate_of("300", hits[:1])
    body = rank_evidence(taken, "", hits, [0.1, 0.2], "strict")
    assert {p.hit.rank: p.recalled for p in body.passages} == {1: True, 2: False}


def test_evidence_ends_after_ten_passages():
    hits = [hit(rank, "300" if rank > 12 else "x") for rank in range(1, 21)]
    assert ranked(candidate("300"), hits, [0.0] * 20) == [13, 14, 15, 16, 17, 18, 19, 20, 1, 2]


def test_taking_away_a_passage_that_is_no_evidence_changes_nothing():
    hits = [hit(rank, "300" if rank % 3 == 0 else "x") for rank in range(1, 21)]
    similarity = [rank * 7 % 20 / 20 for rank in range(1, 21)]
    whole = rank_evidence(candidate("300"), "", hits, similarity, "strict")
    kept = {p.hit.rank for p in whole.passages}
    for out in set(range(1, 21)) - kept:
        rest = [i for i in range(20) if hits[i].rank != out]
        assert whole == rank_evidence(
            candidate("300"), "", [hits[i] for i in rest], [similarity[i] for i in rest], "strict"
        )
    first = next(i for i in range(20) if hits[i].rank == whole.passages[0].hit.rank)
    rest = [i for i in range(20) if i != first]
    assert whole != rank_evidence(
        candidate("300"), "", [hits[i] for i in rest], [similarity[i] for i in rest], "strict"
    )


def test_other_candidates_do_not_change_the_evidence_of_one():
    hits = [hit(1, "300"), hit(2, "400"), hit(3, "x")]
    table = {"300": [0.1, 0.9, 0.5], "400": [0.2, 0.3, 0.8]}

    def similarity(queries, passage_ids):
        return np.array([table[query.split()[-1]] for query in queries])

    gatherer = CoverFirstGatherer(similarity, EvidenceSettings())
    both = gatherer.gather(QUESTION, [candidate("300"), candidate("400")], hits)
    assert both == [gatherer.gather(QUESTION, [candidate(a)], hits)[0] for a in ("300", "400")]
    assert [[p.hit.rank for p in body.passages] for body in both] == [[1, 2, 3], [2, 3, 1]]
    assert [p.similarity for p in both[0].passages] == [0.1, 0.9, 0.5]


def test_a_candidate_is_compared_by_question_and_answer_with_all_the_retrieved_passages():
    asked = []

    def similarity(queries, passage_ids):
        asked.append((list(queries), list(passage_ids)))
        return np.zeros((len(queries), len(passage_ids)))

    hits = [hit(1, "300"), hit(2, "x")]
    bodies = CoverFirstGatherer(similarity, EvidenceSettings()).gather(
        QUESTION, [candidate("300", "three hundred"), candidate("x")], hits
    )
    assert asked == [([f"{QUESTION} 300", f"{QUESTION} x"], ["p1", "p2"])]
    assert [body.query for body in bodies] == asked[0][0]


def test_the_gatherer_ranks_by_the_rule_of_its_settings():
    hits = [hit(1, "150 million"), hit(2, "15")]

    def similarity(queries, passage_ids):
        return np.array([[0.9, 0.1]])

    first = {
        rule: CoverFirstGatherer(similarity, replace(EvidenceSettings(), coverage=rule))
        .gather(QUESTION, [candidate("15")], hits)[0]
        .passages[0]
        .hit.rank
        for rule in ("strict", "official")
    }
    assert first == {"strict": 2, "official": 1}


def test_without_candidates_or_passages_nothing_is_compared():
    def similarity(queries, passage_ids):
        raise AssertionError("there is nothing to compare")

    gatherer = CoverFirstGatherer(similarity, EvidenceSettings())
    assert gatherer.gather(QUESTION, [], [hit(1, "x")]) == []
    (body,) = gatherer.gather(QUESTION, [candidate("x")], [])
    assert (body.candidate.answer, body.passages) == ("x", ())


def fresh_hit(passage: Passage, rank: int) -> Hit:
    return Hit(passage, 0.4, 1.5, rank, rank, rank)


class Library:
    """Finds the passages that hold a word of the query after its colon or before its question mark."""

    def __init__(self, passages: list[Passage]) -> None:
        self.passages = passages
        self.asked: list[str] = []

    def search(self, questions, k):
        self.asked += questions
        return [
            [
                fresh_hit(p, rank)
                for rank, p in enumerate(
                    (p for p in self.passages if set(q.rstrip("?").split()) & words(p)), 1
                )
            ][:k]
            for q in questions
        ]

    def similarity(self, queries, passage_ids):
        texts = {p.id: p for p in self.passages}
        return np.array(
            [[len(set(q.split()) & words(texts[id_])) / 10 for id_ in passage_ids] for q in queries]
        ).reshape(len(queries), len(passage_ids))


def words(passage: Passage) -> set[str]:
    return set(passage.text.split())


def template(question: str, candidates: list[Candidate]) -> list[str]:
    return [f"about {c.answer}?" for c in candidates]


RETRIEVED = [hit(1, "the tower was built in 1889"), hit(2, "its height is 300 metres")]
LIBRARY = [
    *(h.passage for h in RETRIEVED),
    Passage("f1", "", "a mast of 300 metres stands beside the river in the north of the town"),
    Passage("f2", "", "a mast of 300 metres stands beside the river in the north of the city"),
    Passage("f3", "", "the bridge has 300 rivets"),
]


def test_fresh_evidence_is_ranked_with_the_retrieved_and_counts_behind_them():
    settings = replace(EvidenceSettings(), source="fresh", fresh=2)
    (body,) = UnionGatherer(Library(LIBRARY), settings, template).gather(
        QUESTION, [candidate("300")], RETRIEVED
    )
    assert {p.hit.passage.id: (p.hit.rank, is_fresh(p, RETRIEVED)) for p in body.passages} == {
        "p1": (1, False),
        "p2": (2, False),
        "f1": (3, True),
        "f3": (4, True),
    }
    assert [bool(p.covers) for p in body.passages] == [True, True, True, False]
    assert body.query == evidence_query(QUESTION, candidate("300"))


def test_a_fresh_passage_is_scored_by_the_question_and_was_found_by_neither_side():
    settings = replace(EvidenceSettings(), source="fresh", fresh=1)
    (body,) = UnionGatherer(Library(LIBRARY), settings, template).gather(
        "how tall is the tower", [candidate("300")], RETRIEVED
    )
    (own,) = [p.hit for p in body.passages if p.hit.passage.id == "f1"]
    assert (own.dense, own.lexical, own.dense_rank, own.lexical_rank) == (0.1, 0.0, None, None)


def test_a_passage_that_nearly_repeats_one_before_it_is_no_fresh_evidence():
    assert near_duplicates(LIBRARY[2].text, LIBRARY[3].text)
    assert not near_duplicates(LIBRARY[2].text, LIBRARY[4].text)
    assert near_duplicates("The 300 metres.", "300 metres")


def test_two_candidates_share_a_fresh_passage_under_one_rank():
    settings = replace(EvidenceSettings(), source="fresh", fresh=3)
    bodies = UnionGatherer(Library(LIBRARY), settings, template).gather(
        QUESTION, [candidate("300"), candidate("metres")], RETRIEVED
    )
    ranks = [{p.hit.passage.id: p.hit.rank for p in body.passages if p.hit.rank > 2} for body in bodies]
    assert ranks == [{"f1": 3, "f3": 4}, {"f1": 3}]


def test_evidence_from_a_candidate_s_own_passages_comes_first_and_new_ones_follow():
    library = Library(LIBRARY)
    taken = candidate_of("300", RETRIEVED)
    (body,) = FreshGatherer(library, template, fresh=1).gather(QUESTION, [taken], RETRIEVED)
    assert library.asked == ["about 300?"]
    assert [p.hit.passage.id for p in body.passages] == ["p2", "f1"]
    assert body.query == "about 300?"
    assert [p.recalled for p in body.passages] == [True, False]


def test_no_more_sources_and_new_passages_than_wanted_are_gathered():
    taken = candidate_of("e", hits := [hit(rank, f"e {rank}") for rank in range(1, 9)])
    library = Library([*(h.passage for h in hits), *LIBRARY])
    (body,) = FreshGatherer(library, None, fresh=0, sources=2).gather(QUESTION, [taken], hits)
    assert [p.hit.passage.id for p in body.passages] == ["p1", "p2"]
    assert (library.asked, body.query) == ([], f"{QUESTION} e")
    (body,) = FreshGatherer(library, lambda q, c: ["300?"], fresh=9, sources=9).gather(
        QUESTION, [taken], hits
    )
    assert len(body.passages) == 10


def test_a_candidate_of_no_known_passage_is_judged_by_the_first_retrieved_ones():
    (body,) = FreshGatherer(Library(LIBRARY), None, fresh=0, sources=1).gather(
        QUESTION, [candidate("x")], RETRIEVED
    )
    assert [p.hit.passage.id for p in body.passages] == ["p1"]


@pytest.mark.parametrize(
    ("question", "answer", "asked"),
    [
        ("Who sang Lost Boy?", "Ruth B.", "Ruth B. sang Lost Boy?"),
        ("what is the capital of France", "Paris", "is Paris the capital of France?"),
        ("Who were the founders ?", "Ana", "were Ana the founders?"),
        ("when did it open?", "1887", "when did it open: 1887?"),
        ("Which rivers are long", "the Nile", "Which rivers are long: the Nile?"),
    ],
)
def test_a_template_makes_a_verification_question_that_names_the_candidate(question, answer, asked):
    assert verification_question(question, candidate(answer)) == asked
    assert template_questions(question, [candidate(answer)]) == [asked]


def test_without_candidates_nothing_is_sought():
    library = Library(LIBRARY)
    settings = replace(EvidenceSettings(), source="fresh")
    assert UnionGatherer(library, settings, template).gather(QUESTION, [], RETRIEVED) == []
    assert FreshGatherer(library, template).gather(QUESTION, [], RETRIEVED) == []
    assert library.asked == []
