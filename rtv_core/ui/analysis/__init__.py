"""The parts of the Analyse page.

view       what is looked at, read from a link or an event
state      a run with the verdicts on it; every figure is worked out once
behind     the questions behind a figure
tables     tables, numbers with intervals, and buttons that open what is behind a figure
plots      plots as inline SVG
systems    answers that no run on the same questions found
controls   the choice of runs and of what counts
filtering  the conditions on questions, and the filters that were saved
figures    the headline, how verdicts were counted, scores, table 6, where gold answers were lost
drawings   the plots with their words and numbers, for the page and the appendix
curves     F1 against tau, reliability, scores by verdict
sliced     F1 by kind of question and by saved filter
people     agreement, disagreements, answers still missing
compared   two runs side by side
rounds     two rounds of judgement side by side
listed     the list of questions
sheets     every figure as rows for a spreadsheet
"""
