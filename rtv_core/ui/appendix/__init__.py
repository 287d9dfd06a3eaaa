"""One self-contained page of a run's error analysis, for a paper's appendix.

page       the document, its provenance, and how to make it again
sections   scores, table 6, lost gold answers, agreement, examples, what gold lacked
others     answers that nobody found, and the comparison with another run
figures    F1 against tau, reliability, scores by verdict, kinds of questions
examples   some mistakes of each class with their evidence
"""
