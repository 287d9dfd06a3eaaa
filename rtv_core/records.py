"""The nouns: what passes between the stages, the store, the page and the metrics.

Frozen, with tuples inside, so that a record can be shared between threads, hashed and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

__all__ = [
    "EVIDENCE_SIZES",
    "LOST",
    "Candidate",
    "Evidence",
    "EvidencePassage",
    "Hit",
    "Judgement",
    "Passage",
    "Prediction",
    "Question",
    "QueueItem",
    "QueuePlan",
    "Reading",
    "Run",
    "RunAnswer",
    "RunGold",
    "RunQuestion",
    "Source",
    "Span",
    "Support",
    "Trace",
    "Verdict",
    "Wording",
]

EVIDENCE_SIZES = (1, 5, 10)
"""The evidence sizes k for which every verdict holds a score (paper, figure 4)."""

LOST = (
    "not retrieved",
    "not recalled",
    "not covered",
    "at or below tau",
    "predicted",
    "not predicted",
)
"""What can become of a gold answer: the stage that lost it, or "predicted".

"not predicted" is all that can be said where a system's passages or candidates aren't known.
"""


@dataclass(frozen=True, slots=True)
class Passage:
    """A block of about 100 words. `title` may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and, when known, its gold.

    `answers` has one entry per annotation; an annotation is a tuple of answers; an answer is a tuple of
    its accepted spellings. `()` means that no gold is known, `((),)` that the gold is "no answer".
    """

    id: str
    text: str
    answers: tuple[tuple[tuple[str, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved passage. Ranks count from 1; a side that did not find the passage has rank None.

    `dense` is the inner product of unit vectors (-1 to 1), known for every hit, found by words alone or not.
    `lexical` is the BM25 score, 0 when no question word occurs.
    """

    passage: Passage
    dense: float
    lexical: float
    dense_rank: int | None
    lexical_rank: int | None
    rank: int


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of `Passage.text` that the recaller takes for an answer; score 0 to 1."""

    start: int
    end: int
    score: float

    @classmethod
    def nowhere(cls, score: float = 1.0) -> Span:
        """Of an answer that the passage's text doesn't hold word by word. It overlaps no other span."""
        return cls(0, 0, score)

    @property
    def is_nowhere(self) -> bool:
        return self.start == self.end


@dataclass(frozen=True, slots=True)
class Wording:
    """An answer in a recaller's own words; score 0 to 1."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What the recaller made of one passage, read alone.

    `relevance` is the probability that the passage holds an answer at all: low means "irrelevant". A recaller
    that writes may give answers that stand in the title alone, or in no words of the passage: `wordings`.
    """

    passage_id: str
    relevance: float
    spans: tuple[Span, ...]
    wordings: tuple[Wording, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a candidate was recalled; a span of no length where the text doesn't hold it."""

    passage_id: str
    rank: int
    span: Span
    relevance: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer, united over the passages that gave it.

    `answer` is the best-scored spelling, `spellings` all of them (`answer` first), `score` the best span's.
    """

    answer: str
    spellings: tuple[str, ...]
    score: float
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class EvidencePassage:
    """A passage gathered for a candidate.

    `covers` holds the names of the rules by which the passage covers the candidate ("strict", "official");
    empty means that it doesn't. `similarity` is the dense score against question + candidate. `recalled`
    tells whether the recaller took the candidate from this very passage.
    """

    hit: Hit
    covers: tuple[str, ...]
    similarity: float
    recalled: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one candidate, best first, and the query that ranked it."""

    candidate: Candidate
    query: str
    passages: tuple[EvidencePassage, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verifier's scores of one candidate.

    `p_right[i]` is the validity score from the first `EVIDENCE_SIZES[i]` evidence passages: a softmax over
    the logits of "right" and "wrong" (paper, equation 1). `weights` has one share per evidence passage of
    the largest k, summing to 1: how far the verifier attended to it. That is model behaviour, not a cause.
    """

    p_right: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def at(self, k: int) -> float:
        """The validity score for evidence size `k`, one of `EVIDENCE_SIZES`."""
        return self.p_right[EVIDENCE_SIZES.index(k)]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A candidate as it stands under one threshold. `fallback`: the top-1, kept though nothing passed tau."""

    index: int
    answer: str
    p_right: float
    accepted: bool
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that happened to one question; each stage returns it grown by one part.

    `readings` runs parallel to the first passages of `hits` (all of them once recall is done); `evidence` and
    `verdicts` run parallel to the first `candidates`. `seconds` is wall time by stage. `stage` names the last
    finished stage: "asked", "retrieved", "recalled", "gathered", "verified". A stopped run keeps `complete`
    False.
    """

    question: Question
    hits: tuple[Hit, ...] = ()
    readings: tuple[Reading, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    provenance: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    stage: str = "asked"

    @property
    def complete(self) -> bool:
        """Whether every stage ran to its end."""
        return self.stage == "verified"

    def grown(self, **parts: object) -> Trace:
        """This trace with some parts replaced."""
        return replace(self, **parts)


@dataclass(frozen=True, slots=True)
class Support:
    """Where an answer stands: characters [start, end) of a passage's text, and the words there.

    Of very many words the first 300 characters are kept.
    """

    passage_id: str
    start: int
    end: int
    words: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one person said of one candidate (or of an answer nobody recalled) of one trace.

    `label` is one of "listed", "variant", "unlisted", "invalid", "unsure"; `evidence` one of "supports",
    "insufficient", "contradicts", "other-entity" or "" (not said). `gold` names the gold answer that a
    variant (or a listed answer) equals. `support` is the place in one of the trace's passages that shows the
    answer to be right, where a person named one. `recalled` is False for an answer that was typed in.
    `p_right`, `tau` and `k` are what the page showed; `blind` is False when score and gold could be seen
    before judging.
    """

    trace_id: str
    question: str
    answer: str
    label: str
    annotator: str
    evidence: str = ""
    gold: str = ""
    note: str = ""
    support: Support | None = None
    recalled: bool = True
    blind: bool = False
    p_right: float | None = None
    tau: float | None = None
    k: int | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One system's answers to a question set.

    `id` is the first 16 hex digits of a SHA-256 over `name`. `at` is when it began (UTC, ISO 8601).
    `questions` counts those that are stored. `scored` is False where the predictions have no scores: `tau` is
    then None, and so is every `p_right`. `provenance` says which models, corpus, settings and files it came
    from.
    """

    id: str
    name: str
    system: str
    at: str
    questions: int
    scored: bool
    tau: float | None
    k: int
    provenance: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A candidate as a run left it.

    `predicted`: the run gave it as an answer. `gold` is the gold answer (its first spelling) that it equals,
    "" if none: of a predicted answer as the measures see it, so that only what they count as right has one,
    of a rejected one in any of its spellings. `repeats`: it is another cut or spelling of a better answer.
    """

    answer: str
    spellings: tuple[str, ...]
    p_right: float | None
    predicted: bool
    gold: str
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class RunGold:
    """One gold answer, of the annotation that suits the predictions best; `lost` is one of `LOST`."""

    answer: str
    spellings: tuple[str, ...]
    lost: str


@dataclass(frozen=True, slots=True)
class RunQuestion:
    """What a run made of one question. `position` counts from 0; `answers` are best first.

    `trace_id` names the trace in the same store that judgements refer to. `seconds` is wall time.
    """

    run_id: str
    position: int
    question: Question
    trace_id: str
    answers: tuple[RunAnswer, ...]
    gold: tuple[RunGold, ...]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """How a queue of items to judge is drawn from a run, and how it is shown.

    `strategy` and `population` are named in `annotation.queue`. `unit` says what is drawn, and what `count`
    counts: "candidate", or "question" with all its items. `uniform_share` is the part of the chances that is
    spread evenly over the population, .01 to 1. `overlap` is how many annotators judge each item.
    """

    strategy: str = "paper"
    count: int = 50
    seed: int = 0
    uniform_share: float = 0.2
    overlap: int = 1
    blind: bool = True
    population: str = "errors"
    unit: str = "candidate"


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An answer to judge: of a run's question at `position`, on its trace.

    `kind` is "prediction", "gold" (a gold answer that was recalled but not predicted, in the words it was
    recalled in) or "candidate" (recalled, neither predicted nor listed). `inclusion` is the probability with
    which the draw took the item, above 0 and at most 1. `stratum` says in the population's words what it is;
    like `kind` it gives the gold away. `place` counts from 1 once the item is in a stored queue.
    """

    position: int
    trace_id: str
    kind: str
    answer: str
    inclusion: float
    stratum: str
    place: int = 0
