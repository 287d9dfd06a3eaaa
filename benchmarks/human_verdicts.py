"""What published human verdicts say of exact match, and of the proposals that `annotation.aliases` makes.

Run: python -m benchmarks.human_verdicts --data DIR

DIR holds the files of EVOUNA (NQ.json, TQ.json) and OpenQA-eval (NQ301_human.tsv, NQ_*.jsonl), gzipped or
not, in folders of any name. The first table can be counted from the files by hand. The others take answers of
at most five words that equal no gold answer, each once a question: a proposal with a score of `LIKELY` or
more says "the same as gold", and it is right if people accepted the answer. The rules and their scores were
made on the questions of one half; the figures to quote are the other half's.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rtv_core.analysis.shares import Share, share
from rtv_core.annotation.agreement import agreement, ratings
from rtv_core.annotation.aliases import LIKELY, Suggestion, suggest
from rtv_core.human_verdicts import VERDICT_SETS, HumanVerdict, VerdictSet, is_exact, read_verdicts
from rtv_core.records import Judgement
from rtv_core.store.traces import question_key
from rtv_core.text import normalise_answer

LONGEST = 5
TUNING, REPORTED = 0, 1


@dataclass(frozen=True, slots=True)
class Case:
    """A short answer that equals no gold answer, what people said, and the best proposal."""

    name: str
    half: int
    accepted: bool
    best: Suggestion | None

    @property
    def proposed(self) -> bool:
        return self.best is not None and self.best.score >= LIKELY


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True, help="A folder with both sets.")
def main(data: Path) -> None:
    """Print accuracy by system, agreement of the annotators, and how good the proposals are."""
    sets = [read_verdicts(data, name) for name in VERDICT_SETS]
    show_accuracy(sets)
    for verdicts in sets:
        show_agreement(verdicts)
    cases = [case for verdicts in sets for case in short_cases(verdicts)]
    show_proposals("Proposals, tuning half", [case for case in cases if case.half == TUNING])
    show_proposals("Proposals, other half", [case for case in cases if case.half == REPORTED])
    show_rules([case for case in cases if case.half == TUNING])
    show_rules([case for case in cases if case.half == REPORTED])


def show_accuracy(sets: Sequence[VerdictSet]) -> None:
    """Raw: exact match. Corrected: exact match and false negatives. People: what they accepted."""
    print(
        "set          system            judged  exact  false neg.  exact, rejected    raw  corrected  people"
    )
    for verdicts in sets:
        for system in verdicts.systems:
            counts = Counter((is_exact(verdict), verdict.accepted) for verdict in system.verdicts)
            judged, exact = counts.total(), counts[True, True] + counts[True, False]
            missed = counts[False, True]
            accepted = missed + counts[True, True]
            shares = [100 * count / judged for count in (exact, exact + missed, accepted)]
            print(
                f"{verdicts.name:<12} {system.system:<16} {judged:7,} {exact:6,} {missed:11,} "
                f"{counts[True, False]:16,} {shares[0]:6.1f} {shares[1]:10.1f} {shares[2]:7.1f}"
            )


def show_agreement(verdicts: VerdictSet) -> None:
    """Between the first two annotators, and among all, where single verdicts are known."""
    said = [
        Judgement(verdict.question.id, verdict.question.text, f"{number}", _label(vote), name)
        for number, verdict in enumerate(verdicts.verdicts)
        for name, vote in verdict.votes
    ]
    for left_out in ({"annotator3"}, set()):
        found = agreement(ratings(said, leave_out=left_out)) if said else None
        for coefficient in (found.percent, found.kappa, found.alpha) if found else ():
            print(
                f"{verdicts.name}, {len(found.annotators)} annotators: {coefficient.name} "
                f"{coefficient.value:.3f} [{coefficient.low:.3f}, {coefficient.high:.3f}], "
                f"{coefficient.items:,} items. {coefficient.note}"
            )


def short_cases(verdicts: VerdictSet) -> Iterable[Case]:
    """Each distinct short answer that equals no gold answer, once a question and verdict."""
    seen = set()
    for verdict in verdicts.verdicts:
        key = verdict.question.id, normalise_answer(verdict.answer), verdict.accepted
        if len(verdict.answer.split()) > LONGEST or is_exact(verdict) or key in seen:
            continue
        seen.add(key)
        yield Case(verdicts.name, half_of(verdict), verdict.accepted, _best(verdict))


def half_of(verdict: HumanVerdict) -> int:
    """The half that the question lies in, the same in every set that asks it."""
    return hashlib.sha256(question_key(verdict.question.text).encode()).digest()[0] % 2


def show_proposals(title: str, cases: Sequence[Case]) -> None:
    """Precision and recall of "the same as gold", with Wilson intervals."""
    print(f"\n{title}: score >= {LIKELY}\nset           accepted  rejected  precision             recall")
    for name in (*sorted({case.name for case in cases}), "all"):
        own = [case for case in cases if name in (case.name, "all")]
        accepted = sum(case.accepted for case in own)
        proposed = [case for case in own if case.proposed]
        right = sum(case.accepted for case in proposed)
        precision, recall = (share("", right, of) for of in (len(proposed), accepted))
        print(f"{name:<12} {accepted:9,} {len(own) - accepted:9,}  {_percent(precision)}  {_percent(recall)}")


def show_rules(cases: Sequence[Case]) -> None:
    """By rule how often people accepted and rejected the answer, and the score that follows."""
    counts = Counter((case.best.reason, case.accepted) for case in cases if case.best)
    print("\naccepted  rejected  (accepted + 1) / (cases + 2)  reason")
    for reason in sorted({reason for reason, _ in counts}):
        right, wrong = counts[reason, True], counts[reason, False]
        print(f"{right:8,} {wrong:9,} {(right + 1) / (right + wrong + 2):29.2f}  {reason}")


def _best(verdict: HumanVerdict) -> Suggestion | None:
    gold = verdict.question.answers[0] if verdict.question.answers else ()
    return next(iter(suggest(verdict.answer, gold, verdict.question.text)), None)


def _label(accepted: bool) -> str:
    return "unlisted" if accepted else "invalid"


def _percent(found: Share) -> str:
    return f"{100 * found.share:5.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


if __name__ == "__main__":
    main()
