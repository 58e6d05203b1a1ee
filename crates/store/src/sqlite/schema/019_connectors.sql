-- Connectors: accounts of chat platforms and webhooks. Their secrets are in the credential store, not here.
CREATE TABLE connector (
    tenant      TEXT    NOT NULL,
    name        TEXT    NOT NULL,   -- in lower case
    platform    TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    settings    TEXT    NOT NULL,   -- a JSON object
    enabled     INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    made_by     TEXT    NOT NULL,   -- the principal who changed it last, as JSON
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    health      TEXT,               -- what its poller said last, as JSON
    cursor      TEXT,               -- where receiving goes on, for platforms that do not keep it
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- Which person a sender of a platform is, and what he may do there.
CREATE TABLE chat_identity (
    tenant       TEXT    NOT NULL,
    connector    TEXT    NOT NULL,
    sender       TEXT    NOT NULL,   -- the platform's own id
    name         TEXT    NOT NULL,   -- as the platform showed it when he was paired; it decides nothing
    person       TEXT    NOT NULL,
    may_send     INTEGER NOT NULL,
    may_approve  INTEGER NOT NULL,
    paired_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant, connector, sender)
) STRICT, WITHOUT ROWID;

-- Pairing codes that are not used yet. Only the digest of a code is stored.
CREATE TABLE pairing (
    tenant       TEXT    NOT NULL,
    connector    TEXT    NOT NULL,
    digest       BLOB    NOT NULL,
    sender       TEXT,               -- who was given the code; NULL: whoever sends it
    name         TEXT    NOT NULL,
    person       TEXT,               -- whom the sender becomes; NULL: whoever confirms it says so
    may_approve  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    tries        INTEGER NOT NULL,   -- wrong codes that were sent meanwhile
    PRIMARY KEY (tenant, connector, digest)
) STRICT, WITHOUT ROWID;

-- The session that a chat talks to now, if it is not the one that its own key opened.
CREATE TABLE chat_binding (
    tenant     TEXT    NOT NULL,
    connector  TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    previous   TEXT,                -- the session before it
    at         INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

-- What arrived and was taken: a platform may deliver it again, and an attacker may replay it.
CREATE TABLE inbound_key (
    tenant      TEXT    NOT NULL,
    connector   TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, connector, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_key_expiry ON inbound_key (expires_at);
