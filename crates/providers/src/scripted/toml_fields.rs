//! Parses one TOML table field by field, so that every error names its line and column.

use std::time::Duration;

use rooftree_stdx::edit_distance;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::script_position::{ScriptError, ScriptPosition, ScriptText};

/// A table of a script together with the source text.
#[derive(Clone, Copy)]
pub(crate) struct TomlFields<'a> {
    source: &'a str,
    table: &'a DeTable<'a>,
    place: ScriptPosition,
}

impl<'a> TomlFields<'a> {
    /// Wraps a table; unknown keys are rejected, with a suggestion.
    pub(crate) fn of(
        source: &'a str,
        value: &'a Spanned<DeValue<'a>>,
        known: &[&str],
    ) -> Result<Self, ScriptError> {
        let place = ScriptPosition::of(source, value.span().start);
        let Some(table) = value.get_ref().as_table() else {
            return Err(ScriptError::new(
                place,
                format!("expected a table, found {}", article(value.get_ref())),
            ));
        };
        Self {
            source,
            table,
            place,
        }
        .refuse_unknown(known)
    }

    /// The same for a whole document.
    pub(crate) fn of_document(
        source: &'a str,
        table: &'a DeTable<'a>,
        known: &[&str],
    ) -> Result<Self, ScriptError> {
        Self {
            source,
            table,
            place: ScriptPosition { line: 1, column: 1 },
        }
        .refuse_unknown(known)
    }

    fn refuse_unknown(self, known: &[&str]) -> Result<Self, ScriptError> {
        let unknown = self
            .table
            .keys()
            .find(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown else { return Ok(self) };
        let place = ScriptPosition::of(self.source, key.span().start);
        let flaw = ScriptError::new(place, format!("unknown key `{}`", key.get_ref()));
        Err(match nearest(key.get_ref(), known) {
            Some(likely) => flaw.fix(format!("did you mean `{likely}`?")),
            None => flaw.fix(format!("known keys here: {}", known.join(", "))),
        })
    }

    /// The position where the table begins.
    pub(crate) fn place(&self) -> ScriptPosition {
        self.place
    }

    /// The position of a field's value; the table's own if it is absent.
    pub(crate) fn place_of(&self, key: &str) -> ScriptPosition {
        self.value(key).map_or(self.place, |value| {
            ScriptPosition::of(self.source, value.span().start)
        })
    }

    /// A field as it is.
    pub(crate) fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// The tables of an array of tables.
    pub(crate) fn tables(&self, key: &str) -> Result<&'a [Spanned<DeValue<'a>>], ScriptError> {
        let Some(value) = self.value(key) else {
            return Ok(&[]);
        };
        match value.get_ref() {
            DeValue::Array(items) => Ok(items),
            other => Err(self
                .wrong(key, "a list of tables", other)
                .fix(format!("write [[{key}]] with two brackets on each side"))),
        }
    }

    /// A string with its position.
    pub(crate) fn passage(&self, key: &str) -> Result<Option<ScriptText>, ScriptError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        passage(self.source, value)
            .map(Some)
            .ok_or_else(|| self.wrong(key, "a string", value.get_ref()))
    }

    /// A string.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, ScriptError> {
        Ok(self.passage(key)?.map(|passage| passage.text))
    }

    /// A whole number, zero or more.
    pub(crate) fn number<N: TryFrom<u64>>(&self, key: &str) -> Result<Option<N>, ScriptError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let number = whole(value.get_ref()).and_then(|number| u64::try_from(number).ok());
        let fits = number.and_then(|number| N::try_from(number).ok());
        fits.map(Some)
            .ok_or_else(|| self.wrong(key, "a whole number", value.get_ref()))
    }

    /// A whole number of one or more.
    pub(crate) fn count<N: TryFrom<u64> + PartialEq + Default>(
        &self,
        key: &str,
    ) -> Result<Option<N>, ScriptError> {
        match self.number(key)? {
            Some(zero) if zero == N::default() => Err(ScriptError::new(
                self.place_of(key),
                format!("`{key}` counts from 1"),
            )),
            other => Ok(other),
        }
    }

    /// An amount of money.
    pub(crate) fn amount(&self, key: &str) -> Result<Option<f64>, ScriptError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let amount = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        amount
            .map(Some)
            .ok_or_else(|| self.wrong(key, "a number", value.get_ref()))
    }

    /// A duration such as `"15ms"` or `"2s"`.
    pub(crate) fn duration(&self, key: &str) -> Result<Option<Duration>, ScriptError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let example = "write a number with its unit in quotes, for example \"15ms\" or \"2s\"";
        let Some(text) = value.get_ref().as_str() else {
            return Err(self.wrong(key, "a duration", value.get_ref()).fix(example));
        };
        humantime::parse_duration(text).map(Some).map_err(|error| {
            ScriptError::new(
                self.place_of(key),
                format!("`{key}` is not a duration: {error}"),
            )
            .fix(example)
        })
    }

    /// One of a set of words.
    pub(crate) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, ScriptError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        if let Some((_, chosen)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(Some(*chosen));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let flaw = ScriptError::new(self.place_of(key), format!("`{key}` cannot be `{text}`"));
        Err(match nearest(&text, &names) {
            Some(likely) => flaw.fix(format!("did you mean `{likely}`?")),
            None => flaw.fix(format!("write one of: {}", names.join(", "))),
        })
    }

    fn wrong(&self, key: &str, expected: &str, found: &DeValue<'_>) -> ScriptError {
        ScriptError::new(
            self.place_of(key),
            format!("`{key}` must be {expected}, found {}", article(found)),
        )
    }
}

/// A string value with its position.
pub(crate) fn passage(source: &str, value: &Spanned<DeValue<'_>>) -> Option<ScriptText> {
    let text = value.get_ref().as_str()?.to_owned();
    let raw = source.get(value.span()).unwrap_or_default();
    let quoted = raw
        .strip_prefix("\"\"\"")
        .or_else(|| raw.strip_prefix("'''"));
    let below = quoted.is_some_and(|body| body.starts_with('\n') || body.starts_with("\r\n"));
    Some(ScriptText {
        text,
        place: ScriptPosition::of(source, value.span().start),
        below,
    })
}

/// A TOML integer, whatever base it is written in.
pub(crate) fn whole(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn article(value: &DeValue<'_>) -> String {
    let name = value.type_str();
    if name.starts_with(['a', 'i']) {
        format!("an {name}")
    } else {
        format!("a {name}")
    }
}

/// Suggestion: the known word closest to a misspelt one, if any is close.
fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let close = edit_distance::nearest(word, known.iter().copied(), allowed);
    close.or_else(|| {
        known
            .iter()
            .copied()
            .find(|candidate| candidate.starts_with(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_likely_word_is_named_and_an_unlikely_one_is_not() {
        let known = ["text", "thinking", "retry_after", "agent"];
        for (word, likely) in [
            ("txet", None),
            ("texts", Some("text")),
            ("retryafter", Some("retry_after")),
            ("retry", Some("retry_after")),
            ("agnt", Some("agent")),
            ("colour", None),
        ] {
            assert_eq!(nearest(word, &known), likely, "{word}");
        }
    }
}
