-- What a session does and did, as the board shows it: a fold of its own events, written in the commit that holds them.
ALTER TABLE session ADD COLUMN activity TEXT NOT NULL DEFAULT '{}';   -- JSON
-- The first session above it; NULL for one that nobody delegated to.
ALTER TABLE session ADD COLUMN root INTEGER REFERENCES session (number);
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
WITH RECURSIVE above (number, root) AS (
    SELECT number, NULL FROM session WHERE parent_session IS NULL
    UNION
    SELECT s.number, coalesce(a.root, a.number)
    FROM above a JOIN session p ON p.number = a.number JOIN session s ON s.parent_session = p.id
)
UPDATE session SET root = (SELECT root FROM above WHERE above.number = session.number) WHERE parent_session IS NOT NULL;

-- Where the board looks. Only the begin and the end of a run change what is indexed here.
CREATE INDEX session_root ON session (root, outcome) WHERE root IS NOT NULL;
CREATE INDEX session_failed ON session (tenant) WHERE unseen_failure = 1;
CREATE INDEX session_pinned ON session (tenant) WHERE pinned_at IS NOT NULL;
CREATE INDEX session_rested ON session (tenant, rested_at) WHERE root IS NULL AND deleted_at IS NULL;
CREATE INDEX session_rested_person ON session (tenant, person, rested_at) WHERE root IS NULL AND deleted_at IS NULL;
