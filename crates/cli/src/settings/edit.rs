//! Edits one value of a settings file and preserves the rest: comments, order, blank lines.
//!
//! Every edit is verified: it counts only if the new text, parsed again, says exactly what was there before
//! and the one value besides. If no edit does that, the file is not written.

use toml::{
    Table, Value,
    de::{DeTable, DeValue},
};

/// The text with this value at this place; none if only rewriting the file could do it.
pub fn with(text: &str, path: &[String], value: &Value) -> Option<String> {
    let before: Table = text.parse().ok()?;
    let mut wanted = before;
    set(&mut wanted, path, value)?;
    let says_it = |text: &String| text.parse::<Table>().is_ok_and(|table| table == wanted);
    if let Some(replaced) = replaced(text, path, value) {
        return Some(replaced).filter(says_it);
    }
    let (name, above) = path.split_last()?;
    let line = format!("{} = {value}", quoted(name));
    let header = above
        .iter()
        .map(|part| quoted(part))
        .collect::<Vec<_>>()
        .join(".");
    let dotted = format!("{header}.{line}");
    let mut ways = if above.is_empty() {
        vec![inserted(text, top(text), &line)]
    } else {
        let sections = sections(text, &header);
        let inside = sections.map(|end| inserted(text, end, &line));
        inside
            .chain([
                appended(text, &header, &line),
                inserted(text, top(text), &dotted),
            ])
            .collect()
    };
    ways.retain(says_it);
    ways.into_iter().next()
}

fn set(table: &mut Table, path: &[String], value: &Value) -> Option<()> {
    let (name, above) = path.split_last()?;
    let mut place = table;
    for part in above {
        let inner = place
            .entry(part)
            .or_insert_with(|| Value::Table(Table::new()));
        place = inner.as_table_mut()?;
    }
    place.insert(name.clone(), value.clone());
    Some(())
}

/// The text with another value where there is one.
fn replaced(text: &str, path: &[String], value: &Value) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let (name, above) = path.split_last()?;
    let mut table = document.get_ref();
    for part in above {
        let DeValue::Table(inner) = table.get(part.as_str())?.get_ref() else {
            return None;
        };
        table = inner;
    }
    let span = table.get(name.as_str())?.span();
    Some(format!(
        "{}{value}{}",
        text.get(..span.start)?,
        text.get(span.end..)?
    ))
}

/// The text with one more line, which ends the part of it that ends here.
fn inserted(text: &str, end: usize, line: &str) -> String {
    let (before, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let kept = before.trim_end();
    let (between, gap) = (
        if kept.is_empty() { "" } else { "\n" },
        before.get(kept.len()..).unwrap_or_default(),
    );
    let gap = if gap.starts_with('\n') { gap } else { "\n" };
    format!("{kept}{between}{line}{gap}{after}")
}

fn appended(text: &str, header: &str, line: &str) -> String {
    let kept = text.trim_end();
    let gap = if kept.is_empty() { "" } else { "\n\n" };
    format!("{kept}{gap}[{header}]\n{line}\n")
}

/// Where the keys at the top end.
fn top(text: &str) -> usize {
    headers(text).next().map_or(text.len(), |(at, _)| at)
}

/// Where each part of a text with this header ends.
fn sections<'a>(text: &'a str, header: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut headers = headers(text).peekable();
    std::iter::from_fn(move || {
        let (_, line) = headers.next()?;
        let end = headers.peek().map_or(text.len(), |(at, _)| *at);
        Some((line, end))
    })
    .filter(move |(line, _)| {
        let name = line.split('#').next().unwrap_or_default().trim();
        name.strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .is_some_and(|name| name.trim() == header)
    })
    .map(|(_, end)| end)
}

/// Lines that look like headers, with the comment above each: that belongs to what follows it.
fn headers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let mut comment = None;
    text.split_inclusive('\n').filter_map(move |line| {
        let here = at;
        at += line.len();
        match line.trim_start().chars().next() {
            Some('[') => Some((comment.take().unwrap_or(here), line)),
            Some('#') => {
                comment.get_or_insert(here);
                None
            }
            _ => {
                comment = None;
                None
            }
        }
    })
}

/// A part of a key as it must be written.
fn quoted(part: &str) -> String {
    let is_bare = !part.is_empty()
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare {
        part.to_owned()
    } else {
        Value::String(part.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, path: &str, value: impl Into<Value>) -> String {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        with(text, &path, &value.into()).unwrap_or_else(|| "refused".into())
    }

    #[test]
    fn what_else_is_written_stays_as_it_is() {
        let text = "# mine\nmodel = 'a/b' # the good one\n\n# how much\n[limits] # all of them\nmax_turns = 10   # enough\n\n[permission]\nmode = 'ask'\n";
        let table: [(&str, Value, String); 5] = [
            ("model", "c/d".into(), text.replace("'a/b'", "\"c/d\"")),
            ("limits.max_turns", 20.into(), text.replace("10", "20")),
            (
                "limits.timeout",
                "5m".into(),
                text.replace("# enough\n", "# enough\ntimeout = \"5m\"\n"),
            ),
            (
                "fallbacks",
                Vec::<String>::new().into(),
                text.replace("good one\n", "good one\nfallbacks = []\n"),
            ),
            (
                "sandbox.mode",
                "off".into(),
                format!("{text}\n[sandbox]\nmode = \"off\"\n"),
            ),
        ];
        for (path, value, expected) in table {
            assert_eq!(changed(text, path, value), expected, "{path}");
        }
        assert_eq!(
            changed("", "limits.max_turns", 3),
            "[limits]\nmax_turns = 3\n"
        );
        assert_eq!(changed("", "model", "x"), "model = \"x\"\n");
        assert_eq!(
            changed("limits.max_turns = 1\n", "limits.timeout", "1s"),
            "limits.max_turns = 1\nlimits.timeout = \"1s\"\n"
        );
        assert_eq!(
            changed("limits = {max_turns = 1}", "limits.max_turns", 2),
            "limits = {max_turns = 2}"
        );
    }

    #[test]
    fn what_only_looks_like_a_place_is_not_taken_for_one() {
        let text = "note = \"\"\"\n[limits]\n\"\"\"\n\n[limits]\nmax_turns = 1\n";
        assert_eq!(
            changed(text, "limits.timeout", "1s"),
            format!("{text}timeout = \"1s\"\n")
        );
        assert_eq!(
            changed("limits = {max_turns = 1}", "limits.timeout", "1s"),
            "refused"
        );
        assert_eq!(changed("limits = 1", "limits.timeout", "1s"), "refused");
    }
}
