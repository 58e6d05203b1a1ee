//! Splits a file into chunks, the units of search: functions, types, sections, paragraphs.
//!
//! Boundaries come from indentation, which people keep even where a grammar does not require it.

use std::ops::Range;

use super::definition::{ChunkKind, CodeDefinition, definition, is_comment};

/// Pieces longer than this are cut into windows.
const LONG: usize = 80;
/// Lines of a window, and how many of them the next one begins earlier.
const WINDOW: usize = 60;
const OVERLAP: usize = 10;
/// A type with its methods stays one piece up to this many lines.
const SMALL: usize = 14;
/// Paragraphs are put together up to this many lines.
const PARAGRAPHS: usize = 25;
/// Definitions within definitions are followed this far.
const DEEPEST: usize = 6;

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceChunk<'a> {
    /// Its lines, counted from 0.
    pub lines: Range<usize>,
    pub kind: ChunkKind,
    /// What it defines, or its heading; may be empty.
    pub name: &'a str,
    /// The names around it, the outermost first.
    pub within: Vec<&'a str>,
}

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceFormat {
    Code,
    Markdown,
    /// Text without definitions: prose, data, settings.
    Plain,
}

impl SourceFormat {
    /// By the end of a file's name.
    pub fn of(path: &str) -> Self {
        let end = path
            .rsplit_once('.')
            .map_or("", |(_, end)| end)
            .to_ascii_lowercase();
        match end.as_str() {
            "md" | "markdown" | "mdx" | "mdc" => Self::Markdown,
            "txt" | "rst" | "adoc" | "json" | "jsonl" | "ipynb" | "yaml" | "yml" | "toml"
            | "ini" | "cfg" | "csv" | "tsv" | "xml" | "html" | "htm" | "css" | "lock" | "log"
            | "po" | "tex" => Self::Plain,
            _ => Self::Code,
        }
    }
}

/// Cuts a file.
pub(super) fn chunks<'a>(lines: &[&'a str], manner: SourceFormat) -> Vec<SourceChunk<'a>> {
    let mut cutter = FileChunker {
        lines: lines
            .iter()
            .map(|text| SourceLine::of(text, manner))
            .collect(),
        found: Vec::new(),
    };
    let all = 0..lines.len();
    match manner {
        SourceFormat::Markdown => cutter.sections(all),
        SourceFormat::Code => cutter.definitions(all, &[]),
        SourceFormat::Plain => cutter.loose(all, &[]),
    }
    cutter.found
}

struct SourceLine<'a> {
    text: &'a str,
    indent: usize,
    definition: Option<CodeDefinition<'a>>,
}

impl<'a> SourceLine<'a> {
    fn of(raw: &'a str, manner: SourceFormat) -> Self {
        let text = raw.trim();
        let blanks = raw.len() - raw.trim_start().len();
        let tabs = raw
            .bytes()
            .take(blanks)
            .filter(|byte| *byte == b'\t')
            .count();
        let definition = if manner == SourceFormat::Code {
            definition(text)
        } else {
            None
        };
        Self {
            text,
            indent: blanks + tabs * 3,
            definition,
        }
    }

    /// Whether a piece begins here.
    fn opens(&self) -> Option<CodeDefinition<'a>> {
        self.definition
            .filter(|definition| definition.kind != ChunkKind::Text)
    }

    /// Whether it belongs to the definition above although it is not indented.
    fn goes_on(&self) -> bool {
        let words = ["where", "end", "rescue", "ensure"];
        self.text.starts_with(['{', '}', ')', ']']) || words.contains(&self.text)
    }
}

struct FileChunker<'a> {
    lines: Vec<SourceLine<'a>>,
    found: Vec<SourceChunk<'a>>,
}

impl<'a> FileChunker<'a> {
    fn line(&self, at: usize) -> Option<&SourceLine<'a>> {
        self.lines.get(at)
    }

    fn is_blank(&self, at: usize) -> bool {
        self.line(at).is_none_or(|line| line.text.is_empty())
    }

    /// Pieces by definition, and what lies between them.
    fn definitions(&mut self, range: Range<usize>, within: &[&'a str]) {
        let (mut at, mut rest) = (range.start, range.start);
        while at < range.end {
            let Some(definition) = self.line(at).and_then(SourceLine::opens) else {
                at += 1;
                continue;
            };
            let (start, end) = (self.lead(at, rest), self.end(at, range.end));
            self.loose(rest..start, within);
            self.block(definition, start..end, at, within);
            (at, rest) = (end, end);
        }
        self.loose(rest..range.end, within);
    }

    /// One definition; what is defined inside becomes pieces of its own if there is enough of it.
    fn block(
        &mut self,
        definition: CodeDefinition<'a>,
        range: Range<usize>,
        at: usize,
        within: &[&'a str],
    ) {
        let CodeDefinition { kind, name } = definition;
        let inner =
            (at + 1..range.end).find(|at| self.line(*at).and_then(SourceLine::opens).is_some());
        let is_split = range.len() > if kind == ChunkKind::Type { SMALL } else { LONG };
        match inner {
            Some(inner) if is_split && within.len() < DEEPEST => {
                let first = self.lead(inner, at + 1);
                self.windows(range.start..first, kind, name, within);
                self.definitions(first..range.end, &[within, &[name]].concat());
            }
            _ => self.windows(range, kind, name, within),
        }
    }

    /// Where the comments and attributes above a definition begin.
    fn lead(&self, at: usize, least: usize) -> usize {
        let is_lead = |at: &usize| self.line(*at).is_some_and(|line| is_comment(line.text));
        (least..at).rev().take_while(is_lead).last().unwrap_or(at)
    }

    /// Behind the last line of the definition that begins at a line.
    fn end(&self, at: usize, most: usize) -> usize {
        let indent = self.line(at).map_or(0, |line| line.indent);
        let mut end = at + 1;
        for next in at + 1..most {
            let Some(line) = self.line(next).filter(|line| !line.text.is_empty()) else {
                continue;
            };
            if line.indent < indent || (line.indent == indent && !line.goes_on()) {
                break;
            }
            end = next + 1;
            let is_over =
                line.indent == indent && (line.text.starts_with('}') || line.text == "end");
            if is_over {
                break;
            }
        }
        end
    }

    /// Lines that define nothing: paragraphs, several short ones together.
    fn loose(&mut self, range: Range<usize>, within: &[&'a str]) {
        let mut start = range.start;
        let mut end = start;
        for at in range.clone() {
            if self.is_blank(at) {
                continue;
            }
            let is_new = at > range.start && self.is_blank(at - 1);
            if is_new && end > start && self.paragraph_end(at, range.end) - start > PARAGRAPHS {
                self.text(start..end, within);
                start = at;
            }
            end = at + 1;
        }
        self.text(start..end, within);
    }

    fn paragraph_end(&self, at: usize, most: usize) -> usize {
        (at..most).find(|at| self.is_blank(*at)).unwrap_or(most)
    }

    fn text(&mut self, range: Range<usize>, within: &[&'a str]) {
        let name = range
            .clone()
            .find_map(|at| self.line(at)?.definition)
            .map_or("", |found| found.name);
        self.windows(range, ChunkKind::Text, name, within);
    }

    /// Sections of a document, with the headings above them.
    fn sections(&mut self, range: Range<usize>) {
        let mut above: Vec<(usize, &'a str)> = Vec::new();
        let (mut start, mut name, mut is_fenced) = (range.start, "", false);
        for at in range.clone() {
            let text = self.line(at).map_or("", |line| line.text);
            is_fenced ^= text.starts_with("```") || text.starts_with("~~~");
            let Some(level) = heading_level(text).filter(|_| !is_fenced) else {
                continue;
            };
            let within: Vec<&str> = above
                .iter()
                .map(|(_, name)| *name)
                .filter(|above| *above != name)
                .collect();
            self.windows(start..at, ChunkKind::Heading, name, &within);
            above.retain(|(other, _)| *other < level);
            (start, name) = (at, text.trim_matches(['#', ' ']));
            above.push((level, name));
        }
        let within: Vec<&str> = above
            .iter()
            .map(|(_, name)| *name)
            .filter(|above| *above != name)
            .collect();
        self.windows(start..range.end, ChunkKind::Heading, name, &within);
    }

    /// A piece, in windows if it is long; nothing if there is nothing in it.
    fn windows(&mut self, range: Range<usize>, kind: ChunkKind, name: &'a str, within: &[&'a str]) {
        let has_words = |at: usize| {
            self.line(at)
                .is_some_and(|line| line.text.contains(char::is_alphanumeric))
        };
        let Some(start) = range.clone().find(|at| !self.is_blank(*at)) else {
            return;
        };
        let end = range
            .clone()
            .rev()
            .find(|at| !self.is_blank(*at))
            .map_or(start, |last| last + 1);
        if !range.clone().any(has_words) {
            return;
        }
        let kind = if kind == ChunkKind::Heading && name.is_empty() {
            ChunkKind::Text
        } else {
            kind
        };
        let mut from = start;
        loop {
            let to = if end - from <= LONG {
                end
            } else {
                from + WINDOW
            };
            self.found.push(SourceChunk {
                lines: from..to,
                kind,
                name,
                within: within.to_vec(),
            });
            if to == end {
                return;
            }
            from = to - OVERLAP;
        }
    }
}

fn heading_level(text: &str) -> Option<usize> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && text.get(level..)?.starts_with(' ')).then_some(level)
}

#[cfg(test)]
mod tests;
