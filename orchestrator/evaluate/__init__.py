"""Does it help? Briefs with planted facts, arms that answer them at equal cost, and what each reached.

Read `brief` (the question, its documents and what is planted in them), `answer` (the one answer that every arm gives),
`arms` (who answers, and how), `cassette` (every reply, so that nothing is bought twice), `evaluation` (all of it within
a limit), `results` (what is left for scoring).
"""
