"""Does it help? Briefs with planted facts, arms that answer them at equal cost, and what each reached.

Asking: `brief` (the question, its documents and what is planted in them, which `planted` checks), `answer` and `asked`
(the one answer of every arm, and what is asked for it), `arm` and `arms` with `debating` (who answers, and how),
`cassette` with `cassette_lines` and `recording` (every call, kept before it counts), `preparing` and `evaluation` (all
of it, within a limit), `results` (what is left for scoring).

Judging: `scores` with `phrases` and `claims` (by rule), `judging` with `asking_judge` (by a model, beside that),
`statistics`, `measuring` and `concluding` (what it shows), `report` and `comparing` (how that is told), `panel`
(simulated models, whose truth is known).
"""
