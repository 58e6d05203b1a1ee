-- What people are asked, until the one who asked has read the answer, and as a record afterwards.
CREATE TABLE inquiry (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    session      INTEGER NOT NULL REFERENCES session (number),
    root         TEXT    NOT NULL,
    run          TEXT,
    agent        TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    asked        TEXT    NOT NULL,
    asked_at     INTEGER NOT NULL,
    until        INTEGER NOT NULL,
    answer       TEXT,
    answered_by  TEXT,
    answered_at  INTEGER,
    settled      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX inquiry_open ON inquiry (session) WHERE settled = 0;
-- Rules that people made, with an answer or by hand. Numbers are never used again: a count and the
-- highest number tell whether anything changed.
CREATE TABLE rule (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT    NOT NULL,
    rule     TEXT    NOT NULL,
    scope    TEXT    NOT NULL,
    place    TEXT    NOT NULL,
    made_by  TEXT    NOT NULL,
    made_at  INTEGER NOT NULL,
    UNIQUE (kind, rule, scope, place)
) STRICT;
