"""The tables on PostgreSQL: for each version of the format the statements that make it from the one before.

A version that was ever released is never changed: there are halls of it. What is new is a further version.

Free words stand with what they belong to; a redaction sets them to NULL. They are bytes of UTF-8, since a model's reply
may hold a NUL, and no text on PostgreSQL may. Names and times are sorted by their bytes, whatever the locale is.
"""

_FIRST = """
CREATE TABLE threads (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thread_id text COLLATE "C" NOT NULL,
  head text NOT NULL,
  state text NOT NULL,
  plan text,
  linked_to text COLLATE "C"      -- by its opening, in small letters
) WITH (fillfactor = 50);         -- each commit changes the row, in place as long as its page has room
CREATE UNIQUE INDEX threads_by_id ON threads (lower(thread_id));
CREATE INDEX threads_by_link ON threads (linked_to) WHERE linked_to IS NOT NULL;
CREATE TABLE entries (
  no bigint NOT NULL REFERENCES threads,
  seq integer NOT NULL,
  turn_index integer,
  hash text NOT NULL,
  stored text NOT NULL,
  words bytea,
  salt text,
  erased_by integer,
  PRIMARY KEY (no, seq)
);
CREATE UNIQUE INDEX turns ON entries (no, turn_index) WHERE turn_index IS NOT NULL;
CREATE TABLE said (
  no bigint NOT NULL,
  seq integer NOT NULL,
  at text COLLATE "C" NOT NULL,
  weight real NOT NULL,
  folded text NOT NULL,           -- its words, for phrases
  words tsvector NOT NULL,
  PRIMARY KEY (no, seq)
);
CREATE INDEX said_words ON said USING gin (words);
CREATE TABLE runs (
  no bigint NOT NULL REFERENCES threads,
  epoch integer NOT NULL,
  place text NOT NULL,
  pid bigint NOT NULL,
  began_at text NOT NULL,
  beat_at text NOT NULL,
  released boolean NOT NULL DEFAULT false,
  request bytea,                  -- empty once a redaction has taken it
  PRIMARY KEY (no, epoch)
);
CREATE TABLE reports (
  no bigint NOT NULL REFERENCES threads,
  number integer NOT NULL,
  told text NOT NULL,
  words bytea,
  PRIMARY KEY (no, number)
);
CREATE TABLE journal (
  no bigint NOT NULL REFERENCES threads,
  number integer NOT NULL,
  hash text NOT NULL,
  stored text NOT NULL,
  words bytea,
  salt text,
  forgotten boolean NOT NULL DEFAULT false,
  PRIMARY KEY (no, number)
);
CREATE TABLE checks (
  no bigint NOT NULL REFERENCES threads,
  assumption integer NOT NULL,
  checked text NOT NULL,
  result text NOT NULL,
  at text NOT NULL,
  words bytea,
  PRIMARY KEY (no, assumption)
);
CREATE TABLE reviews (
  name text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  file text NOT NULL,
  due_at text NOT NULL,
  epoch integer NOT NULL,
  place text NOT NULL,
  pid bigint NOT NULL,
  began_at text NOT NULL,
  beat_at text NOT NULL,
  released boolean NOT NULL DEFAULT false,
  thread_id text COLLATE "C",
  seen text,
  revision text,
  outcome text,
  words bytea,
  PRIMARY KEY (name, number)
);
CREATE INDEX reviews_by_thread ON reviews (lower(thread_id)) WHERE thread_id IS NOT NULL;
CREATE TABLE deliveries (
  result text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL,
  at text NOT NULL,
  PRIMARY KEY (result, target)
);
"""

FORMATS = (_FIRST,)
HOLD_WORDS = ("entries", "said", "runs", "reports", "journal", "checks", "reviews")
