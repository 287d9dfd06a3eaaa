"""Replies to answers, questions and verdicts. What lacks the prompt's code or its form is Malformed.

JSON as asked for is read first; then what models do instead: code fences, thoughts before the reply, one
answer a line, an object that was cut off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rtv_core.llm.fence import one_line
from rtv_core.llm.messages import Reply, Token
from rtv_core.text import answer_key

__all__ = [
    "ANSWERS_SCHEMA",
    "QUESTION_SCHEMA",
    "Malformed",
    "Parsed",
    "Refused",
    "parse_answers",
    "parse_question",
    "parse_verdict",
]

LONGEST_ANSWER = 200
LONGEST_QUESTION = 400
MOST_ANSWERS = 100

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_NOTHING = frozenset(("none", "no answer", "no answers", "n a", "irrelevant", "unknown"))
_REFUSAL = re.compile(
    r"\A\W*(?:I(?:['’]m| am) (?:sorry|unable|not able)|sorry|I (?:can(?:['’]t|not)|won['’]t)|as an AI)\b",
    re.I,
)
_WORDS = {"yes": True, "no": False}


class Malformed(Exception):
    """A reply that has not the form asked for."""


class Refused(Exception):
    """A reply by which the model declines."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says. `cut`: it was cut off and says only this much. `method`, `p_yes`: of a verdict."""

    answers: tuple[str, ...] = ()
    question: str = ""
    yes: bool = False
    cut: bool = False
    method: str = ""
    p_yes: float | None = None


def _schema(**fields: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = {"code": {"type": "string"}, **fields}
    return MappingProxyType(
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


ANSWERS_SCHEMA = _schema(answers={"type": "array", "items": {"type": "string"}})
QUESTION_SCHEMA = _schema(question={"type": "string"})


def parse_answers(reply: Reply, code: str) -> Parsed:
    """The answers, each once, in order. Raises Malformed or Refused."""
    text = _said(reply)
    cut = reply.finish == "length"
    if (found := _object(text)) is not None:
        _check_code(found.get("code"), code)
        answers = found.get("answers")
        if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
            raise Malformed('"answers" is no list of texts')
    elif cut and '"answers"' in text:
        head, _, tail = text.partition('"answers"')
        _check_code(next((word for word in _STRING.findall(head) if word != "code"), None), code)
        answers = [json.loads(f'"{word}"', strict=False) for word in _STRING.findall(tail)]
    else:
        first, *lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
        _check_code(first.strip("`*:. ").removeprefix("Code:").strip(), code)
        if any(not _BULLET.match(line) for line in lines):
            raise Malformed("neither JSON nor one answer a line")
        answers = [_BULLET.sub("", line) for line in lines]
        answers = answers[:-1] if cut else answers  # the last one was cut off
    united: dict[str, str] = {}
    for answer in answers[:MOST_ANSWERS]:
        answer = one_line(answer, LONGEST_ANSWER).strip()
        key = answer_key(answer)
        if key and key not in _NOTHING:
            united.setdefault(key, answer)
    return Parsed(answers=tuple(united.values()), cut=cut or len(answers) > MOST_ANSWERS)


def parse_question(reply: Reply, code: str) -> Parsed:
    """The verification question. Raises Malformed or Refused."""
    text = _said(reply)
    if (found := _object(text)) is not None:
        _check_code(found.get("code"), code)
        question = found.get("question")
    else:
        first, *lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
        given, _, question = first.partition(" ")
        if not question and len(lines) == 1:
            question = lines[0]
        _check_code(given.strip("`*:. "), code)
    if not isinstance(question, str) or not question.strip().endswith("?"):
        raise Malformed("no question that ends with a question mark")
    if len(question) > LONGEST_QUESTION:
        raise Malformed(f"a question of {len(question):,} characters")
    return Parsed(question=one_line(question, LONGEST_QUESTION))


def parse_verdict(reply: Reply, code: str) -> Parsed:
    """Yes or No behind the code, and nothing else. Raises Malformed or Refused.

    With log-probabilities `p_yes` is P(Yes) / (P(Yes) + P(No)) in the place of that word, all spellings of a
    word together; a word that is not among the likeliest tokens counts as 0.
    """
    text = _said(reply)
    if (found := _object(text)) is not None:
        text = f"{found.get('code')} {found.get('verdict', found.get('answer'))}"
    match = re.fullmatch(r"[\W_]*(\w+)[\W_]+(yes|no)[\W_]*", text, re.IGNORECASE)
    if match is None:
        raise Malformed("not the code and one word, Yes or No")
    _check_code(match.group(1), code)
    yes = _WORDS[match.group(2).lower()]
    p_yes = _share_of_yes(reply.tokens, yes)
    if p_yes is None:
        return Parsed(yes=yes, method="word", p_yes=float(yes))
    return Parsed(yes=yes, method="logprobs", p_yes=p_yes)


def _said(reply: Reply) -> str:
    """The reply without thoughts. Raises Refused, or Malformed for an empty one."""
    if reply.refusal or reply.finish == "content_filter":
        raise Refused(reply.refusal or "the server's content filter")
    text = _THOUGHT.sub("", reply.text).strip()
    if text.startswith("<think>"):
        raise Malformed("cut off while thinking")
    if _REFUSAL.match(text):
        raise Refused(one_line(text, 200))
    if not text:
        raise Malformed("an empty reply")
    return text


def _object(text: str) -> Mapping[str, Any] | None:
    """The JSON object that the text is, or that it holds in a code fence; None if there is none."""
    body = re.sub(r"\A```\w*\s*|\s*```\Z", "", text)
    try:
        found = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check_code(given: object, code: str) -> None:
    if not isinstance(given, str) or given.strip().lower() != code:
        raise Malformed("without the code of its prompt")


def _share_of_yes(tokens: Sequence[Token], yes: bool) -> float | None:
    """P(Yes) / (P(Yes) + P(No)) at the last token that says the verdict's word."""
    word = "yes" if yes else "no"
    for token in reversed(tokens):
        if _bare(token.text) == word:
            shares = {True: 0.0, False: 0.0}
            for choice, logprob in token.choices.items():
                if (said := _WORDS.get(_bare(choice))) is not None:
                    shares[said] += math.exp(min(logprob, 0.0))
            total = shares[True] + shares[False]
            return shares[True] / total if total > 0 else None
    return None


def _bare(token: str) -> str:
    return token.strip(" \t\n\"'`*.:▁Ġ").lower()
