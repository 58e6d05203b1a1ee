//! Full-text search over messages and replies. The index is updated lazily, at the time of a search.

use rusqlite::{Connection, named_params};

use super::{
    column,
    sessions::{self, VISIBLE},
};
use crate::{Error, JournalSearch, SearchHit};

/// How many journal rows one commit reads into the index, so that others are not kept waiting.
const AT_ONCE: i64 = 2_000;

/// Reads some more of the journal into the index; says whether that was all.
pub(crate) fn index_more(connection: &Connection) -> Result<bool, Error> {
    let upto: i64 =
        connection.query_row("SELECT upto FROM search_progress", [], |row| row.get(0))?;
    let last: i64 =
        connection.query_row("SELECT coalesce(max(id), 0) FROM journal", [], |row| {
            row.get(0)
        })?;
    if last <= upto {
        return Ok(true);
    }
    let next = last.min(upto + AT_ONCE);
    connection
        .prepare_cached(
            "INSERT INTO journal_search (rowid, text)
             SELECT id, text FROM journal_words WHERE id > ?1 AND id <= ?2 AND text IS NOT NULL",
        )?
        .execute([upto, next])?;
    connection.execute("UPDATE search_progress SET upto = ?1", [next])?;
    Ok(next == last)
}

/// Whether the index misses something.
pub(crate) fn is_behind(connection: &Connection) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT coalesce((SELECT max(id) FROM journal), 0) > upto FROM search_progress",
        )?
        .query_row([], |row| row.get(0))?)
}

/// Where the words are, best first.
pub(crate) fn search(
    connection: &Connection,
    search: &JournalSearch,
) -> Result<Vec<SearchHit>, Error> {
    let Some(wanted) = quoted(&search.words) else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT j.session, j.seq, snippet(journal_search, 0, '[', ']', '…', 16) AS snippet
         FROM journal_search JOIN journal j ON j.id = journal_search.rowid JOIN session s ON s.number = j.session
         WHERE journal_search MATCH :wanted AND s.deleted_at IS NULL
             AND (:tenant IS NULL OR s.tenant = :tenant) AND {VISIBLE}
         ORDER BY rank, j.id DESC LIMIT :limit + 0"
    ))?;
    let mut rows = statement.query(named_params! {
        ":wanted": wanted,
        ":tenant": search.tenant,
        ":person": search.visible.person,
        ":agents": column::names(search.visible.agents.as_deref())?,
        ":limit": column::limit(search.limit),
    })?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(session) = sessions::by_number(connection, row.get("session")?)? {
            hits.push(SearchHit {
                session,
                event: column::count(row, "seq")?,
                snippet: row.get("snippet")?,
            });
        }
    }
    Ok(hits)
}

/// Every word between quotes, so that none of them is read as an operator.
fn quoted(words: &str) -> Option<String> {
    let quoted: Vec<String> = words
        .split(|letter: char| letter.is_whitespace() || letter == '\0')
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_an_operator() {
        let table = [
            ("two words", Some(r#""two" "words""#)),
            ("a AND (b*", Some(r#""a" "AND" "(b*""#)),
            (r#"say "hi""#, Some(r#""say" """hi""""#)),
            (" \t - * \0", None),
        ];
        for (words, wanted) in table {
            assert_eq!(quoted(words).as_deref(), wanted, "{words}");
        }
    }
}
