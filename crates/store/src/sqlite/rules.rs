//! Permission rules that people saved.

use std::path::PathBuf;

use rooftree_protocol::{SessionId, Timestamp};
use rusqlite::{Connection, Row, params};

use super::audit;
use crate::{AuditEntry, Error, RuleKind, RuleRow, RuleScope, RuleVersion};

/// Keeps a rule and gives its number; one that is there already keeps the number it has.
pub(crate) fn put(
    connection: &Connection,
    rule: &RuleRow,
    entry: Option<&AuditEntry>,
) -> Result<i64, Error> {
    let (scope, place) = match &rule.scope {
        RuleScope::Session(session) => ("session", session.as_str().to_owned()),
        RuleScope::Project(root) => ("project", root.to_string_lossy().into_owned()),
        RuleScope::Always => ("always", String::new()),
    };
    let added = connection
        .prepare_cached(
            "INSERT INTO rule (kind, rule, scope, place, made_by, made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (kind, rule, scope, place) DO NOTHING",
        )?
        .execute(params![word(rule.kind), rule.rule, scope, place, rule.by, rule.at.0])?;
    if added > 0 {
        audit::add_some(connection, entry)?;
    }
    Ok(connection
        .prepare_cached(
            "SELECT number FROM rule WHERE kind = ?1 AND rule = ?2 AND scope = ?3 AND place = ?4",
        )?
        .query_row(params![word(rule.kind), rule.rule, scope, place], |row| {
            row.get(0)
        })?)
}

/// Takes a rule away; says whether it was there.
pub(crate) fn remove(
    connection: &Connection,
    number: i64,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let removed = connection
        .prepare_cached("DELETE FROM rule WHERE number = ?1")?
        .execute([number])?;
    if removed > 0 {
        audit::add_some(connection, entry)?;
    }
    Ok(removed > 0)
}

/// All rules, the oldest first.
pub(crate) fn list(connection: &Connection) -> Result<(RuleVersion, Vec<RuleRow>), Error> {
    let mut statement = connection.prepare_cached("SELECT * FROM rule ORDER BY number")?;
    let mut rows = statement.query([])?;
    let mut rules = Vec::new();
    while let Some(row) = rows.next()? {
        rules.push(read(row)?);
    }
    let last = rules.last().map_or(0, |rule| rule.number);
    Ok((
        RuleVersion {
            count: i64::try_from(rules.len()).unwrap_or(i64::MAX),
            last,
        },
        rules,
    ))
}

/// Whether anything changed since.
pub(crate) fn version(connection: &Connection) -> Result<RuleVersion, Error> {
    let read = |row: &Row<'_>| {
        Ok(RuleVersion {
            count: row.get(0)?,
            last: row.get(1)?,
        })
    };
    Ok(connection
        .prepare_cached("SELECT count(*), coalesce(max(number), 0) FROM rule")?
        .query_row([], read)?)
}

fn read(row: &Row<'_>) -> Result<RuleRow, Error> {
    let (scope, place): (String, String) = (row.get("scope")?, row.get("place")?);
    let scope = match scope.as_str() {
        "session" => RuleScope::Session(
            SessionId::parse(&place).map_err(|problem| Error::Failed(problem.message))?,
        ),
        "project" => RuleScope::Project(PathBuf::from(place)),
        _ => RuleScope::Always,
    };
    let kind = match row.get::<_, String>("kind")?.as_str() {
        "allow" => RuleKind::Allow,
        "ask" => RuleKind::Ask,
        // What cannot be read must not allow anything.
        _ => RuleKind::Deny,
    };
    Ok(RuleRow {
        number: row.get("number")?,
        kind,
        rule: row.get("rule")?,
        scope,
        by: row.get("made_by")?,
        at: Timestamp(row.get("made_at")?),
    })
}

fn word(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Allow => "allow",
        RuleKind::Ask => "ask",
        RuleKind::Deny => "deny",
    }
}
