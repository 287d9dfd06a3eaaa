"""Published human verdicts on systems' answers: read from their files, kept as runs and judgements.

EVOUNA (`evouna-nq`, `evouna-tq`; NQ.json and TQ.json, gzipped or not)
    Answers of five systems, each with one verdict: right, wrong or none. Questions that its authors call
    improper are left out.
OpenQA-eval (`openqa-eval`; NQ301_human.tsv and the systems' NQ_*.jsonl)
    A table of distinct answers to 301 questions, each with two or three annotators' verdicts and the one that
    stands. A system's answer gets the verdict on the same text, or else on the text equal after
    normalisation. Two of the systems have no file; their answers are in the table only.

Both only tell whether people accepted an answer. A right one that equals a gold answer becomes "listed". Of
the other right ones the files don't tell which are gold answers in other words: all become "unlisted", with a
note. Corrected precision is then the accuracy that one counts by hand; corrected F1 is lower, since each adds
an answer to gold. A wrong one becomes "invalid". The annotators saw the gold answers: no verdict is blind.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtv_core.datasets import read_records, shown
from rtv_core.errors import InputError, MissingError
from rtv_core.evaluation import import_predictions
from rtv_core.metrics import exact_match
from rtv_core.predictions import Predicted, PredictedAnswer, file_facts
from rtv_core.records import Judgement, Question, Run, RunQuestion
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore
from rtv_core.text import normalise_answer

__all__ = [
    "VERDICT_SETS",
    "HumanVerdict",
    "SystemAnswers",
    "VerdictSet",
    "import_verdicts",
    "is_exact",
    "read_verdicts",
]

EVOUNA_SYSTEMS = {
    "fid": "DPR+FiD",
    "gpt35": "GPT-3.5",
    "chatgpt": "ChatGPT-3.5",
    "gpt4": "GPT-4",
    "newbing": "Bing Chat",
}
"""The systems by their names in the file."""

ANNOTATORS = ("annotator1", "annotator2", "annotator3")
VOTES = {"Yes": True, "No": False, "": None}

NOTES = {
    "listed": "Imported: accepted, and equal to a gold answer.",
    "unlisted": "Imported: accepted, but not equal to a gold answer. The file does not tell whether it is "
    "one in other words.",
    "invalid": "Imported: not accepted.",
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """What people said of an answer. `votes` holds single annotators' verdicts, by name, where known."""

    question: Question
    answer: str
    accepted: bool
    votes: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """A system's answers that have a verdict, and the number of those without one. `file` held them."""

    system: str
    file: Path
    verdicts: tuple[HumanVerdict, ...]
    without: int


@dataclass(frozen=True, slots=True)
class VerdictSet:
    """One published set. `verdicts` are all of its verdicts, `systems` those on the answers of each system.

    `annotator` is the name under which the verdicts are kept.
    """

    name: str
    annotator: str
    questions: tuple[Question, ...]
    systems: tuple[SystemAnswers, ...]
    verdicts: tuple[HumanVerdict, ...]


def read_verdicts(folder: Path | str, name: str) -> VerdictSet:
    """A set of `VERDICT_SETS` from the folder that its files are in, or in a folder below.

    Raises InputError for an unknown name or a line that can't be read, MissingError for a missing file.
    """
    if name not in VERDICT_SETS:
        raise InputError(f"There is no set of verdicts {name!r}. Choose one of {', '.join(VERDICT_SETS)}.")
    return VERDICT_SETS[name](Path(folder), name)


def is_exact(verdict: HumanVerdict) -> bool:
    """Whether the answer equals a gold answer after normalisation."""
    return bool(verdict.question.answers) and exact_match([verdict.answer], verdict.question.answers) == 1.0


def import_verdicts(
    verdicts: VerdictSet,
    store: Path | str,
    each_annotator: bool = False,
    progress: Progress | None = None,
) -> list[Run]:
    """Keep each system's judged answers as a run, with the verdicts on them. Twice is once.

    A question without a verdict on the system's answer is left out of its run. The verdict that stands is
    kept under the set's `annotator`; with `each_annotator` the single annotators' are kept too, as
    "NAME 1" and so on: name the former as adjudicator then. `progress` gets verdicts kept and to be kept.
    """
    runs, judgements = RunStore(store), JudgementStore(store)
    total = sum(_ballots(v, verdicts, each_annotator) for s in verdicts.systems for v in s.verdicts)
    kept, done = [], 0
    for system in verdicts.systems:
        run = _import_run(verdicts, system, runs)
        for verdict, question in zip(system.verdicts, runs.questions(run.id), strict=True):
            for judgement in _judgements(verdicts, verdict, question, each_annotator):
                judgements.judge(judgement, f"{run.id} {question.question.id}")
                done += 1
                if progress:
                    progress(done, total)
        kept.append(run)
    return kept


def _import_run(verdicts: VerdictSet, system: SystemAnswers, runs: RunStore) -> Run:
    questions = [verdict.question for verdict in system.verdicts]
    predicted = [
        Predicted(f"{system.file}, question {v.question.id}", v.question.id, "", (PredictedAnswer(v.answer),))
        for v in system.verdicts
    ]
    name = f"{verdicts.name} {system.system}"
    return import_predictions(predicted, questions, runs, name, system.system, file_facts(system.file))


def _ballots(verdict: HumanVerdict, verdicts: VerdictSet, each_annotator: bool) -> int:
    return 1 + len(verdict.votes) * each_annotator


def _judgements(
    verdicts: VerdictSet, verdict: HumanVerdict, question: RunQuestion, each_annotator: bool
) -> Iterator[Judgement]:
    ballots = [(verdicts.annotator, verdict.accepted)]
    if each_annotator:
        ballots += [(f"{verdicts.annotator} {name[-1]}", vote) for name, vote in verdict.votes]
    for annotator, accepted in ballots:
        label = "invalid" if not accepted else "listed" if is_exact(verdict) else "unlisted"
        yield Judgement(
            question.trace_id,
            question.question.text,
            verdict.answer,
            label,
            annotator,
            gold=question.answers[0].gold if label == "listed" else "",
            note=NOTES[label],
        )


def _read_evouna(folder: Path, name: str) -> VerdictSet:
    path = _file(folder, {"evouna-nq": "NQ.json", "evouna-tq": "TQ.json"}[name])
    records = [_Fields(f"{path}, {place}", record) for place, record in read_records(path)]
    proper = [(str(i), fields) for i, fields in enumerate(records, start=1) if not fields.flag("improper")]
    questions = [fields.question(number, "golden_answer") for number, fields in proper]
    systems = []
    for key, system in EVOUNA_SYSTEMS.items():
        own = [
            HumanVerdict(question, answer, accepted)
            for question, (_, fields) in zip(questions, proper, strict=True)
            if (answer := fields.answer(f"answer_{key}"))
            and (accepted := fields.verdict(f"judge_{key}")) is not None
        ]
        systems.append(SystemAnswers(system, path, tuple(own), len(questions) - len(own)))
    return _set(name, "evouna", questions, systems, [v for system in systems for v in system.verdicts])


def _read_openqa(folder: Path, name: str) -> VerdictSet:
    table = _file(folder, "NQ301_human.tsv")
    outputs = sorted(_outputs(table.parent))
    if not outputs:
        raise MissingError(f"There are no NQ_*.jsonl in {table.parent}. Put the systems' answers there.")
    rows = list(_table(table))
    given = {path: _answers(path) for path in outputs}
    gold = {text: known for answers in given.values() for text, (_, known) in answers.items()}
    questions = {text: Question(id_, text, (gold[text],) if text in gold else ()) for id_, text, *_ in rows}
    verdicts = [
        HumanVerdict(questions[text], answer, accepted, votes) for _, text, answer, accepted, votes in rows
    ]
    known = _Known(verdicts)
    systems = []
    for path, answers in given.items():
        own = [
            HumanVerdict(question, answers[text][0], found.accepted, found.votes)
            for text, question in questions.items()
            if text in answers and (found := known.on(question, answers[text][0]))
        ]
        asked = sum(text in answers for text in questions)
        systems.append(SystemAnswers(_system(path), path, tuple(own), asked - len(own)))
    return _set(name, name, list(questions.values()), systems, verdicts)


def _set(
    name: str,
    annotator: str,
    questions: Sequence[Question],
    systems: Sequence[SystemAnswers],
    verdicts: Sequence[HumanVerdict],
) -> VerdictSet:
    return VerdictSet(name, annotator, tuple(questions), tuple(systems), tuple(verdicts))


VERDICT_SETS = {"evouna-nq": _read_evouna, "evouna-tq": _read_evouna, "openqa-eval": _read_openqa}
"""The sets that can be read, and by what."""


class _Known:
    """The verdict on an answer as it is written, or else on one equal to it after normalisation.

    Where the latter have different verdicts there is none.
    """

    def __init__(self, verdicts: Sequence[HumanVerdict]) -> None:
        self._written = {(v.question.id, v.answer): v for v in verdicts}
        self._equal: dict[tuple[str, str], list[HumanVerdict]] = {}
        for verdict in verdicts:
            self._equal.setdefault((verdict.question.id, normalise_answer(verdict.answer)), []).append(
                verdict
            )

    def on(self, question: Question, answer: str) -> HumanVerdict | None:
        if (found := self._written.get((question.id, answer))) is not None:
            return found
        equal = self._equal.get((question.id, normalise_answer(answer)), [])
        return equal[0] if len({verdict.accepted for verdict in equal}) == 1 else None


def _file(folder: Path, name: str) -> Path:
    found = [path for path in (*folder.rglob(name), *folder.rglob(f"{name}.gz")) if path.is_file()]
    if not found:
        raise MissingError(f"There is no {name} or {name}.gz in {folder}. Name the folder that holds it.")
    return min(found, key=lambda path: (len(path.parts), path))


def _outputs(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*NQ_*.jsonl*"):
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            yield path


def _system(path: Path) -> str:
    return path.name.partition("NQ_")[2].removesuffix(".gz").removesuffix(".jsonl")


def _answers(path: Path) -> dict[str, tuple[str, tuple[tuple[str, ...], ...]]]:
    """By question a system's answer and the gold: one answer of several spellings. Empty answers are none."""
    found = {}
    for place, record in read_records(path):
        fields = _Fields(f"{path}, {place}", record)
        if answer := fields.answer("prediction"):
            found[fields.text("question")] = answer, (fields.spellings("answer"),)
    return found


def _table(path: Path) -> Iterator[tuple[str, str, str, bool, tuple[tuple[str, bool], ...]]]:
    """The rows of the table: question's id, question, answer, verdict, single verdicts. Quotes are text."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}. Fetch it again.") from error
    lines = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
    for number, row in enumerate(lines, start=2):
        fields = _Fields(f"{path}, line {number}", row)
        accepted = fields.vote("Acceptable?")
        if accepted is None:
            raise InputError(f"{path}, line {number}: field 'Acceptable?' is empty; it must be Yes or No.")
        votes = [(name, fields.vote(name)) for name in ANNOTATORS]
        yield (
            fields.text("id"),
            fields.text("Question"),
            fields.text("Model answer").strip(),
            accepted,
            tuple((name, vote) for name, vote in votes if vote is not None),
        )


class _Fields:
    """The fields of one record, and where it stands, for messages."""

    def __init__(self, place: str, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise InputError(f"{place}: {shown(record)} is no record; write a JSON object.")
        self._place, self._record = place, record

    def question(self, id_: str, gold: str) -> Question:
        """The question; `gold` names the field of its answer's spellings, divided by slashes."""
        spellings = [part.strip() for part in (self._record.get(gold) or "").split("/")]
        known = tuple(dict.fromkeys(spelling for spelling in spellings if spelling))
        return Question(id_, self.text("question").strip(), ((known,),) if known else ())

    def text(self, name: str) -> str:
        value = self._record.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def answer(self, name: str) -> str:
        """A system's answer, "" where it gave none."""
        return "" if self._record.get(name) is None else self.text(name).strip()

    def spellings(self, name: str) -> tuple[str, ...]:
        value = self._record.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, value, "a list of texts")
        return tuple(value)

    def flag(self, name: str) -> bool:
        value = self._record.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def verdict(self, name: str) -> bool | None:
        value = self._record.get(name)
        if value in (None, "nan"):  # improper questions have none; so do a few others
            return None
        return self.flag(name)

    def vote(self, name: str) -> bool | None:
        value = self._record.get(name) or ""
        if value not in VOTES:
            raise self._wrong(name, value, "Yes, No or empty")
        return VOTES[value]

    def _wrong(self, name: str, value: Any, wanted: str) -> InputError:
        found = "is missing" if value is None else f"is {shown(value)}"
        return InputError(f"{self._place}: field {name!r} {found}; it must be {wanted}.")
