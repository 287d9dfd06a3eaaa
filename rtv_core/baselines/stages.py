"""What the cards of the trained baselines call their stage."""

__all__ = ["CONCATENATED", "JOINT", "RERANKER"]

RERANKER, JOINT, CONCATENATED = "reranker", "joint reader", "concatenated reader"
