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

# What the workers of a fleet share: the calls that are under way at each server, what was spent on each day, how much
# may be. `take_permit` locks the server's row, so that of several that ask at once each sees what the others got.
_FLEET = """
CREATE TABLE servers (server text COLLATE "C" PRIMARY KEY);
CREATE TABLE permits (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  server text COLLATE "C" NOT NULL REFERENCES servers,
  thread_id text COLLATE "C" NOT NULL,
  taken_at timestamptz NOT NULL,
  begun_at timestamptz NOT NULL,    -- by then its server has got the call, unless its process slept on the way
  over_at timestamptz NOT NULL,     -- from then on the call is under way no more, whatever became of who made it
  given_back boolean NOT NULL DEFAULT false,
  cost_usd numeric                  -- the most it can take; NULL where no price is known
);
CREATE INDEX permits_of_servers ON permits (server, begun_at);
CREATE INDEX permits_under_way ON permits (server) WHERE NOT given_back;
CREATE TABLE spending (
  day date PRIMARY KEY,             -- in UTC
  cost_usd numeric NOT NULL DEFAULT 0,
  unpriced bigint NOT NULL DEFAULT 0
);
CREATE TABLE budget (cost_usd numeric NOT NULL);  -- of a day; no row where there is none
CREATE FUNCTION take_permit(
  _server text, _thread_id text, _most integer, _per_minute integer, _seconds double precision, _cost numeric,
  OUT permit bigint, OUT wait_s double precision, OUT budget_usd numeric, OUT left_usd numeric
) LANGUAGE plpgsql AS $$
DECLARE
  _now timestamptz;
  _nth timestamptz;
BEGIN
  INSERT INTO servers VALUES (_server) ON CONFLICT DO NOTHING;
  PERFORM FROM servers WHERE server = _server FOR UPDATE;
  _now := clock_timestamp();
  DELETE FROM permits WHERE server = _server AND begun_at < _now - interval '1 minute'
    AND (given_back OR over_at <= _now);
  IF _most <= (SELECT count(*) FROM permits WHERE server = _server AND NOT given_back AND over_at > _now) THEN
    wait_s := 0;
    RETURN;
  END IF;
  IF _per_minute IS NOT NULL THEN
    SELECT begun_at INTO _nth FROM permits WHERE server = _server ORDER BY begun_at DESC OFFSET _per_minute - 1 LIMIT 1;
    wait_s := extract(epoch FROM _nth + interval '1 minute' - _now);
    IF wait_s > 0 THEN
      RETURN;
    END IF;
  END IF;
  wait_s := NULL;
  INSERT INTO spending (day) VALUES ((_now AT TIME ZONE 'UTC')::date) ON CONFLICT DO NOTHING;
  SELECT cost_usd INTO budget_usd FROM budget;
  SELECT budget_usd - cost_usd INTO left_usd FROM spending WHERE day = (_now AT TIME ZONE 'UTC')::date FOR UPDATE;
  IF budget_usd IS NOT NULL AND (_cost IS NULL OR _cost > left_usd) THEN
    RETURN;
  END IF;
  UPDATE spending SET cost_usd = cost_usd + coalesce(_cost, 0), unpriced = unpriced + (_cost IS NULL)::integer
    WHERE day = (_now AT TIME ZONE 'UTC')::date;
  INSERT INTO permits (server, thread_id, taken_at, begun_at, over_at, cost_usd)
    VALUES (_server, _thread_id, _now, _now + interval '5 seconds', _now + make_interval(secs => _seconds), _cost)
    RETURNING number INTO permit;
END $$;
CREATE FUNCTION give_permit_back(_permit bigint, _took numeric) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _given permits;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);  -- one that is lost counts as the most it can have taken
  UPDATE permits SET given_back = true, begun_at = least(begun_at, clock_timestamp())
    WHERE number = _permit AND NOT given_back RETURNING * INTO _given;
  IF FOUND THEN  -- of one that was over long since the most it can have taken stays counted
    UPDATE spending SET cost_usd = cost_usd + coalesce(_took, 0) - coalesce(_given.cost_usd, 0)
      WHERE day = (_given.taken_at AT TIME ZONE 'UTC')::date;
  END IF;
END $$;
"""

FORMATS = (_FIRST, _FLEET)
HOLD_WORDS = ("entries", "said", "runs", "reports", "journal", "checks", "reviews")
