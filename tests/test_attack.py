"""Taking evidence away: what is scored, the smallest set that flips a verdict, how far a score moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from tiny import PASSAGES, QUESTIONS, candidate_of, hits_of, tiny_reader

from rtv_core.attack import Attack, Flip, Removal, of_title, reach, smallest_flip, supporters
from rtv_core.errors import InputError
from rtv_core.records import Candidate, Evidence, EvidencePassage, Hit, Passage, Verdict
from rtv_core.verify.embedded import EmbeddedVerifier


@dataclass
class RuleVerifier:
    """Scores by which passages (ids "0", "1", ...) are there; keeps what it was asked."""

    rule: Callable[[frozenset[str]], float]
    asked: list[frozenset[str]] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        there = [frozenset(p.hit.passage.id for p in body.passages) for body in evidence]
        self.asked += there
        self.batches.append(len(there))
        return [Verdict((0.0, 0.0, self.rule(ids))) for ids in there]


def evidence(count: int, covering: Sequence[int] = (0,)) -> Evidence:
    """Passages "0", "1", ...: the `covering` ones hold the candidate Oslo; odd ones hold Bern."""
    passages = []
    for i in range(count):
        text = f"{'Oslo' if i in covering else 'No town'} and {'Bern' if i % 2 else 'no other'} lie there."
        hit = Hit(Passage(str(i), f"Title {i // 2}", text), 0.5, 0.0, i + 1, None, i + 1)
        passages.append(EvidencePassage(hit, ("strict",) if i in covering else (), 0.5, i in covering))
    return Evidence(Candidate("Oslo", ("Oslo",), 0.5, ()), "query", tuple(passages))


def pair(ids: frozenset[str]) -> float:
    """Falls only without both 1 and 4; rises without 2."""
    return (0.8 if {"1", "4"} & ids else 0.3) + (0.0 if "2" in ids else 0.1)


def test_a_score_is_that_of_the_passages_that_are_left_and_no_set_is_scored_twice() -> None:
    verifier = RuleVerifier(pair)
    attack = Attack(verifier, "which", evidence(5))
    assert attack.whole == 0.8
    assert attack.scores([(2,), [4, 1], {1, 4}]) == pytest.approx([0.9, 0.3, 0.3])
    assert verifier.asked == [frozenset("01234"), frozenset("0134"), frozenset("023")]
    assert attack.scored == 3


def test_with_a_smaller_k_only_the_first_passages_count_and_none_steps_in() -> None:
    verifier = RuleVerifier(pair)
    attack = Attack(verifier, "which", evidence(10), k=5)
    with pytest.raises(ValueError, match="not in"):
        Attack(verifier, "which", evidence(10), k=3).score(())
    attack.score((0,))
    assert verifier.asked[-1] == frozenset("1234")


def test_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="no evidence passage 6; there are 5"):
        Attack(RuleVerifier(pair), "which", evidence(5)).score((5,))


def test_the_smallest_flip_is_found_exactly_where_no_single_passage_flips() -> None:
    assert smallest_flip(Attack(RuleVerifier(pair), "which", evidence(5)), 0.5) == Flip(
        Removal((1, 4), 0.3), True, 1 + 5 + 10
    )


def test_a_rejected_candidate_flips_upwards_and_the_clearest_of_equal_sets_is_named() -> None:
    attack = Attack(
        RuleVerifier(lambda ids: 0.4 + 0.2 * ("1" not in ids) + 0.3 * ("3" not in ids)), "q", evidence(5)
    )
    assert smallest_flip(attack, 0.5).removal == Removal((3,), pytest.approx(0.7))


def test_taking_everything_is_no_flip() -> None:
    verifier = RuleVerifier(lambda ids: 0.9 if ids else 0.0)
    flip = smallest_flip(Attack(verifier, "which", evidence(4)), 0.5)
    assert (flip.removal, flip.exact, flip.scored) == (None, True, 1 + 4 + 6 + 4)
    assert frozenset() not in verifier.asked
    assert smallest_flip(Attack(verifier, "which", evidence(1)), 0.5).removal is None


def test_a_score_of_exactly_tau_lies_below_it() -> None:
    attack = Attack(RuleVerifier(lambda ids: 0.5 if "0" in ids else 0.6), "which", evidence(3))
    assert smallest_flip(attack, 0.5).removal == Removal((0,), 0.6)


def test_beyond_the_budget_only_promising_sets_grow_and_the_result_says_so() -> None:
    def need(ids: frozenset[str]) -> float:
        """Each of 7, 8 and 9 counts a little; only without all three the score is below .5."""
        return 0.4 + 0.15 * len(ids & frozenset("789"))

    exact = smallest_flip(Attack(RuleVerifier(need), "which", evidence(10)), 0.5)
    few = smallest_flip(Attack(RuleVerifier(need), "which", evidence(10)), 0.5, budget=20)
    assert exact.removal == few.removal == Removal((7, 8, 9), pytest.approx(0.4))
    assert (exact.exact, exact.scored) == (True, 1 + 10 + 45 + 120)
    assert not few.exact
    assert few.scored < exact.scored


def test_sets_are_scored_in_batches() -> None:
    verifier = RuleVerifier(lambda ids: 0.9)
    smallest_flip(Attack(verifier, "which", evidence(10)), 0.5)
    assert max(verifier.batches) <= 64
    assert sum(verifier.batches) == 2**10 - 1


def test_reach_names_the_fewest_passages_with_the_largest_rise_and_fall() -> None:
    found = reach(Attack(RuleVerifier(pair), "which", evidence(5)), (1, 2, 3, 4))
    assert found.lowest == Removal((1, 4), 0.3)
    assert found.highest == Removal((2,), pytest.approx(0.9))
    assert (found.whole, found.exact) == (0.8, True)
    assert (found.fall, found.rise) == (pytest.approx(0.5), pytest.approx(0.1))


def test_reach_of_nothing_removable_is_nothing() -> None:
    found = reach(Attack(RuleVerifier(pair), "which", evidence(5)), ())
    assert found.lowest == found.highest == Removal((), 0.8)
    assert found.fall == found.rise == 0


def test_reach_beyond_the_budget_finds_both_ends_of_an_additive_score() -> None:
    weights = {str(i): (-1) ** i * 0.01 * (i + 1) for i in range(10)}
    attack = Attack(RuleVerifier(lambda ids: 0.5 + math.fsum(weights[i] for i in ids)), "which", evidence(10))
    found = reach(attack, range(10), budget=30)
    assert found.lowest.taken == (0, 2, 4, 6, 8)
    assert found.highest.taken == (1, 3, 5, 7, 9)
    assert not found.exact


def test_supporters_cover_the_other_answer_and_never_the_candidate() -> None:
    assert supporters(evidence(6, covering=(0, 1)), ("Berne", "Bern")) == (3, 5)
    assert supporters(evidence(6, covering=(0, 1)), ("Bern",), k=5) == (3,)
    assert supporters(evidence(6), ("Rome",)) == ()


def test_a_title_names_all_its_passages() -> None:
    assert of_title(evidence(6), "Title 1") == (2, 3)
    assert of_title(evidence(6), "") == ()


def test_the_real_verifier_moves_with_its_evidence_and_scores_nothing_without_any() -> None:
    hits = hits_of(PASSAGES[:6])
    candidate = candidate_of("Merin", hits)
    rule = [("strict",) if "Merin" in hit.passage.text else () for hit in hits]
    passages = tuple(EvidencePassage(h, c, h.dense, bool(c)) for h, c in zip(hits, rule, strict=True))
    verifier = EmbeddedVerifier(tiny_reader())
    attack = Attack(verifier, QUESTIONS[0], Evidence(candidate, "query", passages))
    alone = verifier.verify(QUESTIONS[0], [Evidence(candidate, "query", passages[1:])])[0].at(10)
    assert attack.score((0,)) == pytest.approx(alone, abs=1e-5)
    assert attack.score(range(6)) == 0
    found = reach(attack, range(1, 6))
    assert found.exact
    assert found.lowest.p_right < attack.whole < found.highest.p_right
    tau = (found.whole + found.highest.p_right) / 2
    flip = smallest_flip(attack, tau)
    assert flip.exact
    assert attack.score(flip.removal.taken) > tau
