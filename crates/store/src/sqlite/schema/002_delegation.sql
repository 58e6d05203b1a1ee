-- What a task is besides a title: the session a delegated run works in, and whatever else its owner keeps about it.
ALTER TABLE task ADD COLUMN child TEXT;
ALTER TABLE task ADD COLUMN data TEXT NOT NULL DEFAULT '{}';
-- When a person last said something: who is in the foreground is decided by it.
ALTER TABLE session ADD COLUMN user_at INTEGER;
CREATE INDEX session_user ON session (user_at) WHERE user_at IS NOT NULL;
-- Runs are found by their begin and their end.
CREATE INDEX journal_run ON journal (run) WHERE type IN ('run.started', 'run.completed');
CREATE INDEX journal_parent_run ON journal (parent_run) WHERE type = 'run.started' AND parent_run IS NOT NULL;
