//! Syntax tree of a definition file, with the location of every value, for every syntax.
//!
//! YAML, JSON and TOML are parsed into the same tree, so that one reader understands all of them and every diagnostic
//! can point at its line and column.

pub(super) mod toml;
pub(super) mod yaml;

use serde::Serialize;

/// Maximum nesting depth.
pub(super) const DEEPEST: usize = 32;

/// Location in a file: line and column, counted from one, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SourceSpan {
    /// The line.
    pub line: usize,
    /// The first character.
    pub column: usize,
    /// How many characters it has on that line.
    pub length: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct SyntaxNode {
    pub(super) value: SyntaxValue,
    pub(super) at: SourceSpan,
}

/// A parsed value. Numbers, booleans and null are plain text until they are converted.
#[derive(Clone, Debug)]
pub(super) enum SyntaxValue {
    Text { text: String, is_plain: bool },
    List(Vec<SyntaxNode>),
    Map(Vec<SyntaxEntry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct SyntaxEntry {
    pub(super) key: String,
    pub(super) at: SourceSpan,
    pub(super) node: SyntaxNode,
}

/// Why a file could not be understood, and where.
#[derive(Clone, Debug)]
pub(super) struct SyntaxError {
    pub(super) what: String,
    pub(super) at: SourceSpan,
}

impl SyntaxNode {
    /// The text, of whatever was written without lists and maps.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            SyntaxValue::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether nothing was written, or `null`.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.value, SyntaxValue::Text { text, is_plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// True or false, if it says so.
    pub(super) fn flag(&self) -> Option<bool> {
        match &self.value {
            SyntaxValue::Text {
                text,
                is_plain: true,
            } => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// The entries of a map.
    pub(super) fn entries(&self) -> Option<&[SyntaxEntry]> {
        match &self.value {
            SyntaxValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The same as JSON, for deserializing.
    pub(super) fn json(&self) -> serde_json::Value {
        match &self.value {
            SyntaxValue::Text { .. } if self.is_nothing() => serde_json::Value::Null,
            SyntaxValue::Text {
                text,
                is_plain: true,
            } => self.flag().map_or_else(
                || serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
                serde_json::Value::Bool,
            ),
            SyntaxValue::Text { text, .. } => text.as_str().into(),
            SyntaxValue::List(items) => items.iter().map(Self::json).collect(),
            SyntaxValue::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.node.json()))
                .collect(),
        }
    }
}
