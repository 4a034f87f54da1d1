"""The embedded store's tables: for each version of the format the statements that make it from the one before.

A version that was ever released is never changed: files of it are out there. What is new is a further version.
"""

_FIRST = """
CREATE TABLE threads (
  no INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE COLLATE NOCASE,
  head TEXT NOT NULL,
  state TEXT NOT NULL
) STRICT;
CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  salt ANY NOT NULL,            -- text; a blob of zeros once it is redacted
  words ANY NOT NULL
) STRICT;
CREATE TABLE entries (
  no INTEGER NOT NULL REFERENCES threads,
  seq INTEGER NOT NULL,
  turn_index INTEGER,
  hash TEXT NOT NULL,
  stored TEXT NOT NULL,
  text_id INTEGER REFERENCES texts,
  erased_by INTEGER,
  PRIMARY KEY (no, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX turns ON entries (no, turn_index) WHERE turn_index IS NOT NULL;
CREATE TABLE plans (no INTEGER PRIMARY KEY REFERENCES threads, plan TEXT NOT NULL) STRICT;
CREATE TABLE runs (
  no INTEGER PRIMARY KEY REFERENCES threads,
  holder TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  request TEXT
) STRICT;
CREATE TABLE reports (
  no INTEGER NOT NULL REFERENCES threads,
  number INTEGER NOT NULL,
  report TEXT NOT NULL,
  PRIMARY KEY (no, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending_erasure (no INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (no, seq)) STRICT, WITHOUT ROWID;
"""

# What earlier runs told goes, for it held free words where deleted ones leave traces; it is no part of any record.
_JOURNAL = """
DROP TABLE runs;
DROP TABLE reports;
CREATE TABLE runs (
  no INTEGER NOT NULL REFERENCES threads,
  epoch INTEGER NOT NULL,
  place TEXT NOT NULL,
  pid INTEGER NOT NULL,
  began_at TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  released INTEGER NOT NULL DEFAULT 0,
  request_id INTEGER REFERENCES texts,
  PRIMARY KEY (no, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE reports (
  no INTEGER NOT NULL REFERENCES threads,
  number INTEGER NOT NULL,
  told TEXT NOT NULL,
  text_id INTEGER REFERENCES texts,
  PRIMARY KEY (no, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
  no INTEGER NOT NULL REFERENCES threads,
  number INTEGER NOT NULL,
  hash TEXT NOT NULL,
  stored TEXT NOT NULL,
  text_id INTEGER REFERENCES texts,
  PRIMARY KEY (no, number)
) STRICT, WITHOUT ROWID;
"""

# Free words, of why a review was held say, stand in `texts`: a redaction takes those that belong to its thread.
_REVIEWS = """
CREATE TABLE reviews (
  name TEXT NOT NULL,
  number INTEGER NOT NULL,      -- the name's times are counted from 1
  file TEXT NOT NULL,           -- that declares it
  due_at TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  place TEXT NOT NULL,
  pid INTEGER NOT NULL,
  began_at TEXT NOT NULL,
  beat_at TEXT NOT NULL,
  released INTEGER NOT NULL DEFAULT 0,
  thread_id TEXT COLLATE NOCASE,  -- chosen before it is opened
  seen TEXT,
  revision TEXT,
  outcome TEXT,                 -- until it has one, the review is not over
  text_id INTEGER REFERENCES texts,
  PRIMARY KEY (name, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE deliveries (
  result TEXT NOT NULL,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (result, target)
) STRICT, WITHOUT ROWID;
CREATE TABLE checks (
  no INTEGER NOT NULL REFERENCES threads,
  assumption INTEGER NOT NULL,  -- which of its record's, from 0
  checked TEXT NOT NULL,        -- the thread's head then: behind another one its record may read otherwise
  result TEXT NOT NULL,
  at TEXT NOT NULL,
  text_id INTEGER REFERENCES texts,
  PRIMARY KEY (no, assumption)
) STRICT, WITHOUT ROWID;
"""

FORMATS = (_FIRST, _JOURNAL, _REVIEWS)
