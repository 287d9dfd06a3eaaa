"""Recall, then verify: open-domain questions with many answers.

Importing this package loads none of torch, transformers, faiss or gradio; the modules that need them do.
"""

__version__ = "0.1.0"
