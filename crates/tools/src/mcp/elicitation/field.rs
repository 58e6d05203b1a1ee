//! One field of an elicitation form: as a question, and its answer parsed and validated as a value.

use rooftree_protocol::{Choice, Question};
use serde_json::{Number, Value};

use crate::mcp::sanitize::sanitize_text;

/// Maximum number of choices.
const MOST_CHOICES: usize = 64;
/// Maximum characters of a label or a name.
const SHORT: usize = 100;
/// Maximum characters of a description.
const DETAIL: usize = 500;
/// Choice for an empty answer.
const NOTHING: &str = "(no answer)";

/// A field of the form.
pub(super) struct ElicitationField {
    /// Its name at the server.
    pub(super) name: String,
    /// Its name in the question.
    pub(super) asked_as: String,
    /// Its description.
    pub(super) detail: String,
    is_required: bool,
    kind: ElicitationKind,
}

/// Type of an answer.
enum ElicitationKind {
    Flag,
    One(Vec<ElicitationOption>),
    Several(Vec<ElicitationOption>, ElicitationRange),
    Whole(ElicitationRange),
    Decimal(ElicitationRange),
    Words(ElicitationRange, Option<String>),
}

/// A value, and what people call it.
struct ElicitationOption {
    label: String,
    value: String,
}

/// The least and the most: of a number, of characters, of choices.
#[derive(Clone, Copy)]
struct ElicitationRange {
    least: Option<f64>,
    most: Option<f64>,
}

impl ElicitationField {
    /// None if it is nothing that can be asked.
    pub(super) fn of(name: &str, property: &Value, is_required: bool) -> Option<Self> {
        let text = |key: &str| {
            property
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let said = [
            sanitize_text(text("title"), SHORT),
            sanitize_text(text("description"), DETAIL),
        ];
        let detail = said
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        Some(Self {
            name: name.to_owned(),
            asked_as: sanitize_text(name, SHORT),
            detail,
            is_required,
            kind: ElicitationKind::of(property)?,
        })
    }

    pub(super) fn question(&self, text: String) -> Question {
        let choice = |label: &str| Choice {
            label: label.to_owned(),
            description: String::new(),
        };
        let mut choices: Vec<Choice> = match &self.kind {
            ElicitationKind::Flag => ["yes", "no"].map(choice).to_vec(),
            ElicitationKind::One(named) | ElicitationKind::Several(named, _) => {
                named.iter().map(|one| choice(&one.label)).collect()
            }
            ElicitationKind::Whole(_)
            | ElicitationKind::Decimal(_)
            | ElicitationKind::Words(..) => Vec::new(),
        };
        if !self.is_required && !choices.is_empty() {
            choices.push(choice(NOTHING));
        }
        let free = choices.is_empty();
        let text = if self.is_required || !free {
            text
        } else {
            format!("{text} (may be left empty)")
        };
        let several = matches!(self.kind, ElicitationKind::Several(..));
        Question {
            name: self.asked_as.clone(),
            text,
            choices,
            several,
            free,
        }
    }

    /// Parses an answer into the value that the server expects; none if empty. An error says what is invalid.
    pub(super) fn read(&self, given: &[String]) -> Result<Option<Value>, String> {
        let given: Vec<&str> = given
            .iter()
            .map(|word| word.trim())
            .filter(|word| !word.is_empty() && *word != NOTHING)
            .collect();
        let Some(first) = given.first().copied() else {
            return if self.is_required {
                Err(format!("`{}` is needed", self.asked_as))
            } else {
                Ok(None)
            };
        };
        self.kind
            .read(first, &given)
            .map(Some)
            .map_err(|why| format!("`{}` {why}", self.asked_as))
    }
}

/// A question that only wants a yes.
pub(super) fn consent(name: &str, text: String) -> Question {
    let choices = ["yes", "no"].map(|label| Choice {
        label: label.to_owned(),
        description: String::new(),
    });
    Question {
        name: name.to_owned(),
        text,
        choices: choices.to_vec(),
        several: false,
        free: false,
    }
}

impl ElicitationKind {
    fn of(property: &Value) -> Option<Self> {
        let named = |choices: Option<Vec<ElicitationOption>>| {
            choices.filter(|all| (1..=MOST_CHOICES).contains(&all.len()))
        };
        Some(match property.get("type").and_then(Value::as_str)? {
            "boolean" => Self::Flag,
            "integer" => Self::Whole(ElicitationRange::of(property, "minimum", "maximum")),
            "number" => Self::Decimal(ElicitationRange::of(property, "minimum", "maximum")),
            "array" => {
                let choices = named(choices(property.get("items")?))?;
                Self::Several(
                    choices,
                    ElicitationRange::of(property, "minItems", "maxItems"),
                )
            }
            "string" if property.get("enum").or(property.get("oneOf")).is_some() => {
                Self::One(named(choices(property))?)
            }
            "string" => {
                let format = property
                    .get("format")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                Self::Words(
                    ElicitationRange::of(property, "minLength", "maxLength"),
                    format,
                )
            }
            _ => return None,
        })
    }

    fn read(&self, first: &str, given: &[&str]) -> Result<Value, String> {
        match self {
            Self::Flag => match first.to_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(true.into()),
                "no" | "n" | "false" => Ok(false.into()),
                _ => Err("must be yes or no".to_owned()),
            },
            Self::One(named) => chosen(named, first).map(Value::String),
            Self::Several(named, bounds) => {
                bounds.check(given.len() as f64, "choices")?;
                given
                    .iter()
                    .map(|word| chosen(named, word).map(Value::String))
                    .collect()
            }
            Self::Whole(bounds) => {
                let number: i64 = first
                    .parse()
                    .map_err(|_| "must be a whole number".to_owned())?;
                bounds.check(number as f64, "")?;
                Ok(number.into())
            }
            Self::Decimal(bounds) => {
                let number = first
                    .parse()
                    .ok()
                    .and_then(Number::from_f64)
                    .ok_or("must be a number")?;
                bounds.check(number.as_f64().unwrap_or_default(), "")?;
                Ok(Value::Number(number))
            }
            Self::Words(bounds, format) => {
                bounds.check(first.chars().count() as f64, "characters")?;
                match format.as_deref() {
                    Some(format) if !has_format(first, format) => {
                        Err(format!("must be of the form `{format}`"))
                    }
                    _ => Ok(first.into()),
                }
            }
        }
    }
}

impl ElicitationRange {
    fn of(property: &Value, least: &str, most: &str) -> Self {
        let number = |key: &str| property.get(key).and_then(Value::as_f64);
        Self {
            least: number(least),
            most: number(most),
        }
    }

    fn check(self, number: f64, of_what: &str) -> Result<(), String> {
        let words = |bound: &str, limit: f64| {
            format!("must be at {bound} {limit} {of_what}")
                .trim_end()
                .to_owned()
        };
        match (self.least, self.most) {
            (Some(least), _) if number < least => Err(words("least", least)),
            (_, Some(most)) if number > most => Err(words("most", most)),
            _ => Ok(()),
        }
    }
}

/// The values of a list, with titles where it has them.
fn choices(of: &Value) -> Option<Vec<ElicitationOption>> {
    let titled = of
        .get("oneOf")
        .or(of.get("anyOf"))
        .and_then(Value::as_array);
    let pairs: Vec<(String, String)> = match titled {
        Some(options) => options
            .iter()
            .map(|option| {
                let value = option.get("const")?.as_str()?;
                let title = option.get("title").and_then(Value::as_str).unwrap_or(value);
                Some((title.to_owned(), value.to_owned()))
            })
            .collect::<Option<_>>()?,
        None => {
            let values = of.get("enum")?.as_array()?;
            let titles = of.get("enumNames").and_then(Value::as_array);
            let title = |at: usize| {
                titles
                    .and_then(|titles| titles.get(at))
                    .and_then(Value::as_str)
            };
            let pair = |(at, value): (usize, &Value)| {
                let value = value.as_str()?;
                Some((title(at).unwrap_or(value).to_owned(), value.to_owned()))
            };
            values.iter().enumerate().map(pair).collect::<Option<_>>()?
        }
    };
    let mut named: Vec<ElicitationOption> = Vec::new();
    for (label, value) in pairs {
        let label = sanitize_text(&label, SHORT);
        let is_taken = label.is_empty() || named.iter().any(|other| other.label == label);
        let label = if is_taken {
            format!("{label} ({})", named.len() + 1)
        } else {
            label
        };
        named.push(ElicitationOption { label, value });
    }
    Some(named)
}

fn chosen(named: &[ElicitationOption], word: &str) -> Result<String, String> {
    let is_meant = |one: &&ElicitationOption| one.label == word || one.value == word;
    let found = named.iter().find(is_meant).map(|one| one.value.clone());
    found.ok_or_else(|| {
        let labels: Vec<&str> = named.iter().map(|one| one.label.as_str()).collect();
        format!("must be one of: {}", labels.join(", "))
    })
}

/// Whether words have one of the forms that servers can ask for. Others are not checked.
fn has_format(words: &str, format: &str) -> bool {
    let is_date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        let digits = |part: &str, count: usize| {
            part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    };
    match format {
        "email" => {
            let halves = words.split_once('@');
            halves.is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !host.contains('@')
            })
        }
        "uri" => reqwest::Url::parse(words).is_ok(),
        "date" => is_date(words),
        "date-time" => words
            .split_once('T')
            .is_some_and(|(date, time)| is_date(date) && time.contains(':')),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
