"""MRecall of dense, lexical and fused retrieval, for a choice of fusion weights.

Run: python -m benchmarks.retrieval --index DIR --questions FILE [--weights 0,0.1,0.2]

Choose the weight on dev; then run it once on test with that weight alone.
"""

from __future__ import annotations

from pathlib import Path

import click

from rtv_core.datasets import load_questions
from rtv_core.metrics import answer_recall, bootstrap_mean, mrecall_at
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import open_index
from rtv_core.settings import RetrieverSettings

DEPTHS = (5, 10, 20, 100)


@click.command()
@click.option("--index", type=click.Path(path_type=Path), required=True)
@click.option("--questions", type=click.Path(path_type=Path), required=True)
@click.option("--weights", default="0,0.05,0.1,0.15,0.2,0.3,0.5,1", show_default=True)
def main(index: Path, questions: Path, weights: str) -> None:
    """Print a row per weight: MRecall at 5, 10, 20, 100 and answer recall at 100, with 95 % intervals."""
    asked = [q for q in load_questions(questions) if any(q.answers)]
    encoder = SentenceEncoder(dtype="float32")
    retriever = HybridRetriever(open_index(index, encoder.fingerprint), encoder)
    print(f"{len(asked)} questions\nweight  " + "  ".join(f"MRecall@{k}" for k in DEPTHS) + "  recall@100")
    for weight in map(float, weights.split(",")):
        found = retriever.under(RetrieverSettings(lexical_weight=weight)).search([q.text for q in asked], 100)
        texts = [[hit.passage.text for hit in hits] for hits in found]
        cells = [
            bootstrap_mean([mrecall_at(k, t, q.answers) for t, q in zip(texts, asked, strict=True)], seed=1)
            for k in DEPTHS
        ]
        cells.append(
            bootstrap_mean(
                [answer_recall(100, t, q.answers) for t, q in zip(texts, asked, strict=True)], seed=1
            )
        )
        print(
            f"{weight:6.2f}  "
            + "  ".join(f"{100 * c.mean:.1f} ({100 * c.low:.0f}-{100 * c.high:.0f})" for c in cells)
        )


if __name__ == "__main__":
    main()
