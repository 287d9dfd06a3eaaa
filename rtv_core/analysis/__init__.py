"""What a run and people's verdicts on it amount to: pure functions on records, no store and no page.

shares       a share of judged items with its interval, weighted where the sample was not uniform
rulings      one verdict an answer, from one or several annotators
blame        the stage at which gold answers were lost
table6       the error analysis of the paper's table 6, beside the published one
corrected    gold corrected by verdicts
scores       precision, recall and F1, raw and corrected
estimate     corrected scores estimated from a sample of the wrong predictions
headline     the first line of an analysis
curves       F1, precision and recall against tau
calibration  how far validity scores tell the share that is right
columns      what filters and slices go by
filters      conditions on questions
slices       F1 by kind of question
missing      how many valid answers nobody has found yet
comparison   two runs on the same questions
rounds       two rounds of judgement of one run
"""
