"""Questions with gold answers, read from the field's formats; the content says which one it is.

    AmbigQA      {"id", "question", "annotations": [{"type": "singleAnswer", "answer": [spelling, ...]} or
                 {"type": "multipleQAs", "qaPairs": [{"answer": [spelling, ...]}, ...]}]}
    NQ-open      {"question", "answer": [spelling, ...]}; one answer
    DPR training {"question", "answers": [spelling, ...], "positive_ctxs", "negative_ctxs",
                 "hard_negative_ctxs"}; one answer
    FiD          {"question", "answers": [spelling, ...], "ctxs": [{"title", "text"}, ...]}; one answer; also
                 what DPR's retriever writes
    WebQuestions {"qId", "qText", "answers": [answer, ...]}; each text is an answer of its own
    WebQSP       {"Questions": [{"QuestionId", "RawQuestion", "Parses": [{"Answers": [{"EntityName" or else
                 "AnswerArgument"}, ...]}, ...]}, ...]}; each parse is an annotation
    QAMPARI      {"qid", "question_text", "answer_list": [{"answer_text", "aliases": [spelling, ...]}, ...]}
    RoMQA        {"id", "cluster_id", "question", "complete_answer": [{"text", "aliases": [spelling, ...]},
                 ...]}
    MultiSpanQA  {"data": [{"id", "question": [word, ...], "context": [word, ...], "label": ["B", "I" or "O",
                 ...]}, ...]}; each run of words is an answer; without labels the gold is unknown
    SQuAD        {"data": [{"title", "paragraphs": [{"context", "qas": [{"id", "question", "answers":
                 [{"text"}, ...], "is_impossible"}, ...]}, ...]}, ...]}; one answer, its texts are spellings.
                 Quoref's paragraphs have a "context_id": there each text is an answer of its own
    plain        {"id", "question", "answers": [[spelling, ...], ...]}; no "answers": gold unknown, []: none

Where the answers of DPR and FiD files are lists of spellings, they are several answers, as in plain ones. A
file is one JSON value or has a record a line (JSONL), UTF-8, packed by gzip or bzip2 or not at all. A record
without an id gets its number in the file. Other fields are ignored.
"""

from rtv_core.datasets.contexts import QuestionContexts, load_contexts
from rtv_core.datasets.files import read_records, shown
from rtv_core.datasets.questions import find_clusters, load_questions, read_clusters

__all__ = [
    "QuestionContexts",
    "find_clusters",
    "load_contexts",
    "load_questions",
    "read_clusters",
    "read_records",
    "shown",
]
