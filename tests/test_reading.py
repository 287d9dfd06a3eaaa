import hashlib
import json
import resource
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny import PASSAGES, QUESTIONS, save_tiny_base, tiny_base, tiny_network, tiny_reader
from tokenizers import Tokenizer

from rtv_core.errors import MismatchError, MissingError
from rtv_core.reading.form import InputForm, Pair, _past_marks, pad
from rtv_core.reading.network import FORBIDDEN, ReaderShape, SpanHead
from rtv_core.reading.reader import Reader
from rtv_core.reading.weights import (
    blank_network,
    input_form,
    load_network,
    load_reading_network,
    read_card,
    save_network,
    weights_sha256,
    write_card,
)
from rtv_core.records import Passage

QUESTION = QUESTIONS[0]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(tiny_base() / "tokenizer.json"))


@pytest.fixture(scope="module")
def form(tokenizer) -> InputForm:
    return InputForm(tokenizer)


def tokens(tokenizer: Tokenizer, pair: Pair) -> list[str]:
    return [tokenizer.id_to_token(i) for i in pair.ids]


# The form: how a pair becomes tokens


def test_a_pair_is_question_title_and_text_between_special_tokens(tokenizer, form):
    (pair,) = form.pairs("who sang", [Passage("1", "Orla", "blue hour")])
    assert tokens(tokenizer, pair) == ["[CLS]", "who", "sang", "[SEP]", "orla", ".", "blue", "hour", "[SEP]"]
    assert tokens(tokenizer, pair)[pair.passage_at - 1] == "[SEP]"
    assert tokens(tokenizer, pair)[pair.text_at] == "blue"
    assert pair.offsets == ((0, 4), (5, 9))


def test_a_passage_without_a_title_begins_with_its_text(tokenizer, form):
    (pair,) = form.pairs("who sang", [Passage("1", "", "blue hour")])
    assert tokens(tokenizer, pair) == ["[CLS]", "who", "sang", "[SEP]", "blue", "hour", "[SEP]"]
    assert pair.text_at == pair.passage_at == 4


def test_an_empty_text_and_an_empty_question_make_a_pair_too(tokenizer, form):
    (pair,) = form.pairs("", [Passage("1", "", "")])
    assert tokens(tokenizer, pair) == ["[CLS]", "[SEP]", "[SEP]"]
    assert pair.offsets == ()
    assert pair.tokens_of(0, 1) is None


def test_a_batch_is_padded_at_the_end_and_the_passage_is_the_second_segment(form):
    pairs = form.pairs("who sang", [Passage("1", "", "blue hour"), Passage("2", "", "blue")])
    ids, mask, segments = pad(pairs)
    assert ids.tolist() == [list(pairs[0].ids), [*pairs[1].ids, 0]]
    assert mask.tolist() == [[1] * 7, [1] * 6 + [0]]
    assert segments.tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0]]
    assert ids.dtype == mask.dtype == segments.dtype == np.int64


STRANGE = [
    ("Then Beyoncé sang.", "Beyoncé"),
    ("Über İstanbul flog der Ozean.", "İstanbul"),
    ("İİİ Orla", "Orla"),
    ("Ulf Straße sang", "Straße"),
    ("ẞ ß ǰ ŉ Orla ΐ", "Orla"),
    ("fun 🎉🎉 in Karo", "Karo"),
    ("👩‍👩‍👧 👍🏽 Karo 🇩🇪", "Karo"),
    ("東京は日本の首都", "日本"),
    ("東京タワー in Dorn", "Dorn"),
    ("a\u200bb \x00 Dorn\tand\u00a0Karo", "Karo"),
    ("“Orla”—Dorn’s", "Dorn"),
    ("\r\n\r\nOrla  ,  Karo", "Karo"),
    ("ﬁsh Ⅷ Ångström Karo", "Ångström"),
    ("e\u0301te\u0301 a\u0308 Karo", "Karo"),
]


@pytest.mark.parametrize(("text", "answer"), STRANGE)
def test_an_answer_keeps_its_characters_through_the_tokens_and_back(form, text, answer):
    (pair,) = form.pairs(QUESTION, [Passage("1", "Orla", text)])
    start = text.index(answer)
    found = pair.tokens_of(start, start + len(answer))
    assert found is not None
    assert pair.characters_of(*found) == (start, start + len(answer))


@pytest.mark.parametrize("text", [text for text, _ in STRANGE])
def test_every_token_stands_for_the_characters_at_its_offsets(tokenizer, form, text):
    (pair,) = form.pairs(QUESTION, [Passage("1", "", text)])
    ends = [0]
    for token, (start, end) in zip(tokens(tokenizer, pair)[pair.text_at : -1], pair.offsets, strict=True):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
        if token != "[UNK]":
            seen = unicodedata.normalize("NFD", text[start:end]).lower()
            seen = "".join(c for c in seen if unicodedata.category(c) not in ("Mn", "Cf", "Cc"))
            assert seen == token.removeprefix("##")


def test_the_tokens_of_characters_are_those_that_they_touch(form):
    text = "Ulf Straße  sang, 1,952 Karos"
    (pair,) = form.pairs(QUESTION, [Passage("1", "Orla", text)])
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            touched = [i for i, (a, b) in enumerate(pair.offsets) if a < end and b > start]
            expected = (pair.text_at + touched[0], pair.text_at + touched[-1]) if touched else None
            assert pair.tokens_of(start, end) == expected


def test_a_decomposed_accent_at_the_end_of_an_answer_belongs_to_it(form):
    text = "Beyonce\u0301 sang"
    (pair,) = form.pairs(QUESTION, [Passage("1", "", text)])
    assert pair.characters_of(*pair.tokens_of(0, 8)) == (0, 8)


def test_text_that_names_a_special_token_is_text(tokenizer, form):
    (pair,) = form.pairs("who [SEP] sang", [Passage("1", "[CLS]", "[SEP] [MASK] [PAD]")])
    names = {"[CLS]", "[SEP]", "[MASK]", "[PAD]"}
    special = [token for token in tokens(tokenizer, pair) if token in names]
    assert special == ["[CLS]", "[SEP]", "[SEP]"]


def test_what_is_too_long_is_cut_off_at_the_end(tokenizer):
    form = InputForm(tokenizer, question_tokens=3, passage_tokens=8)
    passage = Passage("1", "the hills of the south", "the comet passed the moons twice before the sun")
    (pair,) = form.pairs("which lakes does the orla feed", [passage])
    assert tokens(tokenizer, pair) == [
        *("[CLS]", "which", "lakes", "does", "[SEP]"),
        *("the", "hills"),
        *("the", "comet", "passed", "the", "moons", "twice", "[SEP]"),
    ]
    assert [passage.text[a:b] for a, b in pair.offsets] == ["the", "comet", "passed", "the", "moons", "twice"]
    assert pair.tokens_of(passage.text.index("before"), len(passage.text)) is None
    cut = pair.tokens_of(passage.text.index("twice"), len(passage.text))
    assert passage.text[slice(*pair.characters_of(*cut))] == "twice"


def test_a_bare_text_gives_its_words_without_special_tokens(tokenizer, form):
    assert [tokenizer.id_to_token(i) for i in form.words("Ana Lind")] == ["ana", "lind"]
    assert form.words("") == ()


# Reading: states and their cache


class Echo:
    """A network whose states are the token ids; counts what it is given to encode."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def eval(self) -> "Echo":
        return self

    def encode(self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        self.read += mask.sum(dim=1).tolist()
        return (ids * mask).float()[:, :, None].expand(-1, -1, 4)


def numbered(count: int) -> list[Passage]:
    """Passages of six tokens each with a question of one: 24 numbers or 96 bytes of states."""
    return [Passage(str(i), "", f"{i // 10} {i % 10}") for i in range(count)]


def close(one: torch.Tensor, other: torch.Tensor, tolerance: float = 1e-5) -> bool:
    return one.shape == other.shape and bool((one - other).abs().max() < tolerance)


@pytest.mark.parametrize("extra", [1, 7, 40])
def test_padding_changes_no_state(extra):
    network, _, form = tiny_network()
    network.eval()
    pairs = form.pairs(QUESTION, PASSAGES[:1])
    ids, mask, segments = (torch.from_numpy(part) for part in pad(pairs))
    with torch.inference_mode():
        plain = network.encode(ids, mask, segments)
        longer = [torch.nn.functional.pad(part, (0, extra)) for part in (ids, mask, segments)]
        padded = network.encode(*longer)
        unmasked = network.encode(longer[0], torch.ones_like(longer[0]), longer[2])
    assert close(padded[:, : ids.shape[1]], plain)
    assert not close(unmasked[:, : ids.shape[1]], plain, 1e-2)  # so that the mask is seen to matter


def test_a_batch_of_passages_gives_the_states_of_each_read_alone():
    together = tiny_reader().read(QUESTION, PASSAGES)
    for passage, states in zip(PASSAGES, together, strict=True):
        (alone,) = tiny_reader().read(QUESTION, [passage])
        assert states.pair == alone.pair
        assert states.hidden.shape == (len(states.pair.ids), 32)
        assert close(states.hidden, alone.hidden)


def test_the_order_of_the_passages_is_kept_whatever_their_length():
    reader = tiny_reader()
    forward = reader.read(QUESTION, PASSAGES)
    backward = tiny_reader().read(QUESTION, PASSAGES[::-1])
    assert [states.pair for states in forward] == [states.pair for states in backward[::-1]]
    lengths = [len(states.pair.ids) for states in forward]
    assert lengths != sorted(lengths)


def test_question_title_and_text_all_change_the_states():
    passage = PASSAGES[0]
    reader = tiny_reader()
    (plain,) = reader.read(QUESTION, [passage])
    others = [
        reader.read("which moons does the orla feed", [passage])[0],
        reader.read(QUESTION, [replace(passage, title="Dorn")])[0],
        reader.read(QUESTION, [replace(passage, text=passage.text.replace("hills", "barn"))])[0],
    ]
    assert all(not close(plain.hidden[:1], other.hidden[:1], 1e-3) for other in others)


def test_what_was_read_is_not_read_again_and_gives_the_same_states(form):
    network = Echo()
    reader = Reader(network, form)
    first = reader.read("q", numbered(5))
    again = reader.read("q", numbered(5)[::-1])
    assert len(network.read) == 5
    assert [id(states) for states in again] == [id(states) for states in first[::-1]]


def test_the_id_of_a_passage_does_not_matter_to_the_cache_but_its_title_and_text_do(form):
    network = Echo()
    reader = Reader(network, form)
    reader.read("q", [Passage("1", "Orla", "Karo")])
    reader.read("q", [Passage("2", "Orla", "Karo")])
    assert len(network.read) == 1
    for passage in (Passage("1", "Orla", "Dorn"), Passage("1", "Dorn", "Karo"), Passage("1", "", "OrlaKaro")):
        reader.read("q", [passage])
    reader.read("r", [Passage("1", "Orla", "Karo")])
    assert len(network.read) == 5


def test_no_two_pairs_share_a_place_in_the_cache_whatever_characters_they_hold(form):
    network = Echo()
    reader = Reader(network, form)
    apart = [
        ("q", "Orla\0Karo", "Dorn"),
        ("q\0Orla", "Karo", "Dorn"),
        ("q", "Orla", "Karo\0Dorn"),
        ("q\0Orla\0Karo", "", "Dorn"),
        ("q", "", "Orla\0Karo\0Dorn"),
        ("", "q\0Orla", "Karo\0Dorn"),
        ("q\0", "Orla", "Karo"),
        ("q", "\0Orla", "Karo"),
        ("qOrla", "Karo", "Dorn"),
        ("q", "OrlaKaro", "Dorn"),
        ("q", "Orla", "KaroDorn"),
    ]
    for count, (question, title, text) in enumerate(apart, start=1):
        (states,) = reader.read(question, [Passage("1", title, text)])
        assert len(network.read) == count
        assert states.pair == form.pairs(question, [Passage("1", title, text)])[0]
    for question, title, text in apart:
        reader.read(question, [Passage("2", title, text)])
    assert len(network.read) == len(apart)


def test_a_passage_that_is_given_twice_is_read_once(form):
    network = Echo()
    one, two, three = Reader(network, form).read("q", [numbered(2)[0], numbered(2)[1], numbered(2)[0]])
    assert len(network.read) == 2
    assert one is three
    assert one is not two


def test_nothing_to_read_gives_nothing(form):
    assert Reader(Echo(), form).read("q", []) == []


def test_the_least_recently_asked_states_go_first(form):
    network = Echo()
    a, b, c, d = numbered(4)
    reader = Reader(network, form, cache_bytes=3 * 96)
    reader.read("q", [a, b, c])
    reader.read("q", [a])
    reader.read("q", [d])  # b is the oldest now
    assert len(network.read) == 4
    reader.read("q", [a, c, d])
    assert len(network.read) == 4
    reader.read("q", [b])
    assert len(network.read) == 5


def test_the_cache_never_holds_more_than_its_bytes(form):
    network = Echo()
    reader = Reader(network, form, cache_bytes=4 * 96 + 95)
    passages = numbered(30)
    states = reader.read("q", passages)
    assert [s.hidden.nbytes for s in states] == [96] * 30
    assert len(network.read) == 30
    reader.read("q", passages[-4:])
    assert len(network.read) == 30
    reader.read("q", passages[-5:-4])
    assert len(network.read) == 31


def test_a_batch_larger_than_the_cache_is_read_whole(form):
    reader = Reader(Echo(), form, cache_bytes=1)
    states = reader.read("q", numbered(20))
    assert [s.pair for s in states] == form.pairs("q", numbered(20))


def test_kept_states_do_not_keep_their_padded_batch_alive():
    for states in tiny_reader().read(QUESTION, PASSAGES[:4]):
        assert states.hidden.untyped_storage().nbytes() == states.hidden.nbytes


def test_threads_that_read_the_same_passages_get_the_same_states():
    reader = tiny_reader(cache_bytes=20_000)
    expected = tiny_reader().read(QUESTION, PASSAGES[:6])
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: reader.read(QUESTION, PASSAGES[:6]), range(8)):
            assert all(close(a.hidden, b.hidden) for a, b in zip(found, expected, strict=True))


# The network's heads


def test_the_band_of_spans_is_the_score_of_each_span():
    torch.manual_seed(0)
    head = SpanHead(12, ReaderShape(span_tokens=4, span_width=8))
    torch.nn.init.normal_(head.length)
    hidden = torch.randn(2, 7, 12)
    band = head(hidden)
    assert band.shape == (2, 7, 4)
    for row in range(2):
        for first in range(7):
            for distance in range(4):
                last = first + distance
                if last >= 7:
                    assert band[row, first, distance] < 0.9 * FORBIDDEN
                    continue
                score = head.score(
                    hidden[row, first][None], hidden[row, last][None], torch.tensor([distance])
                )
                assert score.item() == pytest.approx(band[row, first, distance].item(), abs=1e-5)


def test_a_span_score_is_start_times_end_plus_start_end_and_length():
    torch.manual_seed(1)
    head = SpanHead(12, ReaderShape(span_tokens=4, span_width=16))
    torch.nn.init.normal_(head.length)
    hidden = torch.randn(1, 5, 12)
    projected, bias = head.project(hidden[0]), head.bias(hidden[0])
    by_hand = (
        (projected[1, :16] @ projected[3, 16:]) / 4  # the root of 16
        + bias[1, 0]
        + bias[3, 1]
        + head.length[2]
    )
    assert head(hidden)[0, 1, 2].item() == pytest.approx(by_hand.item(), abs=1e-5)


def test_a_span_longer_than_any_that_was_trained_scores_like_none():
    head = SpanHead(12, ReaderShape(span_tokens=4, span_width=8))
    states = torch.randn(3, 12)
    scores = head.score(states, states, torch.tensor([3, 4, 90]))
    assert scores[0] > -100
    assert scores[1:].tolist() == [FORBIDDEN, FORBIDDEN]


def test_the_words_of_a_candidate_are_the_mean_of_their_embeddings():
    network, _, form = tiny_network()
    table = network.encoder.embeddings.word_embeddings.weight
    words = form.words("Ana Lind")
    means = network.mean_words([words, ()])
    assert torch.allclose(means[0], (table[words[0]] + table[words[1]]) / 2 * 10, atol=1e-5)
    assert means[1].tolist() == [0.0] * 32
    assert not means.requires_grad


# The reader on disk


@pytest.fixture
def saved(tmp_path):
    network, card, _ = tiny_network()
    save_network(network, card, tmp_path)
    return tmp_path


def test_weights_and_card_come_back_as_they_were_saved(tmp_path):
    network, card, form = tiny_network(seed=5)
    rows = [[-0.25, 1.5, 0.1], [0.0, 1e-9, -3.0], [2.0, 1 / 3, 0.0]]
    card = replace(card, stage="verifier", calibration=rows, tau=0.6, training={"seed": 5})
    save_network(network, card, tmp_path / "model", dtype=torch.float32)
    loaded, read = load_network(tmp_path / "model")
    assert read == card
    assert not loaded.training
    assert all(torch.equal(a, loaded.state_dict()[name]) for name, a in network.state_dict().items())
    one, other = (Reader(n, form).read(QUESTION, PASSAGES[:1])[0].hidden for n in (network, loaded))
    assert torch.equal(one, other)


def test_weights_are_kept_in_bfloat16_and_without_the_base_model_s_embeddings(tmp_path):
    network, card, _ = tiny_network()
    save_network(network, card, tmp_path)
    kept = load_file(tmp_path / "reader.safetensors")
    own = {name for name in network.state_dict() if not name.startswith("encoder.embeddings.")}
    assert set(kept) == own
    assert {tensor.dtype for tensor in kept.values()} == {torch.bfloat16}
    loaded, _ = load_network(tmp_path)
    state = loaded.state_dict()
    assert {tensor.dtype for tensor in state.values()} == {torch.float32}
    for name, tensor in network.state_dict().items():
        expected = tensor.to(torch.bfloat16).float() if name in own else tensor
        assert torch.equal(state[name], expected)


def test_a_network_for_reading_has_its_heads_in_float32_and_reads_alike(tmp_path):
    network, card, form = tiny_network()
    save_network(network, card, tmp_path)
    reading, _ = load_reading_network(tmp_path)
    exact, _ = load_network(tmp_path)
    heads = [p for name, p in reading.named_parameters() if not name.startswith("encoder.")]
    assert {p.dtype for p in heads} == {torch.float32}
    one, other = (Reader(n, form).read(QUESTION, PASSAGES[:1])[0].hidden.float() for n in (reading, exact))
    assert torch.nn.functional.cosine_similarity(one, other).min() > 0.99


def test_the_hash_of_the_weights_is_the_file_s(tmp_path):
    network, card, _ = tiny_network()
    save_network(network, card, tmp_path)
    content = (tmp_path / "reader.safetensors").read_bytes()
    assert weights_sha256(tmp_path) == hashlib.sha256(content).hexdigest()


def test_saving_over_a_model_leaves_nothing_else_behind(tmp_path):
    for seed in (0, 1):
        network, card, _ = tiny_network(seed)
        save_network(network, replace(card, tau=float(seed)), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reader.safetensors", "rtv.json"]
    loaded, read = load_network(tmp_path)
    assert read.tau == 1.0
    expected = network.relevance.weight.to(torch.bfloat16).float()
    assert torch.equal(loaded.relevance.weight, expected)


def test_a_card_is_written_alone_beside_weights_that_stay(saved):
    weights = (saved / "reader.safetensors").read_bytes()
    card = replace(read_card(saved), calibration=[[0.5, 2.0]], tau=0.35)
    write_card(card, saved)
    assert read_card(saved) == card
    assert (saved / "reader.safetensors").read_bytes() == weights
    assert sorted(path.name for path in saved.iterdir()) == ["reader.safetensors", "rtv.json"]


def test_a_card_that_breaks_off_while_it_is_written_leaves_the_old_one(saved):
    before, card = (saved / "rtv.json").read_bytes(), read_card(saved)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))  # as if the disk were full
    try:
        with pytest.raises(OSError, match="too large"):
            write_card(replace(card, tau=0.9), saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (saved / "rtv.json").read_bytes() == before
    write_card(replace(card, tau=0.9), saved)
    assert read_card(saved).tau == 0.9
    assert sorted(path.name for path in saved.iterdir()) == ["reader.safetensors", "rtv.json"]


def test_a_blank_network_has_the_base_model_s_encoder():
    network, card, _ = tiny_network()
    base = load_file(tiny_base() / "model.safetensors")
    state = network.encoder.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in base.items() if name in state)
    assert set(state) <= set(base)
    assert (card.stage, card.base) == ("blank", str(tiny_base()))


def test_the_lengths_of_the_card_are_those_of_the_input_form(tokenizer):
    _, card, _ = tiny_network()
    form = input_form(replace(card, question_tokens=1, passage_tokens=2))
    (pair,) = form.pairs("who sang", [Passage("1", "", "blue hour was sung")])
    assert tokens(tokenizer, pair) == ["[CLS]", "who", "[SEP]", "blue", "hour", "[SEP]"]


def test_a_folder_without_a_reader_names_the_command_that_makes_one(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingError, match="python -m rtv_core train recaller"):
            load_network(folder)
    network, card, _ = tiny_network()
    save_network(network, card, tmp_path)
    (tmp_path / "reader.safetensors").unlink()
    with pytest.raises(MissingError, match="There is no reader in"):
        read_card(tmp_path)


def test_a_base_model_that_is_not_there_is_missing(tmp_path):
    with pytest.raises(MissingError, match="no model folder"):
        blank_network(str(tmp_path / "no such base"))


def test_a_reader_of_another_base_model_is_refused(tmp_path):
    base = save_tiny_base(tmp_path / "base")
    torch.manual_seed(0)
    network, card = blank_network(str(base), tiny_network()[0].shape)
    save_network(network, card, tmp_path / "model")
    load_network(tmp_path / "model")
    save_tiny_base(tmp_path / "base", seed=1)
    with pytest.raises(MismatchError, match=r"was trained from .* with hash .*requirements\.txt"):
        load_network(tmp_path / "model")


def change_card(folder, **values):
    path = folder / "rtv.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values), encoding="utf-8")


@pytest.mark.parametrize("content", ["", "{", "[]", '"card"', '{"base": "x"}', "\x00"])
def test_a_card_that_is_none_is_refused(saved, content):
    (saved / "rtv.json").write_text(content, encoding="utf-8")
    with pytest.raises(MismatchError, match="not a reader's card of this version"):
        load_network(saved)


def test_a_card_with_a_field_of_another_version_is_refused(saved):
    change_card(saved, layers_of_glue=3)
    with pytest.raises(MismatchError, match="layers_of_glue"):
        load_network(saved)


def test_weights_that_do_not_fit_their_card_are_refused(saved):
    change_card(saved, shape=json.loads((saved / "rtv.json").read_text())["shape"] | {"span_width": 8})
    with pytest.raises(MismatchError, match="don't fit their card"):
        load_network(saved)


def test_a_card_with_a_shape_of_another_version_is_refused(saved):
    change_card(saved, shape={"span_tokens": 6, "glue": 1})
    with pytest.raises(MismatchError):
        load_network(saved)


def test_truncated_weights_are_refused(saved):
    path = saved / "reader.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(MismatchError):
        load_network(saved)


@pytest.mark.parametrize(("text", "end"), [("ने", 1), ("हरू.", 2), ("ที่ x", 1), ("e\u0301a", 1)])
def test_a_token_takes_the_marks_along_that_the_tokenizer_drops(text, end):
    past = _past_marks(text, end)
    assert past > end
    assert unicodedata.category(text[past : past + 1] or "x") != "Mn"
