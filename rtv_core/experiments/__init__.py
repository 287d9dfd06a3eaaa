"""The papers' tables and figures, each made again on any profile, index and question file.

An experiment is a module with `run(bench)`, which gives a `table.Table`; `catalogue` knows them all. What
they need answered is asked once and kept as runs in the store.
"""

__all__ = ["NEEDED", "TITLES"]

TITLES = {
    "figure4": "F1 by evidence size k and threshold tau",
    "figure5": "Evidence attacked: how far the score of a gold answer rises and falls",
    "ri2ver": "The second method without each of its parts, by any language model",
    "section4": "Rerank, then read: how answers depend on one another",
    "table10": "Recallers and verification, WebQSP",
    "table2": "Reranking: what the reader gets, and what it makes of it",
    "table4": "Answers, system by system",
    "table5": "The recaller alone, and with verification",
    "table7": "Seconds a question, configuration by configuration",
    "table9": "Single-answer mode: exact match of the best candidate",
}
"""What each experiment shows, by its name. Kept apart from the code, so that a list of them loads nothing."""

NEEDED = {"ri2ver": "--profile llm", "section4": "--baseline runs/joint"}
"""The options without which an experiment has nothing to work on, by its name."""
