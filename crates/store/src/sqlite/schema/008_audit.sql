-- Who did what, for every change that no journal tells. Rows are only added. A change of files has two: the intent,
-- and what came of it.
CREATE TABLE audit (
    number        INTEGER PRIMARY KEY,
    at            INTEGER NOT NULL,
    tenant        TEXT    NOT NULL,
    person        TEXT    NOT NULL,
    token         TEXT,
    surface       TEXT    NOT NULL,
    on_behalf_of  TEXT,
    action        TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    detail        TEXT    NOT NULL,
    phase         TEXT    NOT NULL,   -- 'done', or for files 'intent' and then 'completed' or 'failed'
    intent        INTEGER REFERENCES audit (number)
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, number);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are only added'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are only added'); END;

-- Whose it is. What was there before belongs to the owner of the installation.
ALTER TABLE session ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE session ADD COLUMN person TEXT NOT NULL DEFAULT 'owner';
ALTER TABLE rule ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE inquiry ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE task ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';

-- Who sent the command that led to an event, an answer or a command for another process.
ALTER TABLE journal ADD COLUMN who TEXT;
ALTER TABLE inquiry ADD COLUMN answered_who TEXT;
ALTER TABLE command ADD COLUMN who TEXT;
