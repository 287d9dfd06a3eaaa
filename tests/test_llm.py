"""A language model over real HTTP: bounds, retries, budget, cache, streaming, and what servers do wrong."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from openai_server import Fault, OpenAIServer, Said

from rtv_core.errors import MissingError, SettingError, StoreError
from rtv_core.llm.cache import ReplyCache, cache_file, request_key
from rtv_core.llm.chat import ChatEndpoint
from rtv_core.llm.client import LLM
from rtv_core.llm.environment import LLMAddress, llm_address
from rtv_core.llm.exchanges import Exchange
from rtv_core.llm.messages import BudgetSpent, LLMError, Reply, Request
from rtv_core.llm.spending import Usage
from rtv_core.settings import CallSettings

QUICK = CallSettings(backoff=0.01, retries=2, timeout=20.0)
HELLO = Request("Be brief.", "hello", 8)
YES = Said("abc Yes", (("abc", {"abc": -0.01}), (" Yes", {" Yes": math.log(0.6), " No": math.log(0.2)})))

Opened = Callable[..., tuple[LLM, OpenAIServer]]


def echo(body):
    return Said(f"heard {body['messages'][-1]['content']}")


def questions(count: int) -> list[Request]:
    return [replace(HELLO, user=f"question {number}") for number in range(count)]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens a model on a server of its own; a second one on the same file has the same cache."""
    servers = []

    def open_(mind=echo, calls=QUICK, key="secret-key", **server) -> tuple[LLM, OpenAIServer]:
        servers.append(OpenAIServer(mind, **server))
        address = LLMAddress(servers[-1].base_url, "test-model", key=key)
        return LLM(ChatEndpoint(address, calls.stream), ReplyCache(tmp_path / "llm.db"), calls), servers[-1]

    yield open_
    for server in servers:
        server.close()


@pytest.mark.parametrize("stream", [False, True])
def test_replies_come_in_the_order_of_the_requests_with_their_tokens_counted(opened, stream) -> None:
    llm, server = opened(calls=replace(QUICK, stream=stream))
    replies = llm.ask_all(questions(12))
    assert [reply.text for reply in replies] == [f"heard question {number}" for number in range(12)]
    assert {(r.tokens_in, r.tokens_out, r.counted, r.finish) for r in replies} == {(4, 3, True, "stop")}
    assert all(bool(body.get("stream")) == stream for body in server.requests)
    assert llm.usage == Usage(calls=12, tokens_in=48, tokens_out=36)


@pytest.mark.parametrize("stream", [False, True])
def test_log_probabilities_come_token_by_token(opened, stream) -> None:
    llm, _ = opened(lambda body: YES, replace(QUICK, stream=stream))
    (reply,) = llm.ask_all([replace(HELLO, logprobs=True)])
    assert [token.text for token in reply.tokens] == ["abc", " Yes"]
    assert dict(reply.tokens[1].choices) == {" Yes": math.log(0.6), " No": math.log(0.2)}


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_without_log_probabilities_or_counts_still_answers(opened, stream) -> None:
    llm, _ = opened(lambda body: YES, replace(QUICK, stream=stream), logprobs=False, usage=False)
    (reply,) = llm.ask_all([replace(HELLO, logprobs=True)])
    assert (reply.text, reply.tokens, reply.counted) == ("abc Yes", (), False)
    assert reply.tokens_in > 0 < reply.tokens_out


def test_no_more_calls_run_at_a_time_than_are_allowed(opened) -> None:
    llm, server = opened(calls=replace(QUICK, concurrency=3))
    server.faults.extend([Fault(delay=0.03)] * 12)
    llm.ask_all(questions(12))
    assert 1 < server.most_at_once <= 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, headers={"Retry-After": "0.02"}),
        Fault(500),
        Fault(503, "<html>gateway</html>"),
        Fault(200, "{not json"),
        Fault(200, "{}"),
        Fault(200, '{"choices": []}'),
    ],
)
def test_a_fault_that_may_pass_is_tried_again_and_counted(opened, fault, stream) -> None:
    llm, server = opened(calls=replace(QUICK, stream=stream))
    server.faults.extend([fault, fault])
    assert llm.ask_all([HELLO])[0].text == "heard hello"
    assert len(server.requests) == 3
    assert (llm.usage.calls, llm.usage.retries) == (1, 2)


def test_a_stream_that_breaks_off_is_tried_again(opened) -> None:
    llm, server = opened(calls=replace(QUICK, stream=True))
    server.faults.append(Fault(cut=True))
    assert llm.ask_all([HELLO])[0].text == "heard hello"
    assert llm.usage.retries == 1


def test_a_slow_reply_is_given_up_and_asked_for_again(opened) -> None:
    llm, server = opened(calls=replace(QUICK, timeout=0.6))
    server.faults.append(Fault(delay=5))
    assert llm.ask_all([HELLO])[0].text == "heard hello"
    assert llm.usage.retries == 1


def test_a_server_that_stays_broken_is_said_with_its_address_and_what_to_do(opened) -> None:
    llm, server = opened()
    server.faults.extend([Fault(500)] * 3)
    with pytest.raises(LLMError, match=r"no reply after 3 tries: status 500\. See that the server runs"):
        llm.ask_all([HELLO])


def test_no_server_at_all_is_said_too(opened) -> None:
    llm, server = opened()
    server.close()
    with pytest.raises(LLMError, match=r"'test-model' at http://127\.0\.0\.1.*no connection"):
        llm.ask_all([HELLO])


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "Set RTV_LLM_API_KEY"), (404, "Check RTV_LLM_MODEL"), (413, "lower llm.fresh")],
)
def test_what_will_not_pass_is_not_tried_again_and_never_shows_the_key(opened, status, message) -> None:
    llm, server = opened()
    body = json.dumps({"error": {"message": "no, not with secret-key"}})
    server.faults.extend([Fault(status, body)] * 9)
    with pytest.raises(LLMError, match=message) as error:
        llm.ask_all([HELLO])
    assert len(server.requests) == 1
    assert "secret-key" not in str(error.value)


def test_once_a_call_fails_for_good_the_waiting_ones_do_not_begin(opened) -> None:
    llm, server = opened(calls=replace(QUICK, concurrency=1))
    server.faults.append(Fault(401))
    with pytest.raises(LLMError):
        llm.ask_all(questions(10))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("response_format", "response_format: json_schema is not supported"),
        ("logprobs", "This model does not support logprobs"),
        ("temperature", "'temperature' does not support 0.0 with this model"),
        ("seed", "unknown parameter: seed"),
    ],
)
def test_an_option_that_the_server_refuses_by_name_is_left_out_from_then_on(opened, option, message) -> None:
    def mind(body):
        return Fault(400, json.dumps({"error": {"message": message}})) if option in body else echo(body)

    llm, server = opened(mind)
    request = replace(HELLO, logprobs=True, schema={"type": "object"})
    assert llm.ask_all([request])[0].text == "heard hello"
    llm.ask_all([replace(request, user="more")])
    assert [option in body for body in server.requests] == [True, False, False]
    assert "top_logprobs" not in server.requests[-1] or option != "logprobs"


def test_a_server_that_wants_another_name_for_the_reply_s_length_gets_it(opened) -> None:
    def mind(body):
        refusal = {"error": {"message": "Use max_completion_tokens instead of max_tokens"}}
        return Fault(400, json.dumps(refusal)) if "max_tokens" in body else echo(body)

    llm, server = opened(mind)
    llm.ask_all([HELLO])
    assert server.requests[-1]["max_completion_tokens"] == 8


def test_a_prompt_that_is_too_long_is_no_refused_option(opened) -> None:
    message = "maximum context length is 8 tokens; lower max_tokens or the prompt"
    llm, server = opened(lambda body: Fault(400, json.dumps({"error": {"message": message}})))
    with pytest.raises(LLMError, match="maximum context length is 8 tokens"):
        llm.ask_all([HELLO])
    assert len(server.requests) == 1


def test_nothing_is_asked_twice_now_or_after_a_restart(opened) -> None:
    llm, server = opened()
    first = llm.ask_all([*questions(3), *questions(3)])
    assert len(server.requests) == 3
    later, other = opened()
    again = later.ask_all(questions(3))
    assert other.requests == []
    assert [replace(reply, cached=False) for reply in again] == first[:3]
    assert (later.usage.calls, later.usage.cached) == (0, 3)


def test_two_threads_that_ask_the_same_at_once_share_the_call(opened) -> None:
    llm, server = opened()
    server.faults.append(Fault(delay=0.1))
    threads = [threading.Thread(target=llm.ask_all, args=([HELLO],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(HELLO, user="hello!"),
        replace(HELLO, max_tokens=9),
        replace(HELLO, temperature=0.7),
        replace(HELLO, sample=1),
        replace(HELLO, logprobs=True),
        replace(HELLO, schema={"type": "object"}),
    ],
)
def test_a_cached_reply_belongs_to_its_prompt_model_and_parameters(other: Request) -> None:
    keys = {request_key("m", HELLO), request_key("n", HELLO), request_key("m", other)}
    assert len(keys) == 3


def test_a_failed_call_is_not_kept(opened) -> None:
    llm, server = opened()
    server.faults.extend([Fault(500)] * 3)
    with pytest.raises(LLMError):
        llm.ask_all([HELLO])
    assert llm.ask_all([HELLO])[0].text == "heard hello"


def test_the_budget_of_calls_stops_before_the_call_and_what_was_answered_is_kept(opened) -> None:
    llm, server = opened(calls=replace(QUICK, budget_calls=4, concurrency=2))
    with pytest.raises(BudgetSpent, match=r"budget of 4 calls .* raise calls.budget_calls"):
        llm.ask_all(questions(9))
    assert len(server.requests) == 4
    richer, other = opened(calls=replace(QUICK, budget_calls=5))
    assert len(richer.ask_all(questions(9))) == 9
    assert len(other.requests) == 5


def test_a_budget_of_tokens_counts_what_a_call_may_cost_before_it_is_made(opened) -> None:
    # A call takes 7 tokens; before it, 6 are estimated for the prompt and 8 held for the reply.
    llm, server = opened(calls=replace(QUICK, budget_tokens=40, concurrency=8))
    with pytest.raises(BudgetSpent, match="budget of 40 tokens"):
        llm.ask_all(questions(30))
    assert llm.usage.tokens_in + llm.usage.tokens_out <= 40
    assert len(server.requests) >= 2


def test_a_budget_of_money_goes_by_the_prices(opened) -> None:
    prices = replace(QUICK, price_in=1e6, price_out=1e5, budget_cost=30.0, concurrency=1)
    llm, server = opened(calls=prices)
    with pytest.raises(BudgetSpent, match=r"budget of 30\.0 cost"):
        llm.ask_all(questions(30))
    assert llm.usage.cost == pytest.approx(4.3 * len(server.requests))
    assert 0 < llm.usage.cost <= 30


def test_replies_from_the_cache_cost_nothing(opened) -> None:
    opened()[0].ask_all(questions(5))
    poor, _ = opened(calls=replace(QUICK, budget_calls=1))
    assert len(poor.ask_all(questions(5))) == 5


def test_the_model_is_named_by_the_environment_alone() -> None:
    given = {"RTV_LLM_BASE_URL": "http://me:pw@host:1/v1/", "RTV_LLM_MODEL": "m", "RTV_LLM_API_KEY": "k-9"}
    address = llm_address(given)
    assert (address.place, address.model, address.key) == ("http://host:1/v1", "m", "k-9")
    assert "k-9" not in repr(address)
    assert llm_address({"RTV_LLM_LOCAL": "/models/x.gguf"}).place == "/models/x.gguf"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, MissingError, "Set RTV_LLM_BASE_URL"),
        ({"RTV_LLM_BASE_URL": "http://x/v1"}, MissingError, "RTV_LLM_MODEL"),
        ({"RTV_LLM_BASE_URL": "localhost:1", "RTV_LLM_MODEL": "m"}, SettingError, "no address"),
        ({"RTV_LLM_BASE_URL": "http://x/v1", "RTV_LLM_LOCAL": "y"}, SettingError, "Unset one"),
    ],
)
def test_a_model_that_is_not_named_well_is_said(given, error, message) -> None:
    with pytest.raises(error, match=message):
        llm_address(given)


def test_the_key_goes_to_the_server_and_no_other_account_with_it(opened, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-org")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    llm, server = opened()
    llm.ask_all([HELLO])
    assert server.headers[0]["authorization"] == "Bearer secret-key"
    assert not {"my-org", "another-key"} & set(server.headers[0].values())


def test_the_cache_s_secret_is_drawn_once_for_a_file(tmp_path: Path) -> None:
    one, other = ReplyCache(tmp_path / "a.db"), ReplyCache(tmp_path / "b.db")
    assert len(one.secret) == 32
    assert one.secret != other.secret
    assert ReplyCache(tmp_path / "a.db").secret == one.secret


def test_exchanges_are_kept_by_question_and_read_stage_by_stage(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "llm.db")
    judged = Exchange("judge", "Paris", "judge 1", "m", "c", "s", "u", "c Yes", "ok", p_yes=1.0)
    read = replace(judged, stage="read", subject="p1", p_yes=None, suspicious=("p1",))
    cache.keep_exchanges("f", "q", [judged, read])
    cache.keep_exchanges("f", "q", [replace(judged, method="word")])
    assert cache.exchanges("f", "q") == [read, replace(judged, method="word")]
    assert cache.exchanges("f", "q", "p1") == [read]
    assert cache.exchanges("g", "q") == []


def test_another_program_s_file_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE notes (a)")
    with pytest.raises(StoreError, match="another program's tables"):
        ReplyCache(tmp_path / "other.db")
    (tmp_path / "text.db").write_text("no database" * 99)
    with pytest.raises(StoreError, match=r"calls\.cache"):
        ReplyCache(tmp_path / "text.db")


def test_the_default_file_lies_in_the_user_s_cache(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file() == tmp_path / "rtv" / "llm.db"
    assert cache_file("mine.db") == Path("mine.db")


def test_a_reply_comes_back_from_the_cache_as_it_was(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "llm.db")
    reply = Reply("a\u2028b é \ud800", tokens_in=3, seconds=0.5)
    cache.keep("k", "m", HELLO, reply)
    cache.keep("k", "m", HELLO, Reply("later"))
    assert cache.reply("k") == replace(reply, text="a\u2028b é ?", cached=True)
    assert cache.reply("other") is None


CHILD = """
import sys
from rtv_core.llm.cache import ReplyCache
from rtv_core.llm.chat import ChatEndpoint
from rtv_core.llm.client import LLM
from rtv_core.llm.environment import LLMAddress
from rtv_core.llm.messages import Request
from rtv_core.settings import CallSettings

endpoint = ChatEndpoint(LLMAddress(sys.argv[1], "test-model"))
llm = LLM(endpoint, ReplyCache(sys.argv[2]), CallSettings(concurrency=2))
llm.ask_all([Request("Be brief.", f"question {number}", 8) for number in range(20)])
"""


def test_after_a_kill_only_what_was_under_way_is_asked_again(opened, tmp_path: Path) -> None:
    llm, server = opened()
    server.faults.extend([Fault(delay=0.05)] * 20)
    root = Path(__file__).resolve().parents[1]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, server.base_url, str(tmp_path / "llm.db")], cwd=root
    )
    deadline = time.monotonic() + 120
    while len(server.requests) < 9 and time.monotonic() < deadline:
        time.sleep(0.005)
    child.kill()
    child.wait()
    assert 9 <= len(server.requests) < 20
    server.faults.clear()
    replies = llm.ask_all(questions(20))
    assert [reply.text for reply in replies] == [f"heard question {number}" for number in range(20)]
    asked = Counter(body["messages"][1]["content"] for body in server.requests)
    assert set(asked) == {f"question {number}" for number in range(20)}
    assert sum(asked.values()) <= 20 + 2
