-- A message that waits may be withdrawn or replaced until it is taken. Its place stays.
ALTER TABLE inbox ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;   -- how often it was replaced
ALTER TABLE inbox ADD COLUMN withdrawn TEXT;                        -- the principal who withdrew it, as JSON

-- Settled permission requests and questions are listed by when they were asked.
CREATE INDEX inquiry_asked ON inquiry (tenant, asked_at, id);

-- Who uploaded bytes that no event names yet.
CREATE TABLE upload (
    blob    TEXT    NOT NULL,
    tenant  TEXT    NOT NULL,
    person  TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (blob, tenant, person)
) STRICT, WITHOUT ROWID;

-- Agents made over the HTTP API.
CREATE TABLE agent (
    tenant      TEXT    NOT NULL,
    name        TEXT    NOT NULL,   -- in lower case: names compare without case
    revision    INTEGER NOT NULL,
    text        TEXT    NOT NULL,   -- the definition, as a Markdown file has it
    made_by     TEXT    NOT NULL,   -- the principal who changed it last, as JSON
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
