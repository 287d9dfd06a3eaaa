"""The prompted verifier: a language model writes a question about each candidate, then judges by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rtv_core.evidence import verification_question
from rtv_core.llm.exchanges import Exchange
from rtv_core.llm.prompter import Answered, Ask, Form, Prompter
from rtv_core.llm.replies import QUESTION_SCHEMA, parse_question, parse_verdict
from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, Verdict
from rtv_core.settings import LLMSettings
from rtv_core.text import covers_any

__all__ = ["PromptedQuestions", "PromptedVerifier"]

TEMPLATE = "the template was asked instead"
SAMPLING_TEMPERATURE = 0.7


class PromptedQuestions:
    """Writes verification questions; where none can be had, or it names no candidate, the template asks."""

    def __init__(self, prompter: Prompter, settings: LLMSettings) -> None:
        self._prompter, self._settings = prompter, settings

    def __call__(self, question: str, candidates: Sequence[Candidate]) -> list[str]:
        """One question per candidate."""
        asks = [Ask(c.answer, {"question": question, "answer": c.answer}) for c in candidates]
        schema = QUESTION_SCHEMA if self._settings.structured else None
        form = Form(parse_question, self._settings.answer_tokens, schema=schema)
        answered = self._prompter.ask_all(question, "question", "question", asks, form)
        questions, replaced = [], []
        for candidate, one in zip(candidates, answered, strict=True):
            written = one.parsed.question if one.parsed else ""
            if not covers_any(written, candidate.spellings, "official"):
                replaced.append(_replaced(one.exchange, written))
                written = verification_question(question, candidate)
            questions.append(written)
        self._prompter.keep(question, replaced)
        return questions


class PromptedVerifier:
    """Judges each candidate on its own evidence; the score is the same for every evidence size.

    The score is P(Yes) / (P(Yes) + P(No)) where the server gives log-probabilities, else the share of Yes
    among samples, or 1 or 0 for a plain word: the exchange's `method` says which. Without verification
    (`llm.verify`) every candidate scores 1. A reply that was refused, or malformed twice, scores 0, and so
    does a candidate without evidence.
    """

    def __init__(self, prompter: Prompter, settings: LLMSettings) -> None:
        self._prompter, self._settings = prompter, settings

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        """One verdict per body of evidence."""
        if not self._settings.verify:
            return [_verdict(1.0) for _ in evidence]
        judged = [body for body in evidence if body.passages]
        asks = [_ask(question, body) for body in judged]
        logprobs = self._settings.score == "auto"
        form = Form(parse_verdict, self._settings.verdict_tokens, logprobs=logprobs)
        answered = self._asked(question, asks, form)
        scores = self._sampled(question, asks, answered) if asks else []
        found = iter(scores)
        return [_verdict(next(found) if body.passages else 0.0) for body in evidence]

    def _asked(self, question: str, asks: Sequence[Ask], form: Form, sample: int = 0) -> list[Answered]:
        prompt = "judge" if self._settings.ask_question else "judge-directly"
        return self._prompter.ask_all(question, "judge", prompt, asks, form, sample)

    def _sampled(self, question: str, asks: Sequence[Ask], answered: Sequence[Answered]) -> list[float]:
        """The scores; plain words are replaced by shares of samples, if samples are wanted."""
        scores = [one.parsed.p_yes if one.parsed else 0.0 for one in answered]
        words = [i for i, one in enumerate(answered) if one.parsed and one.parsed.method == "word"]
        if self._settings.samples == 1 or not words:
            return scores
        form = Form(parse_verdict, self._settings.verdict_tokens, temperature=SAMPLING_TEMPERATURE)
        votes: list[list[bool]] = [[] for _ in words]
        for sample in range(1, self._settings.samples + 1):
            for own, one in zip(
                votes, self._asked(question, [asks[i] for i in words], form, sample), strict=True
            ):
                if one.parsed:
                    own.append(one.parsed.yes)
        kept = []
        for i, own in zip(words, votes, strict=True):
            if own:
                scores[i] = sum(own) / len(own)
                kept.append(replace(answered[i].exchange, method="samples", p_yes=scores[i]))
        self._prompter.keep(question, kept)
        return scores


def _ask(question: str, body: Evidence) -> Ask:
    values = {"question": question, "answer": body.candidate.answer, "verification": body.query}
    return Ask(body.candidate.answer, values, tuple(p.hit.passage for p in body.passages))


def _verdict(p_right: float) -> Verdict:
    return Verdict((p_right,) * len(EVIDENCE_SIZES))


def _replaced(exchange: Exchange, written: str) -> Exchange:
    """The exchange of a question that was not used, with what was done about it."""
    why = "does not name the candidate" if written else exchange.why
    status = "malformed" if written else exchange.status
    return replace(exchange, status=status, why=f"{why}; {TEMPLATE}")
