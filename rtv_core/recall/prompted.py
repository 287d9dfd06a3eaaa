"""The prompted recaller: a language model lists what a passage, or all of them together, says in answer.

Its answers are words, not places: one that a passage holds only in its title, or in other words, is an answer
too. So candidates are united here from the answers, and a place is noted where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.llm.prompter import Ask, Form, Prompter
from rtv_core.llm.replies import ANSWERS_SCHEMA, parse_answers
from rtv_core.records import Candidate, Hit, Reading, Source, Span
from rtv_core.settings import LLMSettings
from rtv_core.text import answer_key, covers, find_answer

__all__ = ["Listed", "PromptedRecaller", "readings_of", "unite_answers"]


@dataclass(frozen=True, slots=True)
class Listed:
    """The answers of each passage, parallel to the passages that were read, and those of no one passage."""

    by_passage: tuple[tuple[str, ...], ...] = ()
    others: tuple[str, ...] = ()

    def and_then(self, more: Listed) -> Listed:
        """These, and the answers of further passages."""
        return Listed(self.by_passage + more.by_passage, self.others + more.others)


class PromptedRecaller:
    """Reads each passage in a prompt of its own, or all in one (`llm.reading`).

    A passage whose reply was refused or malformed twice gives nothing; the exchange says so.
    """

    def __init__(self, prompter: Prompter, settings: LLMSettings) -> None:
        self._prompter, self._settings = prompter, settings

    @property
    def together(self) -> bool:
        """Whether all passages are read in one prompt, so that they must come in one call."""
        return self._settings.reading == "together"

    def read(self, question: str, hits: Sequence[Hit]) -> Listed:
        """The answers that these passages give."""
        if not hits:
            return Listed()
        form = Form(
            parse_answers,
            self._settings.answer_tokens,
            schema=ANSWERS_SCHEMA if self._settings.structured else None,
        )
        values = {"question": question}
        if self.together:
            asks = [Ask("", values, tuple(hit.passage for hit in hits))]
        else:
            asks = [Ask(hit.passage.id, values, (hit.passage,)) for hit in hits]
        prompt = "read-together" if self.together else "read"
        answered = self._prompter.ask_all(question, "read", prompt, asks, form)
        given = tuple(one.parsed.answers if one.parsed else () for one in answered)
        return _placed(given[0], hits) if self.together else Listed(given)

    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        """One reading per hit; answers that stand nowhere in a passage's text are not among its spans."""
        return readings_of(hits, self.read(question, hits))


def readings_of(hits: Sequence[Hit], listed: Listed) -> list[Reading]:
    """What was made of each passage: the places of its answers; relevant if it gave any."""
    readings = []
    for hit, answers in zip(hits, listed.by_passage, strict=False):
        spans = dict.fromkeys(span for a in answers if not (span := _place(hit, a)).is_nowhere)
        readings.append(Reading(hit.passage.id, float(bool(answers)), tuple(spans)))
    return readings


def unite_answers(hits: Sequence[Hit], listed: Listed, most: int) -> tuple[Candidate, ...]:
    """The candidates, first appearance first; of more than `most` those that the most passages gave.

    A candidate is called by its commonest spelling, the first of equals. Its score is 1: a word, no measure.
    """
    sources: dict[str, list[Source]] = {}
    spellings: dict[str, dict[str, int]] = {}
    given = [(h, a) for h, own in zip(hits, listed.by_passage, strict=False) for a in own]
    for hit, answer in [*given, *((None, answer) for answer in listed.others)]:
        if not (key := answer_key(answer)):
            continue
        counts = spellings.setdefault(key, {})
        counts[answer] = counts.get(answer, 0) + 1
        own = sources.setdefault(key, [])
        if hit is not None:
            own.append(Source(hit.passage.id, hit.rank, _place(hit, answer), 1.0))
    candidates = []
    for key, counts in spellings.items():
        names = tuple(sorted(counts, key=lambda name: -counts[name]))
        candidates.append(Candidate(names[0], names, 1.0, tuple(sources[key])))
    if len(candidates) > most:
        best = sorted(range(len(candidates)), key=lambda i: (-len(candidates[i].sources), i))[:most]
        candidates = [candidates[i] for i in sorted(best)]
    return tuple(candidates)


def _placed(answers: Sequence[str], hits: Sequence[Hit]) -> Listed:
    """Answers of all passages together, given to each passage that holds them in title or text."""
    texts = [f"{hit.passage.title}\n{hit.passage.text}" for hit in hits]
    held = tuple(tuple(a for a in answers if covers(text, a)) for text in texts)
    return Listed(held, tuple(a for a in answers if not any(a in own for own in held)))


def _place(hit: Hit, answer: str) -> Span:
    for rule in ("strict", "official"):
        if found := find_answer(hit.passage.text, answer, rule):
            return Span(*found[0], 1.0)
    return Span.nowhere()
