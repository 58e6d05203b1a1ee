-- What a session does and did, as the board shows it: a fold of its own events, written in the commit that holds them.
ALTER TABLE session ADD COLUMN activity TEXT NOT NULL DEFAULT '{}';   -- JSON
-- How its last run ended: done, failed, stopped. When that was; until then, when it was opened.
ALTER TABLE session ADD COLUMN outcome TEXT;
ALTER TABLE session ADD COLUMN rested_at INTEGER NOT NULL DEFAULT 0;
-- 1 from a failed run on until a new one begins, or until its person and the owner of the tenant have seen it.
ALTER TABLE session ADD COLUMN unseen_failure INTEGER NOT NULL DEFAULT 0;

-- Up to which event a person has seen a session.
CREATE TABLE read_mark (
    tenant   TEXT    NOT NULL,
    person   TEXT    NOT NULL,
    session  INTEGER NOT NULL REFERENCES session (number),
    upto     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (tenant, person, session)
) STRICT, WITHOUT ROWID;

-- What happened before there was a board counts as seen.
INSERT INTO read_mark (tenant, person, session, upto, at)
    SELECT tenant, person, number, head, updated_at FROM session WHERE head > 0
    UNION SELECT tenant, 'owner', number, head, updated_at FROM session WHERE head > 0;

UPDATE session SET rested_at = created_at;

-- Where the board looks. Only the begin and the end of a run change what is indexed here.
CREATE INDEX session_root ON session (root_number, outcome) WHERE root_number IS NOT NULL;
CREATE INDEX session_failed ON session (tenant) WHERE unseen_failure = 1;
CREATE INDEX session_pinned ON session (tenant) WHERE pinned_at IS NOT NULL;
CREATE INDEX session_rested ON session (tenant, rested_at) WHERE root_number IS NULL AND deleted_at IS NULL;
CREATE INDEX session_rested_person ON session (tenant, person, rested_at) WHERE root_number IS NULL AND deleted_at IS NULL;
