//! Parses YAML, and JSON with it, into a syntax tree with locations.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::{DEEPEST, SourceSpan, SyntaxEntry, SyntaxError, SyntaxNode, SyntaxValue};

type YamlEvents<'a> = Parser<'a, saphyr_parser::StrInput<'a>>;

/// Reads one document. `first_line` is the line of the file that the text begins on.
pub(in super::super) fn read(text: &str, first_line: usize) -> Result<SyntaxNode, SyntaxError> {
    let mut reader = YamlReader {
        events: Parser::new_from_str(text),
        skipped: first_line.saturating_sub(1),
    };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(reader.nothing(span)),
            event => return reader.node(event, span, 0),
        }
    }
}

struct YamlReader<'a> {
    events: YamlEvents<'a>,
    skipped: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SyntaxError> {
        match self.events.next() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.broken(&error)),
            None => Err(SyntaxError {
                what: "it ends too early".into(),
                at: self.place(Span::default()),
            }),
        }
    }

    fn node(
        &mut self,
        event: Event<'a>,
        span: Span,
        depth: usize,
    ) -> Result<SyntaxNode, SyntaxError> {
        let at = self.place(span);
        if depth > DEEPEST {
            return Err(SyntaxError {
                what: format!("values lie more than {DEEPEST} deep in one another"),
                at,
            });
        }
        let value = match event {
            Event::Scalar(text, style, ..) => SyntaxValue::Text {
                text: text.into_owned(),
                is_plain: style == ScalarStyle::Plain,
            },
            Event::SequenceStart(..) => SyntaxValue::List(self.list(depth)?),
            Event::MappingStart(..) => SyntaxValue::Map(self.map(depth)?),
            Event::Alias(_) => {
                return Err(SyntaxError {
                    what: "aliases (`*name`) are not understood".into(),
                    at,
                });
            }
            _ => {
                return Err(SyntaxError {
                    what: "a value is missing".into(),
                    at,
                });
            }
        };
        Ok(SyntaxNode { value, at })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<SyntaxNode>, SyntaxError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(items);
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<SyntaxEntry>, SyntaxError> {
        let mut entries: Vec<SyntaxEntry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(entries);
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            let Some(name) = key.text() else {
                return Err(SyntaxError {
                    what: "a key must be a word".into(),
                    at: key.at,
                });
            };
            if entries.iter().any(|entry| entry.key == name) {
                return Err(SyntaxError {
                    what: format!("`{name}` is there twice"),
                    at: key.at,
                });
            }
            entries.push(SyntaxEntry {
                key: name.to_owned(),
                at: key.at,
                node,
            });
        }
    }

    fn nothing(&self, span: Span) -> SyntaxNode {
        SyntaxNode {
            value: SyntaxValue::Map(Vec::new()),
            at: self.place(span),
        }
    }

    fn broken(&self, error: &ScanError) -> SyntaxError {
        let at = self.place(Span::empty(*error.marker()));
        SyntaxError {
            what: error.info().to_owned(),
            at,
        }
    }

    fn place(&self, span: Span) -> SourceSpan {
        let (line, column): (usize, usize) = position(&span.start);
        let length = if span.start.line() == span.end.line() {
            span.len().max(1)
        } else {
            1
        };
        SourceSpan {
            line: line + self.skipped,
            column,
            length,
        }
    }
}

fn position(marker: &Marker) -> (usize, usize) {
    (marker.line().max(1), marker.col() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_keeps_its_place() {
        let node = read(
            "description: Reviews code\ntools: [Read, Grepp, Glob]\nmcp_servers:\n  github:\n    args: []\n",
            2,
        )
        .unwrap();
        let entries = node.entries().unwrap();
        assert_eq!(
            (
                entries[0].at.line,
                entries[0].at.column,
                entries[0].at.length
            ),
            (2, 1, 11)
        );
        let SyntaxValue::List(tools) = &entries[1].node.value else {
            panic!("a list")
        };
        assert_eq!(
            tools[1].at,
            SourceSpan {
                line: 3,
                column: 15,
                length: 5
            }
        );
        assert_eq!(
            entries[2].node.json(),
            serde_json::json!({"github": {"args": []}})
        );
    }

    #[test]
    fn json_is_read_by_the_same_reader() {
        let node = read(
            "{\"name\": \"r\", \"turns\": 3, \"on\": true, \"none\": null, \"text\": \"true\"}",
            1,
        )
        .unwrap();
        let wanted =
            serde_json::json!({"name": "r", "turns": 3, "on": true, "none": null, "text": "true"});
        assert_eq!(node.json(), wanted);
    }

    #[test]
    fn what_is_broken_says_where() {
        for (text, line) in [
            ("a: [1, 2\nb: 3", 1),
            ("a: 1\na: 2", 2),
            ("a: *x", 1),
            ("\"a", 1),
        ] {
            assert!(
                read(text, 1).is_err_and(|broken| broken.at.line >= line),
                "{text}"
            );
        }
        assert!(read(&"[".repeat(10_000), 1).is_err());
        assert_eq!(read("", 1).unwrap().entries().unwrap().len(), 0);
    }
}
