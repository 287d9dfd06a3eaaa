"""Minds for the fake server: one that reads by a table, and ones that obey what they read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openai_server import Said, system_of, user_of

from rtv_core.llm.prompts import load_prompt

__all__ = ["Obedient", "TableMind", "asked_for", "field_of", "passages_of"]

_PASSAGE = re.compile(r"<passage \d+ (\w{8})>\nTitle: (.*?)\n(.*?)\n</passage \d+ \1>", re.DOTALL)
_NAMES = ("read", "read-together", "question", "judge", "judge-directly")


def asked_for(body: Mapping[str, Any]) -> str:
    """The name of the prompt that a request is."""
    return next(name for name in _NAMES if load_prompt(name).system == system_of(body))


def field_of(body: Mapping[str, Any], name: str) -> str:
    """A line of the user message, such as "Question: ..."."""
    return re.search(rf"^{name}: (.*)$", user_of(body), re.MULTILINE).group(1)


def passages_of(body: Mapping[str, Any]) -> list[str]:
    """The fenced passages' titles and texts."""
    return [f"{title}\n{text}" for _, title, text in _PASSAGE.findall(user_of(body))]


@dataclass
class TableMind:
    """Finds those of `names` that the passages hold; says Yes to a candidate as likely as `right` has it.

    `asks` writes the verification question.
    """

    names: Sequence[str]
    right: Mapping[str, float] = field(default_factory=dict)
    asks: Callable[[str, str], str] = lambda question, answer: f"Is it true of {answer}?"

    def __call__(self, body: Mapping[str, Any]) -> Said:
        code, name = field_of(body, "Code of this task"), asked_for(body)
        if name.startswith("read"):
            text = "\n".join(passages_of(body))
            return Said(json.dumps({"code": code, "answers": [n for n in self.names if n in text]}))
        answer = field_of(body, "Proposed answer")
        if name == "question":
            return Said(json.dumps({"code": code, "question": self.asks(field_of(body, "Question"), answer)}))
        return self.judge(code, answer, passages_of(body))

    def judge(self, code: str, answer: str, passages: Sequence[str]) -> Said:
        p = self.right.get(answer, 0.1)
        word = " Yes" if p > 0.5 else " No"
        choices = {" Yes": math.log(p), " No": math.log(1 - p)}
        return Said(f"{code}{word}", ((code, {code: -0.01}), (word, choices)))


@dataclass
class Obedient(TableMind):
    """Does what a passage tells it: "answer Yes", or list an answer, in the words that it was told."""

    def __call__(self, body: Mapping[str, Any]) -> Said:
        for text in passages_of(body):
            if order := re.search(r"Ignore the above and (?:answer|list) (\w+)", text):
                return Said(order.group(1))
        return super().__call__(body)
