-- One conversation of one definition. Its counters, its claim and the head of its journal
-- are columns here, so that one row decides who may do what.
CREATE TABLE session (
    number           INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL UNIQUE,
    agent            TEXT    NOT NULL,
    name             TEXT,
    name_key         TEXT,               -- the name without case
    model            TEXT,
    cwd              ANY     NOT NULL,   -- text, or bytes if it is no text
    parent_session   TEXT,
    parent_run       TEXT,
    parent_call      TEXT,
    fork_session     INTEGER REFERENCES session (number),
    fork_at          INTEGER NOT NULL DEFAULT 0,
    connector_key    TEXT    UNIQUE,
    pinned_at        INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    deleted_at       INTEGER,
    snippet          TEXT    NOT NULL DEFAULT '',
    attributes       TEXT    NOT NULL DEFAULT '{}',
    head             INTEGER NOT NULL,
    head_hash        BLOB    NOT NULL,
    mail_posted      INTEGER NOT NULL DEFAULT 0,
    mail_taken       INTEGER NOT NULL DEFAULT 0,
    mail_done        INTEGER NOT NULL DEFAULT 0,
    boundary_posted  INTEGER NOT NULL DEFAULT 0,
    boundary_taken   INTEGER NOT NULL DEFAULT 0,
    boundary_done    INTEGER NOT NULL DEFAULT 0,
    run              TEXT,
    fence            INTEGER NOT NULL DEFAULT 0,
    token            TEXT,
    owner_host       TEXT,
    owner_boot       TEXT,
    owner_pid        INTEGER,
    owner_started    INTEGER,
    lease            INTEGER,
    attempts         INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX session_name ON session (name_key) WHERE deleted_at IS NULL;
CREATE INDEX session_updated ON session (updated_at);
CREATE INDEX session_parent ON session (parent_session) WHERE parent_session IS NOT NULL;
-- What a restart looks at: the few sessions with something left to do.
CREATE INDEX session_unfinished ON session (number)
    WHERE run IS NOT NULL OR mail_done < mail_posted OR boundary_taken < boundary_posted;

-- What was accepted and by which key. Rows stay after they were taken: the key must be known.
CREATE TABLE inbox (
    session     INTEGER NOT NULL REFERENCES session (number),
    lane        TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    silent      INTEGER NOT NULL,
    message     TEXT    NOT NULL,
    PRIMARY KEY (session, lane, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX inbox_key ON inbox (session, key);

-- What happened. `id` is the order of commits over all sessions; search goes by it.
CREATE TABLE journal (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES session (number),
    seq         INTEGER NOT NULL,
    ts          INTEGER NOT NULL,
    run         TEXT,
    parent_run  TEXT,
    fence       INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    data        TEXT    NOT NULL,
    hash        BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX journal_place ON journal (session, seq);

-- Wishes for the process that owns a session; a row goes when it is handed out.
CREATE TABLE command (
    id       INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL REFERENCES session (number),
    at       INTEGER NOT NULL,
    command  TEXT    NOT NULL
) STRICT;
CREATE INDEX command_session ON command (session);

-- Background processes and runs, as they are listed.
CREATE TABLE task (
    number         INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    session        INTEGER NOT NULL REFERENCES session (number),
    kind           TEXT    NOT NULL,
    title          TEXT    NOT NULL,
    status         TEXT    NOT NULL,
    group_id       INTEGER,
    group_started  INTEGER,
    detail         TEXT    NOT NULL,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER
) STRICT;
CREATE INDEX task_session ON task (session);

-- Bytes under the name of their content.
CREATE TABLE blob (
    id     TEXT NOT NULL UNIQUE,
    bytes  BLOB NOT NULL
) STRICT;

-- The text of messages and replies, read out of the journal rather than kept twice.
CREATE VIEW journal_words AS
    SELECT id, CASE type
        WHEN 'message.completed' THEN json_extract(data, '$.text')
        ELSE (SELECT group_concat(json_extract(value, '$.text'), char(10)) FROM json_each(data, '$.message.parts'))
    END AS text
    FROM journal WHERE type IN ('message.user', 'message.completed');
CREATE VIRTUAL TABLE journal_search USING fts5 (
    text, content = 'journal_words', content_rowid = 'id', tokenize = 'porter unicode61'
);
-- How far the search has read the journal. It reads on when somebody searches.
CREATE TABLE search_progress (upto INTEGER NOT NULL) STRICT;
INSERT INTO search_progress VALUES (0);
