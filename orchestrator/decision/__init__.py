"""What a debate comes to, read off the ledger and checked against it. No model is asked here.

constraints.py    what Walls stated, and what was answered to it since
grounds.py        which names exist, and what words rest on
ballot.py         votes on Door's synthesis: who votes, what a vote says, what all of them come to
account.py        Door's account of its decision: the shape it is asked for, and what in it does not hold
decided.py        the outcome of each constraint, dissent, and what the outcome hangs on
evidence_used.py  what was on the table and where it is cited
seating.py        who sat where, which models answered, and what it took
likeness.py  caveats.py   what a reader should know
record.py         the decision record, of all of them
difference.py     two records side by side
"""
