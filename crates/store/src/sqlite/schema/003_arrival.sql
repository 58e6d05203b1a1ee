-- Messages lie in the order they arrived, so that a commit of many posts writes a few pages and not
-- one for every session. Where each waits is in the index.
CREATE TABLE arrival (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES session (number),
    lane        TEXT    NOT NULL,
    position    INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    message_id  TEXT    NOT NULL,
    silent      INTEGER NOT NULL,
    message     TEXT    NOT NULL
) STRICT;
INSERT INTO arrival (session, lane, position, key, message_id, silent, message)
    SELECT session, lane, position, key, message_id, silent, message FROM inbox;
DROP TABLE inbox;
ALTER TABLE arrival RENAME TO inbox;
CREATE UNIQUE INDEX inbox_place ON inbox (session, lane, position);
CREATE UNIQUE INDEX inbox_key ON inbox (session, key);
