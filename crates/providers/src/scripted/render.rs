//! Fills the templates of a script in. They are compiled once, when the script is read.

use minijinja::{Environment, UndefinedBehavior, Value};

use super::{
    entry::Shape,
    filters,
    place::{Flaw, Passage},
    scene::Scene,
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
        let text = passage.text.as_str();
        let source = match Kind::of(text) {
            Kind::Plain => return Ok(()),
            // The template language drops one line break at the end; ours says what is written.
            Kind::Template if text.ends_with('\n') => format!("{text}\n"),
            Kind::Template => text.to_owned(),
            Kind::Expression(inner) => format!("{{% set it = {inner} %}}"),
        };
        let added = self.environment.add_template_owned(passage.text.clone(), source);
        added.map_err(|error| complain(passage, &error))?;
        self.refuse_unknown(passage)
    }

    /// A misspelt variable is better found when the script is read than in the middle of a run.
    fn refuse_unknown(&self, passage: &Passage) -> Result<(), Flaw> {
        let template =
            self.environment.get_template(&passage.text).map_err(|error| complain(passage, &error))?;
        let is_known = |name: &str| {
            Scene::VARIABLES.contains(&name) || self.environment.globals().any(|(global, _)| global == name)
        };
        match template.undeclared_variables(false).into_iter().filter(|name| !is_known(name)).min() {
            None => Ok(()),
            Some(name) => {
                let line = passage.text.lines().position(|line| line.contains(&name)).unwrap_or(0);
                let what = format!("templates do not know `{name}`");
                Err(Flaw::new(passage.place_of_line(line + 1), what).fix(variables()))
            }
        }
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
            Flaw::new(passage.place, format!("`{}` has no value here", passage.text)).fix(variables())
        })
    }
}

fn variables() -> String {
    format!("templates know {}; `default(…)` helps where a value may be missing", Scene::VARIABLES.join(", "))
}

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
    Flaw::new(place, format!("template `{}`: {reason}", super::conversation::shorten(line, 80)))
        .fix(variables())
}
