-- The chat that a session is a conversation in, as JSON: where results go that answer no message.
ALTER TABLE session ADD COLUMN chat TEXT;
