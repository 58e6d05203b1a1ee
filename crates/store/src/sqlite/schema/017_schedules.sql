-- Schedules: what is to be done when.
CREATE TABLE schedule (
    id               TEXT    NOT NULL PRIMARY KEY,
    tenant           TEXT    NOT NULL,
    person           TEXT    NOT NULL,
    revision         INTEGER NOT NULL,   -- counts changes of the plan
    name             TEXT    NOT NULL,
    kind             TEXT    NOT NULL,   -- 'time', 'heartbeat' or 'event'
    plan             TEXT    NOT NULL,   -- all else of it, as JSON
    enabled          INTEGER NOT NULL,
    disabled_reason  TEXT,
    off_session      TEXT,               -- where its failures are shown; NULL unless they switched it off
    off_at           INTEGER,            -- since when they have
    next_due         INTEGER,            -- the next due time; NULL: none
    wake_at          INTEGER,            -- when it is looked at next: the due time, or later if it was put off
    streak           INTEGER NOT NULL DEFAULT 0,   -- failures in a row
    attempts         INTEGER NOT NULL DEFAULT 0,   -- attempts in a row that reached no model
    gate_state       TEXT,               -- what the gate command keeps
    made_by          TEXT    NOT NULL,   -- the principal who changed it last, as JSON
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Only these two are read when nothing is due, however many schedules there are.
CREATE INDEX schedule_due ON schedule (enabled, wake_at);
CREATE INDEX schedule_owner ON schedule (tenant, person, name);
-- Read when a run ends.
CREATE INDEX schedule_event ON schedule (tenant, person) WHERE kind = 'event' AND enabled = 1;
-- What a person must look at.
CREATE INDEX schedule_off ON schedule (tenant, off_session) WHERE off_session IS NOT NULL;

-- Occurrences: one row per due time, whichever process it was that saw it first.
CREATE TABLE occurrence (
    schedule    TEXT    NOT NULL,
    due         INTEGER NOT NULL,
    state       TEXT    NOT NULL,   -- 'claimed', 'running', 'completed', 'failed', 'skipped' or 'unknown'
    reason      TEXT,               -- why it was skipped or failed: a word
    detail      TEXT,               -- the same in a sentence
    session     TEXT,
    run         TEXT,
    gate_state  TEXT,               -- kept by the schedule if the run completes
    next_check  INTEGER,            -- when the run wants to be called again
    tokens      INTEGER NOT NULL DEFAULT 0,
    cost_usd    REAL    NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,   -- replies of models
    answer      TEXT,               -- the beginning of the answer
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    reviewed    INTEGER NOT NULL DEFAULT 0,   -- whether the scheduler has drawn its conclusions
    PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrence_run ON occurrence (run) WHERE run IS NOT NULL;
CREATE INDEX occurrence_open ON occurrence (state) WHERE reviewed = 0;

-- Incidents: failures of a schedule that have the same cause, as far as its words tell.
CREATE TABLE incident (
    schedule    TEXT    NOT NULL,
    signature   TEXT    NOT NULL,
    state       TEXT    NOT NULL,   -- 'detected', 'alerted', 'resolved' or 'acknowledged'
    words       TEXT    NOT NULL,   -- the last failure's
    count       INTEGER NOT NULL,
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    PRIMARY KEY (schedule, signature)
) STRICT, WITHOUT ROWID;
