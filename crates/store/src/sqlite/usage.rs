//! Usage sums: tokens and cost by session, day and model, kept in rows beside the journals.

use rooftree_protocol::{Event, EventBody, Usage};
use rusqlite::{Connection, named_params, params};

use super::{column, sessions::VISIBLE};
use crate::{Error, UsageFilter, UsageGroup, UsageRow};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// What one event adds to the sums of its session.
pub(crate) struct UsageEntry {
    day: i64,
    /// The model, or the tool that asked one; empty for a summary of the conversation.
    model: String,
    replies: u64,
    usage: Usage,
}

impl UsageEntry {
    /// None if the event has used nothing.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let (model, replies, usage) = match &event.body {
            EventBody::MessageCompleted(reply) => (reply.model.as_str(), 1, reply.usage),
            EventBody::ContextCompacted(compaction) if compaction.usage.total() > 0 => {
                ("", 0, compaction.usage)
            }
            EventBody::ToolCompleted(record) => (record.tool.as_str(), 0, record.usage?),
            _ => return None,
        };
        Some(Self {
            day: event.ts.0.div_euclid(DAY),
            model: model.to_owned(),
            replies,
            usage,
        })
    }
}

/// Adds to the sums of a session.
pub(crate) fn add(connection: &Connection, session: i64, entry: &UsageEntry) -> Result<(), Error> {
    let Usage {
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
        searches,
        cost_usd,
        cost_complete,
    } = entry.usage;
    connection
        .prepare_cached(
            "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO UPDATE SET replies = replies + excluded.replies, input = input + excluded.input,
                 output = output + excluded.output, cache_read = cache_read + excluded.cache_read,
                 cache_write = cache_write + excluded.cache_write, reasoning = reasoning + excluded.reasoning,
                 searches = searches + excluded.searches, cost_usd = cost_usd + excluded.cost_usd,
                 unpriced = unpriced + excluded.unpriced",
        )?
        .execute(params![
            session,
            entry.day,
            entry.model,
            column::signed(entry.replies),
            column::signed(input),
            column::signed(output),
            column::signed(cache_read),
            column::signed(cache_write),
            column::signed(reasoning),
            column::signed(searches),
            cost_usd,
            !cost_complete,
        ])?;
    Ok(())
}

/// Writes all sums anew, from the journals.
pub(crate) fn recompute(connection: &Connection) -> Result<(), Error> {
    connection
        .execute_batch("DELETE FROM usage; INSERT INTO usage SELECT * FROM journal_usage_sums;")?;
    Ok(())
}

/// What a row of sums is named by.
fn group_column(group: UsageGroup) -> &'static str {
    match group {
        UsageGroup::Agent => "s.agent",
        UsageGroup::Model => {
            "CASE u.model WHEN '' THEN coalesce(s.model, 'summaries') ELSE u.model END"
        }
        UsageGroup::Day => "date(u.day * 86400, 'unixepoch')",
        UsageGroup::Session => "coalesce(s.name, s.id)",
    }
}

/// Reads only rows of the days that are asked for: `usage_by_day` finds them, and the session of each is looked up.
fn sums_sql(filter: &UsageFilter) -> String {
    let groups = std::iter::once(filter.by).chain(filter.also.iter().copied());
    let columns: Vec<&str> = groups.map(group_column).collect();
    let columns = columns.join(", ");
    // Without a range all rows are read, in the order of the table; `+` keeps the index out.
    let day = if filter.since.is_some() {
        "u.day"
    } else {
        "+u.day"
    };
    format!(
        "SELECT sum(replies), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning),
             sum(searches), total(cost_usd), sum(unpriced) = 0, {columns}
         FROM usage u CROSS JOIN session s ON s.number = u.session
         WHERE {day} >= :since AND (:tenant IS NULL OR s.tenant = :tenant) AND {VISIBLE} GROUP BY {columns}"
    )
}

/// Sums by what the filter says, in no order.
pub(crate) fn sums(connection: &Connection, filter: &UsageFilter) -> Result<Vec<UsageRow>, Error> {
    let mut statement = connection.prepare_cached(&sums_sql(filter))?;
    let parameters = named_params! {
        ":since": filter.since.unwrap_or(i64::MIN),
        ":tenant": filter.tenant,
        ":person": filter.visible.person,
        ":agents": column::names(filter.visible.agents.as_deref())?,
    };
    let rows = statement.query_map(parameters, |row| {
        let count = |at: usize| row.get(at).map(column::unsigned);
        Ok(UsageRow {
            name: row.get(9)?,
            also: (10..10 + filter.also.len())
                .map(|at| row.get(at))
                .collect::<Result<_, _>>()?,
            replies: count(0)?,
            usage: Usage {
                input: count(1)?,
                output: count(2)?,
                cache_read: count(3)?,
                cache_write: count(4)?,
                reasoning: count(5)?,
                searches: count(6)?,
                cost_usd: row.get(7)?,
                cost_complete: row.get(8)?,
            },
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Sessions whose sums are not those of their journals, and how many sums differ.
pub(crate) fn differing(connection: &Connection) -> Result<Vec<(String, u64)>, Error> {
    const COUNTS: &str = "session, day, model, replies, input, output, cache_read, cache_write, reasoning, searches, unpriced";
    let sql = format!(
        "WITH kept AS (SELECT {COUNTS} FROM usage), told AS (SELECT {COUNTS} FROM journal_usage_sums),
             other AS (SELECT * FROM (SELECT * FROM kept EXCEPT SELECT * FROM told)
                 UNION ALL SELECT * FROM (SELECT * FROM told EXCEPT SELECT * FROM kept))
         SELECT coalesce((SELECT id FROM session WHERE number = other.session), 'no session'), count(*)
         FROM other GROUP BY other.session"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, column::unsigned(row.get(1)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connect;

    #[test]
    fn days_before_the_range_are_not_read() {
        let directory = tempfile::TempDir::new().unwrap();
        let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
        let plan = |since| {
            let filter = UsageFilter {
                since,
                ..UsageFilter::by(UsageGroup::Day)
            };
            let sql = format!("EXPLAIN QUERY PLAN {}", sums_sql(&filter));
            let mut plan = connection.prepare(&sql).unwrap();
            // A plan needs no values.
            let steps = plan
                .raw_query()
                .mapped(|row| row.get::<_, String>("detail"));
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            steps.join("; ")
        };
        let ranged = plan(Some(20_000));
        assert!(
            ranged.contains("SEARCH u USING INDEX usage_by_day (day>?)"),
            "{ranged}"
        );
        assert!(
            ranged.contains("SEARCH s USING INTEGER PRIMARY KEY"),
            "{ranged}"
        );
        assert!(plan(None).contains("SCAN u"));
    }
}
