"""Which candidates count as answers: strictly above tau, else the single best. No model runs here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtv_core.records import Candidate, Prediction, Source, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.text import answer_key, normalise_answer

__all__ = ["FINE_TAUS", "TAUS", "answers", "judge", "repeats"]

TAUS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The thresholds that the paper tries on dev (appendix)."""

FINE_TAUS = tuple(round(0.01 * step, 2) for step in range(1, 100))
"""Ours: .01 to .99. A calibrated score of a small reader seldom comes near 1: its best tau lies about .1."""

_SIGNS = re.compile(r"[+#]|(?<!\w)[-−](?=\d)|(?<=\d)\.(?=\d)|[-−]$")
"""C++ and C, B+ and B-, 1.5 and 15, -40 and 40 are different answers, whatever the measures make of them."""

_LIST = re.compile(r"[,;/&]|\b(?:and|or)\b")


def judge(trace: Trace, settings: VerifierSettings) -> tuple[Prediction, ...]:
    """Every verified candidate under one threshold, best first, ties by first appearance.

    A candidate is accepted if its score is strictly above tau; if none is, the best one is kept as
    `fallback`; in single-answer mode only the best is kept. A candidate that repeats a better accepted one
    (see `repeats`) is never accepted.
    """
    scored = [(verdict.at(settings.k), i) for i, verdict in enumerate(trace.verdicts)]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    predictions: list[Prediction] = []
    kept: list[Candidate] = []
    for place, (p_right, i) in enumerate(scored):
        candidate, above = trace.candidates[i], p_right > settings.tau
        wanted = place == 0 or (above and not settings.single_answer)
        accepted = wanted and not any(repeats(candidate, better) for better in kept)
        if accepted:
            kept.append(candidate)
        predictions.append(
            Prediction(i, candidate.answer, p_right, accepted, fallback=accepted and not above)
        )
    return tuple(predictions)


def repeats(candidate: Candidate, better: Candidate) -> bool:
    """Whether two candidates are one answer: equal after normalisation, or cut from the same words.

    "Al Unser and Rick Mears" beside "Rick Mears" is another cut of one place. It repeats the better candidate
    if each passage that gave it gave the better one from overlapping words. Half of them are enough where
    the longer one is the shorter with more words about it, as "Jacksonville Jaguars" beside "Jacksonville",
    and no list: "Virginia" stays beside "West Virginia" if most of its places are its own.
    """
    if _same_words(candidate.answer, better.answer):
        return True
    if answer_key(candidate.answer) == answer_key(better.answer):
        return True
    places = [any(_overlap(own, other) for other in better.sources) for own in candidate.sources]
    if not any(places):
        return False
    return all(places) or (2 * sum(places) >= len(places) and _nested(candidate.answer, better.answer))


def _same_words(one: str, other: str) -> bool:
    """Whether two answers are equal after normalisation, and in what that drops though it matters."""
    words = normalise_answer(one)
    return bool(words) and words == normalise_answer(other) and _SIGNS.findall(one) == _SIGNS.findall(other)


def _nested(one: str, other: str) -> bool:
    """Whether the words of one answer stand in the other as they are, and the longer one is no list."""
    short, long = sorted((one, other), key=len)
    words = f" {normalise_answer(short)} "
    return bool(words.strip()) and words in f" {normalise_answer(long)} " and not _LIST.search(long)


def _overlap(one: Source, other: Source) -> bool:
    return (
        one.passage_id == other.passage_id
        and one.span.start < other.span.end
        and other.span.start < one.span.end
    )


def answers(predictions: Sequence[Prediction]) -> list[str]:
    """The accepted answers, best first."""
    return [p.answer for p in predictions if p.accepted]
