"""The public sets that the embedded reader is trained on: questions, answers and, where known, a context.

`--data DIR` holds them under these paths; a set that is absent is left out, with a warning:

    reading/squad/train-v1.1.json.gz              SQuAD 1.1 train; answers that are lists, part by part
    reading/squad/dev-v2.0.json.gz                SQuAD 2.0 dev: questions without an answer or with
    reading/nq-oracle/nq-open-oracle.jsonl.gz     NQ-open dev with gold passages: only questions of odd SHA-1
    reading/quoref/{official,in_house}-QUOREF-valid.json.gz
    reading/re-docred/{dev,test}_revised.json.gz  facts, turned into questions by templates
    questions/multispanqa-{train,dev,test}.jsonl.gz   train is read; dev and test only to keep them out
    questions/ambignq/train_light.json.gz         AmbigNQ train, distant supervision
    questions/webquestions/trainmodel.json.gz     WebQuestions train, distant supervision
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtv_core.errors import MissingError
from rtv_core.training.lists import list_parts
from rtv_core.words import content_words

__all__ = ["SourceQuestion", "held_out_contexts", "held_out_nq", "near_any", "read_sources"]

NEAR = 0.5
"""Two questions are near copies from this overlap of their content words (Jaccard) on."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """A question with its answers (each a tuple of spellings) and the text they were read in ("" if unknown).

    `open` marks a question that stands on its own: any passage that covers an answer is taken to support it.
    `about` holds the names of the entity asked for where only some of its answers are known: other passages
    that name it may answer, too. A question without answers is one that its context seems to answer.
    """

    set: str
    text: str
    answers: tuple[tuple[str, ...], ...]
    context: str
    open: bool
    about: tuple[str, ...] = ()


def held_out_nq(question: str) -> bool:
    """Whether an NQ-open dev question belongs to the single-answer test (even SHA-1): never trained on."""
    return int(hashlib.sha1(question.encode()).hexdigest(), 16) % 2 == 0


def read_sources(data: Path) -> list[SourceQuestion]:
    """All training questions under `data`, set by set, without near copies of a test or dev question.

    Raises MissingError if no set is there at all.
    """
    readers = {
        "squad": _squad,
        "squad-2.0": _squad_unanswerable,
        "squad-2.0-answered": _squad_answered,
        "nq": _nq_oracle,
        "quoref": _quoref,
        "re-docred": _re_docred,
        "multispanqa": _multispanqa,
        "ambignq": _ambignq,
        "webquestions": _webquestions,
    }
    questions: list[SourceQuestion] = []
    for name, reader in readers.items():
        try:
            questions += reader(data)
        except FileNotFoundError as error:
            log.warning("Leaving out %s: no file %s.", name, error.filename)
    if not questions:
        raise MissingError(
            f"There are no training sets in {data}. Lay them out as rtv_core.training.sources says."
        )
    near = near_any(row["question"] for row in _held_out(data))
    kept = [question for question in questions if not near(question.text)]
    log.info("Left out %d near copies of dev and test questions.", len(questions) - len(kept))
    return kept


def near_any(questions: Iterable[str]) -> Callable[[str], bool]:
    """Tells whether a question is a near copy of one of `questions`: see `NEAR`."""
    known = [words for question in questions if (words := content_words(question))]
    holding: dict[str, list[int]] = defaultdict(list)
    for i, words in enumerate(known):
        for word in words:
            holding[word].append(i)

    def near(question: str) -> bool:
        words = content_words(question)
        shared = Counter(i for word in words for i in holding.get(word, ()))
        return any(count >= NEAR * len(words | known[i]) for i, count in shared.items())

    return near


def held_out_contexts(data: Path) -> list[str]:
    """The texts in which dev and test questions were answered."""
    return [row["context"] if "context" in row else row["ctxs"][0]["text"] for row in _held_out(data)]


def _held_out(data: Path) -> Iterator[dict[str, Any]]:
    """The rows of all questions that must stay unseen."""
    for split in ("dev", "test"):
        path = data / f"questions/multispanqa-{split}.jsonl.gz"
        if path.exists():
            yield from _lines(path)
    oracle = data / "reading/nq-oracle/nq-open-oracle.jsonl.gz"
    if oracle.exists():
        yield from (row for row in _lines(oracle) if held_out_nq(row["question"]))


def _squad(data: Path) -> Iterator[SourceQuestion]:
    for qa, given, context in _squad_like(data / "reading/squad/train-v1.1.json.gz"):
        if not (answers := tuple(dict.fromkeys(given))):
            continue
        question = qa["question"]
        if parts := list_parts(question, answers[0]):
            several = tuple((part,) for part in dict.fromkeys(parts))
            yield SourceQuestion("squad-lists", question, several, context, False)
        else:
            yield SourceQuestion("squad", question, (answers,), context, False)


def _squad_unanswerable(data: Path) -> Iterator[SourceQuestion]:
    for qa, _, context in _squad_like(data / "reading/squad/dev-v2.0.json.gz"):
        if qa["is_impossible"]:
            yield SourceQuestion("squad-2.0", qa["question"], (), context, False)


def _squad_answered(data: Path) -> Iterator[SourceQuestion]:
    """The answered questions on the same paragraphs, each with the answer that most annotators gave."""
    for qa, given, context in _squad_like(data / "reading/squad/dev-v2.0.json.gz"):
        if given:
            ((answer, _),) = Counter(given).most_common(1)
            yield SourceQuestion("squad-2.0-answered", qa["question"], ((answer,),), context, False)


def _nq_oracle(data: Path) -> Iterator[SourceQuestion]:
    for row in _lines(data / "reading/nq-oracle/nq-open-oracle.jsonl.gz"):
        if not held_out_nq(row["question"]):
            # NQ-open lists the spellings and the several answers of a question alike.
            answers = tuple((answer,) for answer in row["answers"])
            yield SourceQuestion("nq", row["question"], answers, row["ctxs"][0]["text"], True)


def _quoref(data: Path) -> Iterator[SourceQuestion]:
    for name in ("official", "in_house"):
        path = data / f"reading/quoref/{name}-QUOREF-valid.json.gz"
        for qa, given, context in _squad_like(path):
            if given:
                answers = tuple((answer,) for answer in dict.fromkeys(given))
                yield SourceQuestion("quoref", qa["question"], answers, context, False)


def _multispanqa(data: Path) -> Iterator[SourceQuestion]:
    for row in _lines(data / "questions/multispanqa-train.jsonl.gz"):
        answers = tuple(tuple(pair["answer"]) for pair in row["annotations"][0]["qaPairs"])
        yield SourceQuestion("multispanqa", row["question"], answers, row["context"], True)


def _ambignq(data: Path) -> Iterator[SourceQuestion]:
    for row in _load(data / "questions/ambignq/train_light.json.gz"):
        answers: dict[tuple[str, ...], None] = {}
        for annotation in row["annotations"]:
            if annotation["type"] == "singleAnswer":
                answers[tuple(annotation["answer"])] = None
            else:
                answers |= {tuple(pair["answer"]): None for pair in annotation["qaPairs"]}
        yield SourceQuestion("ambignq", row["question"], tuple(answers), "", True)


def _webquestions(data: Path) -> Iterator[SourceQuestion]:
    for row in _load(data / "questions/webquestions/trainmodel.json.gz"):
        answers = tuple((answer,) for answer in row["answers"] if not answer.startswith("http"))
        if answers:
            yield SourceQuestion("webquestions", row["qText"], answers, "", True)


def _re_docred(data: Path) -> Iterator[SourceQuestion]:
    for split in ("dev", "test"):
        for document in _load(data / f"reading/re-docred/{split}_revised.json.gz"):
            yield from _facts(document)


def _facts(document: dict[str, Any]) -> Iterator[SourceQuestion]:
    """One question per relation of an entity with all its values, and the other way round."""
    entities = [tuple(dict.fromkeys(m["name"] for m in mentions)) for mentions in document["vertexSet"]]
    text = " ".join(" ".join(sentence) for sentence in document["sents"])
    groups: dict[tuple[str, int], set[int]] = defaultdict(set)
    for fact in document["labels"]:
        forward, backward = TEMPLATES.get(fact["r"], ("", ""))
        if forward:
            groups[forward.format(entities[fact["h"]][0]), fact["h"]].add(fact["t"])
        if backward:
            groups[backward.format(entities[fact["t"]][0]), fact["t"]].add(fact["h"])
    for (question, about), values in groups.items():
        answers = tuple(entities[v] for v in sorted(values))
        yield SourceQuestion("re-docred", question, answers, text, False, entities[about])


def _squad_like(path: Path) -> Iterator[tuple[dict[str, Any], list[str], str]]:
    """The questions of a file of SQuAD's form, each with the answers that people gave and its context."""
    for article in _load(path)["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                given = [answer["text"].strip() for answer in qa["answers"]]
                yield qa, given, paragraph["context"]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _load(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


TEMPLATES = {
    "P6": ("who is the head of government of {}", ""),
    "P17": ("what country is {} in", ""),
    "P19": ("where was {} born", "who was born in {}"),
    "P20": ("where did {} die", "who died in {}"),
    "P22": ("who is the father of {}", ""),
    "P26": ("who is {} married to", ""),
    "P27": ("what is the nationality of {}", ""),
    "P35": ("who is the head of state of {}", ""),
    "P37": ("what are the official languages of {}", ""),
    "P40": ("who are the children of {}", ""),
    "P50": ("who wrote {}", "what books did {} write"),
    "P54": ("what teams did {} play for", "who played for {}"),
    "P57": ("who directed {}", "what films did {} direct"),
    "P58": ("who wrote the screenplay of {}", ""),
    "P69": ("where did {} go to school", "who studied at {}"),
    "P86": ("who composed {}", "what did {} compose"),
    "P102": ("which political party does {} belong to", "who are members of the {}"),
    "P108": ("who did {} work for", "who worked for {}"),
    "P112": ("who founded {}", ""),
    "P118": ("which league does {} play in", "which teams play in {}"),
    "P123": ("who published {}", "what did {} publish"),
    "P127": ("who owns {}", "what does {} own"),
    "P131": ("where is {} located", "what places are in {}"),
    "P136": ("what genre is {}", ""),
    "P140": ("what is the religion of {}", ""),
    "P150": ("what are the divisions of {}", ""),
    "P159": ("where is the headquarters of {}", ""),
    "P161": ("who starred in {}", "what films was {} in"),
    "P162": ("who produced {}", "what did {} produce"),
    "P166": ("what awards did {} win", "who won the {}"),
    "P170": ("who created {}", "what did {} create"),
    "P175": ("who sang {}", "what songs and albums did {} record"),
    "P176": ("who makes {}", "what does {} make"),
    "P178": ("who developed {}", "what did {} develop"),
    "P205": ("which countries does {} flow through", ""),
    "P206": ("what body of water is {} on", "what places lie on {}"),
    "P241": ("which military branch did {} serve in", ""),
    "P264": ("what record label is {} on", "who recorded for {}"),
    "P355": ("what are the subsidiaries of {}", ""),
    "P361": ("what is {} part of", ""),
    "P400": ("what platforms is {} on", ""),
    "P403": ("where does {} flow into", "what rivers flow into {}"),
    "P449": ("what channel is {} on", "what shows were on {}"),
    "P463": ("what is {} a member of", "who are the members of {}"),
    "P495": ("what country is {} from", ""),
    "P527": ("what are the parts of {}", ""),
    "P569": ("when was {} born", ""),
    "P570": ("when did {} die", ""),
    "P571": ("when was {} founded", ""),
    "P577": ("when did {} come out", ""),
    "P607": ("what wars did {} fight in", "who fought in {}"),
    "P674": ("what are the characters in {}", ""),
    "P706": ("where is {} located", ""),
    "P710": ("who took part in {}", "what did {} take part in"),
    "P800": ("what are the best known works of {}", ""),
    "P1344": ("what events did {} take part in", ""),
    "P1412": ("what languages does {} speak", ""),
    "P1441": ("what work does {} appear in", "what are the characters of {}"),
    "P3373": ("who are the siblings of {}", ""),
}
"""Wikidata relations as people would ask for them: of the head, and of the tail."""
