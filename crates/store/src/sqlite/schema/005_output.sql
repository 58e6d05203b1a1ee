-- What background processes wrote, in pieces and without secrets: followed from other terminals while they run,
-- read after their end. `start` counts the bytes before a piece; the oldest pieces go when there are too many.
CREATE TABLE task_output (
    task   INTEGER NOT NULL REFERENCES task (number),
    start  INTEGER NOT NULL,
    text   TEXT    NOT NULL,
    PRIMARY KEY (task, start)
) STRICT, WITHOUT ROWID;
