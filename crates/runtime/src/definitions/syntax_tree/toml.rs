//! Parses TOML into a syntax tree with locations.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{SourceSpan, SyntaxEntry, SyntaxError, SyntaxNode, SyntaxValue};

/// Reads a document.
pub(in super::super) fn read(text: &str) -> Result<SyntaxNode, SyntaxError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = place(text, error.span().unwrap_or_default());
        SyntaxError {
            what: error.message().to_owned(),
            at,
        }
    })?;
    let at = place(text, table.span());
    Ok(SyntaxNode {
        value: SyntaxValue::Map(entries(text, table.get_ref())),
        at,
    })
}

fn entries(text: &str, table: &DeTable<'_>) -> Vec<SyntaxEntry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        SyntaxEntry {
            key: key.get_ref().to_string(),
            at: place(text, key.span()),
            node: node(text, value),
        }
    };
    table.iter().map(entry).collect()
}

fn node(text: &str, value: &Spanned<DeValue<'_>>) -> SyntaxNode {
    let plain = |text: String| SyntaxValue::Text {
        text,
        is_plain: true,
    };
    let read = match value.get_ref() {
        DeValue::String(text) => SyntaxValue::Text {
            text: text.to_string(),
            is_plain: false,
        },
        DeValue::Integer(number) => plain(number.to_string()),
        DeValue::Float(number) => plain(number.to_string()),
        DeValue::Boolean(flag) => plain(flag.to_string()),
        DeValue::Datetime(moment) => SyntaxValue::Text {
            text: moment.to_string(),
            is_plain: false,
        },
        DeValue::Array(items) => {
            SyntaxValue::List(items.iter().map(|item| node(text, item)).collect())
        }
        DeValue::Table(table) => SyntaxValue::Map(entries(text, table)),
    };
    SyntaxNode {
        value: read,
        at: place(text, value.span()),
    }
}

fn place(text: &str, span: Range<usize>) -> SourceSpan {
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let inside = text.get(span).unwrap_or_default();
    SourceSpan {
        line: before.matches('\n').count() + 1,
        column: before.get(start..).map_or(0, |line| line.chars().count()) + 1,
        length: inside
            .lines()
            .next()
            .map_or(1, |line| line.chars().count().max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_places_and_values() {
        let node = read(
            "[[agents]]\nagentId = \"todo\"\ntoolAllowlist = [\"todo_*\"]\nuiVisible = true\nturns = 3\n",
        )
        .unwrap();
        let wanted = serde_json::json!({"agents": [
            {"agentId": "todo", "toolAllowlist": ["todo_*"], "uiVisible": true, "turns": 3}
        ]});
        assert_eq!(node.json(), wanted);
        let SyntaxValue::List(agents) = &node.entries().unwrap()[0].node.value else {
            panic!("a list")
        };
        let id = &agents[0].entries().unwrap()[0];
        assert_eq!((id.at.line, id.at.column, id.node.at.column), (2, 1, 11));
        assert_eq!(read("a = = 1").unwrap_err().at.line, 1);
    }
}
