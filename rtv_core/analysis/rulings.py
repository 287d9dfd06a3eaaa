"""One verdict an answer: which judgements count, and what they say together.

adjudicated   an adjudicator's verdict stands, whatever the others say
majority      else more than half of the annotators who were sure
blind         else the only verdict, if score and gold were hidden from its annotator
single        else the only verdict, which counts if `Counting.settled_only` is False

Where no verdict has a majority, the ruling's label is "split": it leaves gold as it is and is reported. The
answer may be right all the same, in the eyes of a majority that can't agree on which gold answer it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rtv_core.records import Judgement, RunQuestion
from rtv_core.store.traces import question_key
from rtv_core.text import answer_key

__all__ = ["SETTLED", "VALID", "Counting", "Ruling", "Rulings", "key_of", "settle"]

VALID = ("listed", "variant", "unlisted")
"""The labels of valid answers."""

SPLIT = "split"
UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Counting:
    """Which verdicts count.

    `settled_only` leaves out the lone verdict of somebody who could see score and gold. `adjudicators` names
    the annotators whose verdicts settle the others'. `across_runs`: a verdict counts for every run that asks
    the same question in the same words, not only for the trace that it was made on.
    """

    settled_only: bool = True
    adjudicators: frozenset[str] = frozenset()
    across_runs: bool = False


SETTLED = Counting()
"""The rule unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the verdicts on one answer amount to.

    `label` is a judgement's label or "split". `gold` is the gold answer that a listed answer or a variant
    equals. `supported` tells whether its evidence supports it, None where nobody said or they disagree.
    `basis` is "adjudicated", "majority", "blind" or "single"; `ballots` is how many annotators judged.
    `right` tells of a split one whether most call the answer right, None where they disagree on that.
    """

    answer: str
    label: str
    gold: str = ""
    supported: bool | None = None
    basis: str = "blind"
    ballots: int = 1
    right: bool | None = None

    @property
    def clear(self) -> bool:
        """Whether it says what the answer is: right, and of which kind, or wrong."""
        return self.label not in (SPLIT, UNSURE)

    @property
    def valid(self) -> bool | None:
        """Whether the answer is right; None where that is not known."""
        if self.label == SPLIT:
            return self.right
        return self.label in VALID if self.clear else None


@dataclass(frozen=True, slots=True)
class Rulings:
    """The rulings by question and answer. `left_out` counts answers with verdicts that don't count."""

    counting: Counting = SETTLED
    by_place: Mapping[str, Mapping[str, Ruling]] = field(default_factory=dict)
    left_out: int = 0

    def of(self, question: RunQuestion, *spellings: str) -> Ruling | None:
        """The ruling on an answer of a question, under the first of its spellings that has one."""
        own = self.by_place.get(self._place(question), {})
        return next((own[key] for key in map(key_of, spellings) if key in own), None)

    def on(self, question: RunQuestion) -> tuple[Ruling, ...]:
        """All rulings on answers of a question, in the order of the answers' keys."""
        return tuple(self.by_place.get(self._place(question), {}).values())

    def _place(self, question: RunQuestion) -> str:
        return question_key(question.question.text) if self.counting.across_runs else question.trace_id


def key_of(answer: str) -> str:
    """What the store takes for the identity of an answer."""
    return answer_key(answer) or answer


def settle(judgements: Iterable[Judgement], counting: Counting = SETTLED) -> Rulings:
    """The rulings of the judgements that stand; of one annotator's several on an answer the latest counts."""
    ballots: dict[str, dict[str, dict[str, Judgement]]] = defaultdict(lambda: defaultdict(dict))
    for judgement in sorted(judgements, key=lambda j: j.at):
        place = question_key(judgement.question) if counting.across_runs else judgement.trace_id
        ballots[place][key_of(judgement.answer)][judgement.annotator] = judgement
    by_place, left_out = {}, 0
    for place, answers in sorted(ballots.items()):
        ruled = {key: _rule(answers[key], counting) for key in sorted(answers)}
        by_place[place] = {key: ruling for key, ruling in ruled.items() if ruling}
        left_out += sum(ruling is None for ruling in ruled.values())
    return Rulings(counting, by_place, left_out)


def _rule(by_annotator: Mapping[str, Judgement], counting: Counting) -> Ruling | None:
    """The ruling on one answer, or None if its only verdict doesn't count."""
    group = [by_annotator[name] for name in sorted(by_annotator)]
    umpires = [j for j in group if j.annotator in counting.adjudicators]
    if umpires:
        last = max(umpires, key=lambda j: j.at)
        return _ruling(last, [last], "adjudicated", len(group))
    sure = [j for j in group if j.label != UNSURE] or group
    if len(sure) == 1:
        basis = "blind" if sure[0].blind else "single"
        if basis == "single" and counting.settled_only:
            return None
        return _ruling(sure[0], sure, basis, len(group))
    meant = _majority([_meaning(j) for j in sure])
    agreeing = [j for j in sure if _meaning(j) == meant]
    if not agreeing:
        right = _majority([j.label in VALID for j in sure])
        return Ruling(group[0].answer, SPLIT, "", _supported(group), "majority", len(group), right)
    spoken = max(agreeing, key=lambda j: (sum(k.label == j.label for k in agreeing), j.label == "variant"))
    return _ruling(spoken, group, "majority", len(group))


def _ruling(said: Judgement, group: Sequence[Judgement], basis: str, ballots: int) -> Ruling:
    gold = said.gold if said.label in ("listed", "variant") else ""
    return Ruling(said.answer, said.label, gold, _supported(group), basis, ballots)


def _meaning(judgement: Judgement) -> Hashable:
    """What a verdict says: "listed" and "variant" of one gold answer say the same."""
    if judgement.label in ("listed", "variant"):
        return "gold", key_of(judgement.gold or judgement.answer)
    return judgement.label


def _supported(group: Sequence[Judgement]) -> bool | None:
    return _majority([j.evidence == "supports" for j in group if j.evidence])


def _majority(votes: Sequence[Hashable]) -> Hashable | None:
    """What more than half of the votes say."""
    if not votes:
        return None
    most, count = Counter(votes).most_common(1)[0]
    return most if 2 * count > len(votes) else None
