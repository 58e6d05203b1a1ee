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
