import json
import math
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from encoders import WordEncoder, save_tiny_encoder

from rtv_core.protocols import Retriever
from rtv_core.records import Hit, Passage
from rtv_core.retrieval.dense import SentenceEncoder, passage_text
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import Index, build_index, open_index
from rtv_core.retrieval.lexical import LexicalIndex, build_lexical
from rtv_core.settings import RetrieverSettings

WORDS = [
    f"{a}{b}" for a in ("ri", "mo", "ka", "lu", "te", "so") for b in ("ver", "on", "stle", "na", "rra", "lar")
]
QUESTIONS = ["river luna", "the moon and the moon castle", "terra solar riven", "unheard words only", "kana?"]


def index_of(passages: list[Passage], folder: Path, encoder) -> Index:
    lines = (json.dumps({"id": p.id, "title": p.title, "text": p.text}) for p in passages)
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    build_index(folder / "corpus.jsonl", folder / "index", encoder)
    return open_index(folder / "index", encoder.fingerprint)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    """300 passages of random words, all different."""
    random.seed(1)
    texts = {" ".join(random.choices(WORDS, k=random.randint(3, 25))): None for _ in range(300)}
    passages = [Passage(f"p{i}", random.choice(WORDS) if i % 2 else "", text) for i, text in enumerate(texts)]
    return index_of(passages, tmp_path_factory.mktemp("retrieval"), WordEncoder())


def retriever_of(index: Index, weight: float) -> HybridRetriever:
    return HybridRetriever(index, WordEncoder(), RetrieverSettings(lexical_weight=weight))


def reference(index: Index, question: str, k: int, weight: float) -> list[Hit]:
    """The same by brute force: every score, two full sorts, the formula."""
    dense = index.vectors.astype(np.float64) @ WordEncoder().encode([question])[0].astype(np.float64)
    lexical = LexicalIndex(index.lexical_folder).scores(question)
    depth = max(k, 100)
    by_dense = sorted(range(len(index)), key=lambda row: (-dense[row], row))[:depth]
    by_words = sorted(
        (row for row in range(len(index)) if lexical[row] > 0), key=lambda row: (-lexical[row], row)
    )
    by_words = by_words[:depth]
    fused = {}
    for row in {*by_dense, *by_words}:
        fused[row] = (1 - weight) / (61 + by_dense.index(row)) if row in by_dense else 0
        fused[row] += weight / (61 + by_words.index(row)) if row in by_words else 0
    best = sorted(fused, key=lambda row: (-fused[row], -dense[row], row))[:k]
    return [
        Hit(
            index.passages[row],
            pytest.approx(dense[row], abs=1e-6),
            float(lexical[row]),
            by_dense.index(row) + 1 if row in by_dense else None,
            by_words.index(row) + 1 if row in by_words else None,
            rank,
        )
        for rank, row in enumerate(best, 1)
    ]


# Fusion


@pytest.mark.parametrize("weight", [0, 0.15, 0.5, 1])
@pytest.mark.parametrize("k", [1, 20, 100, 140, 1000])
def test_hits_equal_those_of_a_brute_force_search(index, weight, k):
    found = retriever_of(index, weight).search(QUESTIONS, k)
    for question, hits in zip(QUESTIONS, found, strict=True):
        assert hits == reference(index, question, k, weight)


def test_a_lexical_weight_of_0_keeps_the_dense_order(index):
    hits = retriever_of(index, 0).search(["river luna"], 50)[0]
    assert [hit.dense_rank for hit in hits] == list(range(1, 51))
    assert [hit.dense for hit in hits] == sorted((hit.dense for hit in hits), reverse=True)
    assert any(hit.lexical > 0 for hit in hits)


def test_a_hit_found_by_words_alone_has_the_dense_score_of_its_stored_vector(tmp_path):
    class Blind(WordEncoder):
        """Takes a passage that holds "secret" for another."""

        def encode(self, texts):
            return super().encode(["elsewhere" if "secret" in text else text for text in texts])

    passages = [Passage(f"p{i}", "", f"river number {i}") for i in range(150)]
    index = index_of([*passages, Passage("s", "", "A secret.")], tmp_path, Blind())
    retriever = HybridRetriever(index, WordEncoder(), RetrieverSettings(lexical_weight=0.6))
    first = retriever.search(["secret"], 10)[0][0]
    assert (first.passage.id, first.dense_rank, first.lexical_rank) == ("s", None, 1)
    question, elsewhere = WordEncoder().encode(["secret", "elsewhere"])
    assert first.dense == pytest.approx(float(question @ elsewhere), abs=1e-3)


def test_a_question_without_a_known_word_is_answered_by_meaning_alone(index):
    hits = retriever_of(index, 0.5).search(["xyzzy the of"], 10)[0]
    assert [(hit.lexical, hit.lexical_rank, hit.dense_rank) for hit in hits] == [
        (0.0, None, rank) for rank in range(1, 11)
    ]


def test_equal_passages_stand_in_the_order_of_their_rows(tmp_path):
    passages = [Passage(f"p{i}", "", text) for i, text in enumerate(["castle moon", "moon castle", "river"])]
    retriever = retriever_of(index_of(passages, tmp_path, WordEncoder()), 0.5)
    hits = retriever.search(["moon castle"], 3)[0]
    assert [(hit.passage.id, hit.dense_rank, hit.lexical_rank) for hit in hits] == [
        ("p0", 1, 1),
        ("p1", 2, 2),
        ("p2", 3, None),
    ]
    assert hits[0].dense == hits[1].dense


def test_a_batch_gives_exactly_what_single_questions_give(index):
    retriever = retriever_of(index, 0.15)
    many = QUESTIONS * 10
    together = retriever.search(many, 100)
    assert together == [retriever.search([question], 100)[0] for question in QUESTIONS] * 10
    assert retriever.search(many, 100) == together


def test_no_question_has_no_hits(index):
    assert retriever_of(index, 0.15).search([], 5) == []


def test_the_hybrid_retriever_has_the_retrievers_shape(index):
    assert isinstance(retriever_of(index, 0.15), Retriever)


def test_similarity_is_the_dense_score_of_given_passages(index):
    retriever = retriever_of(index, 0.15)
    hits = retriever.search(["river luna"], 30)[0]
    scores = retriever.similarity(["moon", "river luna"], [hit.passage.id for hit in hits])
    assert scores.shape == (2, 30)
    assert scores[1].tolist() == pytest.approx([hit.dense for hit in hits], abs=1e-6)
    with pytest.raises(KeyError):
        retriever.similarity(["moon"], ["nowhere"])


def test_similarity_encodes_all_its_queries_in_one_call(index):
    class Counting(WordEncoder):
        calls = 0

        def encode(self, texts):
            self.calls += 1
            return super().encode(texts)

    retriever = HybridRetriever(index, Counting())
    retriever.similarity(QUESTIONS, ["p0", "p1"])
    assert retriever.encoder.calls == 1


def test_similarity_of_nothing_has_the_right_shape(index):
    retriever = retriever_of(index, 0.15)
    assert retriever.similarity([], ["p0"]).shape == (0, 1)
    assert retriever.similarity(["moon"], []).shape == (1, 0)


# Words


def test_bm25_scores_follow_the_formula(tmp_path):
    passages = [
        Passage("a", "Moon", "moon castle"),
        Passage("b", "", "river moon river"),
        Passage("c", "", "luna"),
    ]
    build_lexical(passages, tmp_path)
    lengths, mean = (3, 3, 1), 7 / 3

    def term(count: int, length: int, holding: int) -> float:
        idf = math.log(1 + (3 - holding + 0.5) / (holding + 0.5))
        return idf * count / (count + 0.9 * (1 - 0.4 + 0.4 * length / mean))

    expected = [term(2, lengths[0], 2), term(1, lengths[1], 2) + term(2, lengths[1], 1), 0]
    assert LexicalIndex(tmp_path).scores("The river of the MOON").tolist() == pytest.approx(expected)


def test_a_decomposed_accent_matches_a_composed_one(tmp_path):
    build_lexical([Passage("a", "", "Beyonc\u00e9 sings"), Passage("b", "", "beyonc sings")], tmp_path)
    scores = LexicalIndex(tmp_path).scores("Beyonce\u0301")
    assert [score > 0 for score in scores] == [True, False]


# Meaning


def test_the_encoder_reads_title_and_text():
    assert passage_text(Passage("1", "Title", "Text.")) == "Title. Text."
    assert passage_text(Passage("1", "", "Text.")) == "Text."


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("tiny"), WORDS)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    random.seed(2)
    return [" ".join(random.choices(WORDS, k=random.randint(1, 50))) for _ in range(12)]


def test_an_encoder_gives_unit_vectors_in_the_order_of_the_texts(tiny, texts):
    encoder = SentenceEncoder(str(tiny), "float32")
    vectors = encoder.encode(texts)
    assert (vectors.shape, vectors.dtype) == ((12, 32), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(12), abs=1e-6)
    singles = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(vectors - singles).max() < 1e-5
    assert encoder.encode([]).shape == (0, 32)


def test_bfloat16_and_float32_vectors_agree(tiny, texts):
    brief, full = (SentenceEncoder(str(tiny), dtype) for dtype in ("bfloat16", "float32"))
    cosines = (brief.encode(texts) * full.encode(texts)).sum(1)
    assert cosines.min() > 0.999
    assert cosines.min() < 1  # else both ran in one precision
    assert brief.fingerprint == full.fingerprint


def test_words_beyond_the_longest_input_change_nothing(tiny):
    encoder = SentenceEncoder(str(tiny), "float32")
    long = " ".join(["river"] * 100)
    one, other = encoder.encode([long, f"{long} moon castle"])
    assert one.tolist() == other.tolist()


def test_threads_may_share_an_encoder(tiny, texts):
    encoder = SentenceEncoder(str(tiny), "float32")
    expected = [encoder.encode([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: encoder.encode([text]), texts))
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))


def test_the_packaged_model_finds_the_passage_that_answers(tmp_path):
    facts = {
        "Chad": "Chad borders Libya, Sudan, the Central African Republic, Cameroon, Nigeria and Niger.",
        "Nile": "The Nile flows north through eleven countries before it reaches the Mediterranean Sea.",
        "Io": "Io is the innermost of the four Galilean moons and the most volcanic body known.",
        "Ruddigore": "Gilbert and Sullivan wrote this comic opera about a family of cursed baronets.",
        "Curling": "In curling, players slide stones on ice towards a target of four rings.",
        "Helium": "Helium was seen in sunlight before anyone found it on Earth.",
        "Oslo": "Oslo held the Winter Olympics in 1952.",
        "Basalt": "Basalt is a dark rock made from lava that cooled fast.",
        "Cello": "A cello has four strings, tuned in fifths.",
        "": "The octopus has three hearts and blue blood.",
    }
    passages = [Passage(f"p{i}", title, text) for i, (title, text) in enumerate(facts.items())]
    index = index_of(passages, tmp_path, SentenceEncoder())
    retriever = HybridRetriever(index, SentenceEncoder(dtype="float32"), RetrieverSettings())
    questions = [
        "which nations are neighbours of chad",
        "what animal has several hearts",
        "satellites of Jupiter",
    ]
    found = retriever.search(questions, 3)
    assert [hits[0].passage.title for hits in found] == ["Chad", "", "Io"]
    assert found == [retriever.search([question], 3)[0] for question in questions]
    assert (index.manifest.dimension, index.manifest.passages) == (384, 10)


def test_the_retriever_module_loads_no_heavy_library():
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'faiss', 'bm25s'}"
    code = f"import sys, rtv_core.retrieval.hybrid; print({heavy} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
