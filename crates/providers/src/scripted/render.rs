//! Fills the templates of a script in. They are compiled once, when the script is read.

use std::borrow::Cow;

use minijinja::{Environment, UndefinedBehavior, Value};

use super::{
    entry::Shape,
    filters,
    place::{Flaw, Passage},
};

/// All templates of a script, known by their own text.
pub(crate) struct Templates {
    environment: Environment<'static>,
}

impl Default for Templates {
    fn default() -> Self {
        let mut environment = Environment::new();
        // A misspelt variable must not become silence in an answer.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        filters::add(&mut environment);
        Self { environment }
    }
}

impl Templates {
    /// Compiles a passage if it is a template.
    pub(crate) fn learn(&mut self, passage: &Passage) -> Result<(), Flaw> {
        let source = match Kind::of(&passage.text) {
            Kind::Plain => return Ok(()),
            Kind::Template => Cow::Borrowed(passage.text.as_str()),
            Kind::Expression(inner) => Cow::Owned(format!("{{% set it = {inner} %}}")),
        };
        self.environment
            .add_template_owned(passage.text.clone(), source.into_owned())
            .map_err(|error| complain(passage, &error))
    }

    /// Compiles all templates in a call's input.
    pub(crate) fn learn_shape(&mut self, shape: &Shape) -> Result<(), Flaw> {
        match shape {
            Shape::Fixed(_) => Ok(()),
            Shape::Text(passage) => self.learn(passage),
            Shape::List(items) => items.iter().try_for_each(|item| self.learn_shape(item)),
            Shape::Table(fields) => fields.iter().try_for_each(|(_, field)| self.learn_shape(field)),
        }
    }

    /// A passage as text.
    pub(crate) fn text(&self, passage: &Passage, scene: &Value) -> Result<String, Flaw> {
        match Kind::of(&passage.text) {
            Kind::Plain => Ok(passage.text.clone()),
            Kind::Expression(_) => Ok(self.value(passage, scene)?.to_string()),
            Kind::Template => {
                let rendered =
                    self.environment.get_template(&passage.text).and_then(|template| template.render(scene));
                rendered.map_err(|error| complain(passage, &error))
            }
        }
    }

    /// A call's input as JSON. A string that is one expression keeps the type of its value.
    pub(crate) fn json(&self, shape: &Shape, scene: &Value) -> Result<serde_json::Value, Flaw> {
        Ok(match shape {
            Shape::Fixed(value) => value.clone(),
            Shape::Text(passage) if matches!(Kind::of(&passage.text), Kind::Expression(_)) => {
                serde_json::to_value(self.value(passage, scene)?)
                    .map_err(|error| Flaw::new(passage.place, format!("not JSON: {error}")))?
            }
            Shape::Text(passage) => self.text(passage, scene)?.into(),
            Shape::List(items) => {
                items.iter().map(|item| self.json(item, scene)).collect::<Result<Vec<_>, _>>()?.into()
            }
            Shape::Table(fields) => {
                let fields = fields.iter().map(|(key, field)| Ok((key.clone(), self.json(field, scene)?)));
                serde_json::Value::Object(fields.collect::<Result<_, Flaw>>()?)
            }
        })
    }

    fn value(&self, passage: &Passage, scene: &Value) -> Result<Value, Flaw> {
        let captured =
            self.environment.get_template(&passage.text).and_then(|template| template.render_captured(scene));
        let captured = captured.map_err(|error| complain(passage, &error))?;
        let value = captured.state().lookup("it").filter(|value| !value.is_undefined());
        value.ok_or_else(|| {
            Flaw::new(passage.place, format!("`{}` has no value here", passage.text)).fix(VARIABLES)
        })
    }
}

const VARIABLES: &str = "templates know agent, turn, attempt, user, last, results, all, calls and tools; \
                         `default(…)` helps where a value may be missing";

/// What a passage of a script is.
enum Kind<'a> {
    Plain,
    /// One `{{ … }}` and nothing else; this is what stands between the braces.
    Expression(&'a str),
    Template,
}

impl<'a> Kind<'a> {
    fn of(text: &'a str) -> Self {
        if !text.contains("{{") && !text.contains("{%") {
            return Self::Plain;
        }
        let inner = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        match inner.filter(|inner| !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%")) {
            Some(inner) => Self::Expression(inner.trim_matches('-')),
            None => Self::Template,
        }
    }
}

fn complain(passage: &Passage, error: &minijinja::Error) -> Flaw {
    let place = passage.place_of_line(error.line().unwrap_or(1));
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let line = passage.text.lines().nth(error.line().unwrap_or(1).saturating_sub(1)).unwrap_or_default();
    Flaw::new(place, format!("template `{}`: {reason}", super::exhausted::shorten(line, 80))).fix(VARIABLES)
}
