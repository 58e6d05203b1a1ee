-- What each session used, by day and by model or tool. Rows are written in the commit that holds the events they sum
-- up, so that nobody has to read journals for it. A summary of a conversation has no model here: it is the session's.
CREATE TABLE usage (
    session      INTEGER NOT NULL REFERENCES session (number),
    day          INTEGER NOT NULL,   -- since 1 January 1970, in UTC
    model        TEXT    NOT NULL,
    replies      INTEGER NOT NULL,
    input        INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    cache_read   INTEGER NOT NULL,
    cache_write  INTEGER NOT NULL,
    reasoning    INTEGER NOT NULL,
    searches     INTEGER NOT NULL,
    cost_usd     REAL    NOT NULL,
    unpriced     INTEGER NOT NULL,   -- how many of them had a price that is not known
    PRIMARY KEY (session, day, model)
) STRICT, WITHOUT ROWID;

-- The same, read out of the journal event by event.
CREATE VIEW journal_usage AS
    SELECT session, ts / 86400000 AS day,
        CASE type WHEN 'message.completed' THEN coalesce(json_extract(data, '$.model'), '')
            WHEN 'tool.completed' THEN coalesce(json_extract(data, '$.tool'), '') ELSE '' END AS model,
        type = 'message.completed' AS replies,
        coalesce(json_extract(data, '$.usage.input'), 0) AS input,
        coalesce(json_extract(data, '$.usage.output'), 0) AS output,
        coalesce(json_extract(data, '$.usage.cache_read'), 0) AS cache_read,
        coalesce(json_extract(data, '$.usage.cache_write'), 0) AS cache_write,
        coalesce(json_extract(data, '$.usage.reasoning'), 0) AS reasoning,
        coalesce(json_extract(data, '$.usage.searches'), 0) AS searches,
        coalesce(json_extract(data, '$.usage.cost_usd'), 0) AS cost_usd,
        NOT coalesce(json_extract(data, '$.usage.cost_complete'), 0) AS unpriced
    FROM journal
    WHERE type = 'message.completed'
        OR (type = 'tool.completed' AND json_extract(data, '$.usage') IS NOT NULL)
        OR (type = 'context.compacted'
            AND json_extract(data, '$.usage.input') + json_extract(data, '$.usage.output') > 0);

CREATE VIEW journal_usage_sums AS
    SELECT session, day, model, sum(replies) AS replies, sum(input) AS input, sum(output) AS output,
        sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, sum(reasoning) AS reasoning,
        sum(searches) AS searches, total(cost_usd) AS cost_usd, sum(unpriced) AS unpriced
    FROM journal_usage GROUP BY session, day, model;

INSERT INTO usage SELECT * FROM journal_usage_sums;
