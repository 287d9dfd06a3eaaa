"""A workbench with two verifiers: scores from a table, and a language model behind the test's own server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from fakes import FakeWorkbench
from minds import Obedient
from openai_server import OpenAIServer
from test_ri2ver import INJECTION, PASSAGES, QUESTION, Retriever

from rtv_core.baselines.offers import VERDICTS, Systems, offers
from rtv_core.evidence import FreshGatherer
from rtv_core.llm.cache import ReplyCache
from rtv_core.llm.chat import ChatEndpoint
from rtv_core.llm.client import LLM
from rtv_core.llm.environment import LLMAddress
from rtv_core.llm.prompter import Prompter
from rtv_core.recall.prompted import PromptedRecaller
from rtv_core.records import Question
from rtv_core.ri2ver import PromptedPipeline
from rtv_core.settings import Settings
from rtv_core.verify.prompted import PromptedQuestions, PromptedVerifier
from rtv_core.wire import to_json

__all__ = ["QUESTION", "VERDICTS", "TwoVerifiers", "systems", "two_verifiers"]

GOLD = Question("q1", QUESTION, ((("Gummo",), ("Spring Breakers",), ("Mister Lonely",)),))
SCORES = {"Mister Lonely": 0.9, "Spring Breakers": 0.3, "Kids": 0.8}
MIND = Obedient(
    ("Gummo", "Spring Breakers", "Mister Lonely", "Kids"),
    {"Gummo": 0.9, "Spring Breakers": 0.8, "Mister Lonely": 0.7, "Kids": 0.2},
)


@dataclass
class TwoVerifiers(FakeWorkbench):
    """Gives the fake pipeline, and for the profile "llm" the prompted one."""

    server: OpenAIServer | None = None
    cache: Path | None = None
    words: bool = False
    prompted: dict[str, PromptedPipeline] = field(default_factory=dict)

    def pipeline(self, settings):
        if settings.system != "llm":
            return super().pipeline(settings)
        calls = replace(settings.calls, backoff=0.01, retries=1)
        endpoint = ChatEndpoint(LLMAddress(self.server.base_url, "test-model"), calls.stream)
        retriever, asked, name = Retriever(self.passages), settings.llm, repr(settings.llm)
        prompter = Prompter(LLM(endpoint, ReplyCache(self.cache), calls), name)
        questions = PromptedQuestions(prompter, asked) if asked.verify and asked.ask_question else None
        return PromptedPipeline(
            retriever,
            PromptedRecaller(prompter, asked),
            FreshGatherer(retriever, questions, asked.fresh if asked.verify else 0, asked.sources),
            PromptedVerifier(prompter, asked),
            settings,
            MappingProxyType(
                {
                    "exchanges": name,
                    "scores": "words" if self.words else "probabilities",
                    "settings": to_json(settings),
                }
            ),
            prompter,
        )


def two_verifiers(folder: Path, **more: object) -> TwoVerifiers:
    """The workbench over passages of which one gives orders; close its server afterwards."""
    settings = more.pop("settings", Settings().with_values({"verifier.tau": 0.5, "retriever.passages": 4}))
    server = OpenAIServer(MIND, logprobs=not more.get("words"))
    pattern = "Spring Breakers|Mister Lonely|Kids"
    passages = (*PASSAGES, INJECTION)
    return TwoVerifiers(
        passages,
        pattern,
        SCORES,
        (GOLD,),
        settings=settings,
        server=server,
        cache=folder / "llm.db",
        **more,
    )


def systems() -> Systems:
    """What `--baselines llm` offers."""
    return Systems(offers([Path("llm")]))
