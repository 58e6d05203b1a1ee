-- Messages to chats. A row is written in the commit that causes it; a worker delivers it afterwards, part by part.
CREATE TABLE outbox (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    by_key      TEXT    NOT NULL UNIQUE,   -- idempotency key
    tenant      TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    session     TEXT,
    run         TEXT,
    kind        TEXT    NOT NULL,          -- 'final', 'progress', 'permission', 'notice' or 'file'
    connector   TEXT    NOT NULL,
    place       TEXT    NOT NULL,          -- chat and thread: what order is kept in
    ordinal     INTEGER NOT NULL,          -- its place in that order
    target      TEXT    NOT NULL,          -- JSON
    body        TEXT    NOT NULL,          -- JSON
    state       TEXT    NOT NULL,          -- 'planned', 'sending', 'sent', 'failed', 'unknown', 'dead' or 'superseded'
    attempts    INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER NOT NULL DEFAULT 0,
    class       TEXT,                      -- of the last failure
    error       TEXT,                      -- the last failure in words
    created_at  INTEGER NOT NULL,
    due_since   INTEGER NOT NULL,          -- when it was made, or when a person had it retried
    closed_at   INTEGER
) STRICT;
CREATE INDEX outbox_open ON outbox (connector, place, ordinal) WHERE state IN ('planned', 'sending', 'failed');
CREATE INDEX outbox_place ON outbox (connector, place, ordinal);
CREATE INDEX outbox_run ON outbox (run) WHERE run IS NOT NULL;
CREATE INDEX outbox_listed ON outbox (tenant, number);
-- What a person must look at.
CREATE INDEX outbox_undelivered ON outbox (tenant, session) WHERE state IN ('unknown', 'dead');
CREATE INDEX outbox_closed ON outbox (closed_at) WHERE state IN ('sent', 'superseded');

-- The platform messages that a row was split into, once and before the first was sent.
CREATE TABLE outbox_part (
    outbox       INTEGER NOT NULL REFERENCES outbox (number) ON DELETE CASCADE,
    n            INTEGER NOT NULL,
    body         TEXT    NOT NULL,         -- JSON that the connector reads
    state        TEXT    NOT NULL,         -- 'planned', 'sending', 'sent', 'failed' or 'unknown'
    platform_id  TEXT,
    sent_at      INTEGER,
    PRIMARY KEY (outbox, n)
) STRICT, WITHOUT ROWID;

-- Background workers of which only one may be at work over all processes: who has which, and until when.
CREATE TABLE worker_claim (
    name     TEXT    NOT NULL PRIMARY KEY,
    fence    INTEGER NOT NULL,
    token    TEXT,                         -- NULL: nobody has it
    host     TEXT    NOT NULL,
    boot     TEXT    NOT NULL,
    pid      INTEGER NOT NULL,
    started  INTEGER NOT NULL,
    until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
