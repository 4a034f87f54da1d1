"""Debates that are held by workers on many machines: submitted to a queue beside the hall, on the same PostgreSQL.

    place.py        the hall's address; a fleet needs one on PostgreSQL
    submitting.py   a debate is opened in the hall, and put in the queue; batch.py: many of them, from a file
    queue.py        the queue: procrastinate's, in the hall's schema; patient.py: it waits for a server that is away
    permits.py      what the whole fleet may have under way at a server, and spend in a day; turns.py: as turns of a run
    holding.py      what becomes of a debate that a worker takes, and when it is tried again
    worker.py       a worker: takes from the queue, and puts back what others have left behind
    state.py        what the fleet is doing

A job is a hint that there is something to do, never the truth about it: that stands in the hall. A worker that takes a
job reads from ledger and journal how far its debate is, and holds it under a lease, whose epoch shuts out whoever held
it before. So a job that is there twice, or is taken twice, is a debate that is held once.
"""
