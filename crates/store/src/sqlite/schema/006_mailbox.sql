-- What those who post write, apart from what a session's owner writes. A post changes one short row beside many
-- others like it, so that a commit of many posts writes a few pages and not one for every session.
CREATE TABLE mailbox (
    session          INTEGER PRIMARY KEY REFERENCES session (number),
    mail_posted      INTEGER NOT NULL,
    boundary_posted  INTEGER NOT NULL,
    user_at          INTEGER,            -- when a person last said something
    waits            INTEGER NOT NULL    -- 1 from a post on until all of it is done: a restart looks at these
) STRICT;
INSERT INTO mailbox (session, mail_posted, boundary_posted, user_at, waits)
    SELECT number, mail_posted, boundary_posted, user_at, mail_done < mail_posted OR boundary_taken < boundary_posted
    FROM session WHERE mail_posted > 0 OR boundary_posted > 0 OR user_at IS NOT NULL;
CREATE INDEX mailbox_waits ON mailbox (session) WHERE waits = 1;
DROP INDEX session_unfinished;
DROP INDEX session_user;
ALTER TABLE session DROP COLUMN mail_posted;
ALTER TABLE session DROP COLUMN boundary_posted;
ALTER TABLE session DROP COLUMN user_at;
CREATE INDEX session_run ON session (number) WHERE run IS NOT NULL;
-- A message that is its own key is like no other; only keys that others may use again are looked for.
DROP INDEX inbox_key;
CREATE UNIQUE INDEX inbox_key ON inbox (session, key) WHERE key <> message_id;
