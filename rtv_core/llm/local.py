"""A language model in this process: a transformers folder or a GGUF file. One prompt at a time, words only.

Such models are small, and their Yes and No are words, not confidences: no log-probabilities are given out.
A GGUF file needs `pip install gguf accelerate`.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from rtv_core.errors import MissingError
from rtv_core.llm.messages import LLMError, Reply, Request

__all__ = ["LocalEndpoint"]


class LocalEndpoint:
    """Loads the model at the first request. Raises MissingError for a path where nothing is."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        if not self._path.exists():
            raise MissingError(
                f"There is no model {self._path}. RTV_LLM_LOCAL must name a folder or GGUF file."
            )
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def model(self) -> str:
        return self._path.name

    @property
    def place(self) -> str:
        return str(self._path)

    @property
    def gives_logprobs(self) -> bool:
        return False

    async def complete(self, request: Request) -> Reply:
        """Ask once, in a worker thread."""
        return await asyncio.to_thread(self._complete, request)

    def _complete(self, request: Request) -> Reply:
        import torch

        with self._lock:  # one prompt has the machine's cores
            tokenizer, model = self._load()
            said = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
            if tokenizer.chat_template:
                given = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
                ids = tokenizer(given, return_tensors="pt", add_special_tokens=False).input_ids
            else:
                ids = tokenizer(f"{request.system}\n\n{request.user}\n", return_tensors="pt").input_ids
            room = getattr(model.config, "max_position_embeddings", None)
            if room and ids.shape[1] + request.max_tokens > room:
                raise LLMError(
                    f"A prompt of {ids.shape[1]:,} tokens is too long for {self.model}, which takes "
                    f"{room:,}. Lower retriever.passages, llm.fresh or llm.answer_tokens."
                )
            options: dict[str, Any] = {"do_sample": False}
            if request.temperature > 0:
                torch.manual_seed(request.sample)
                options = {"do_sample": True, "temperature": request.temperature}
            with torch.inference_mode():
                out = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=request.max_tokens,
                    pad_token_id=tokenizer.eos_token_id,
                    **options,
                )
        new = out[0, ids.shape[1] :]  # (tokens,)
        cut = len(new) == request.max_tokens and int(new[-1]) != tokenizer.eos_token_id
        text = tokenizer.decode(new, skip_special_tokens=True)
        return Reply(text, "length" if cut else "stop", tokens_in=ids.shape[1], tokens_out=len(new))

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            folder, options = (self._path, {})
            if self._path.is_file():
                folder, options = self._path.parent, {"gguf_file": self._path.name}
            try:
                tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **options)
                model = AutoModelForCausalLM.from_pretrained(
                    folder, local_files_only=True, dtype=torch.float32, **options
                )
            except (ImportError, OSError, ValueError) as error:
                raise MissingError(
                    f"{self._path} can't be loaded: {error} A GGUF file needs `pip install gguf accelerate`."
                ) from error
            self._loaded = tokenizer, model.eval()
        return self._loaded
