-- Access tokens: which person may do what over HTTP. The token itself is not stored, only its SHA-256 digest.
CREATE TABLE access_token (
    id          TEXT    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    digest      BLOB    NOT NULL UNIQUE,
    scopes      TEXT    NOT NULL,   -- a JSON list of words
    agents      TEXT,               -- a JSON list of names; NULL: all agents
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    used_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX access_token_person ON access_token (tenant, person);

-- Persons: the owner of the installation, and those he invited.
CREATE TABLE person (
    tenant       TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    role         TEXT    NOT NULL,   -- 'owner' or 'member'
    invited_at   INTEGER NOT NULL,
    disabled_at  INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO person (tenant, id, name, role, invited_at) VALUES ('default', 'owner', 'owner', 'owner', 0);

-- One-time links: whoever presents the secret first gets a device token of the person. Only its digest is stored.
CREATE TABLE access_link (
    digest      BLOB    NOT NULL PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    purpose     TEXT    NOT NULL,   -- 'login' or 'invitation'
    scopes      TEXT    NOT NULL,   -- of the device token: a JSON list of words
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    used_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX access_link_person ON access_link (tenant, person);

-- Idempotency keys: the answer to a request, for a day. Without a status the request is being worked on.
CREATE TABLE idempotency (
    tenant      TEXT    NOT NULL,
    person      TEXT    NOT NULL,
    token       TEXT    NOT NULL,   -- the id of the access token; empty for the local owner
    key         TEXT    NOT NULL,
    request     BLOB    NOT NULL,   -- SHA-256 of method, path and body
    status      INTEGER,
    answer      TEXT,
    begun_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, person, token, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- The topmost session above a delegated one. A token that is bound to agents sees what belongs to their sessions.
ALTER TABLE session ADD COLUMN root_number INTEGER;
WITH RECURSIVE below (number, id, root) AS (
    SELECT number, id, number FROM session WHERE parent_session IS NULL
    UNION ALL
    SELECT s.number, s.id, b.root FROM below b JOIN session s ON s.parent_session = b.id
)
UPDATE session SET root_number = below.root FROM below
WHERE below.number = session.number AND session.parent_session IS NOT NULL;
