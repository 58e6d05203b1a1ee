//! Compiles the templates of a script once, and renders them.

use minijinja::{Environment, UndefinedBehavior, Value};
use rooftree_stdx::shorten::shorten;

use super::{
    entry::InputTemplate,
    script_position::{ScriptError, ScriptText},
    template_context::TemplateContext,
    template_filters,
};

/// All templates of a script, keyed by their own text.
pub(crate) struct ScriptTemplates {
    environment: Environment<'static>,
}

impl Default for ScriptTemplates {
    fn default() -> Self {
        let mut environment = Environment::new();
        // A misspelt variable must be an error, not empty text in an answer.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        template_filters::add(&mut environment);
        Self { environment }
    }
}

impl ScriptTemplates {
    /// Compiles a passage if it is a template.
    pub(crate) fn learn(&mut self, passage: &ScriptText) -> Result<(), ScriptError> {
        let text = passage.text.as_str();
        let source = match Kind::of(text) {
            Kind::Plain => return Ok(()),
            // The template engine drops one line break at the end; ours keeps the text as written.
            Kind::Template if text.ends_with('\n') => format!("{text}\n"),
            Kind::Template => text.to_owned(),
            Kind::Expression(inner) => format!("{{% set it = {inner} %}}"),
        };
        let added = self
            .environment
            .add_template_owned(passage.text.clone(), source);
        added.map_err(|error| complain(passage, &error))?;
        self.refuse_unknown(passage)
    }

    /// Rejects unknown variables: better when the script is parsed than in the middle of a run.
    fn refuse_unknown(&self, passage: &ScriptText) -> Result<(), ScriptError> {
        let template = self
            .environment
            .get_template(&passage.text)
            .map_err(|error| complain(passage, &error))?;
        let is_known = |name: &str| {
            TemplateContext::VARIABLES.contains(&name)
                || self.environment.globals().any(|(global, _)| global == name)
        };
        match template
            .undeclared_variables(false)
            .into_iter()
            .filter(|name| !is_known(name))
            .min()
        {
            None => Ok(()),
            Some(name) => {
                let line = passage
                    .text
                    .lines()
                    .position(|line| line.contains(&name))
                    .unwrap_or(0);
                let what = format!("templates do not know `{name}`");
                Err(ScriptError::new(passage.place_of_line(line + 1), what).fix(variables()))
            }
        }
    }

    /// Compiles all templates in a call's input.
    pub(crate) fn learn_shape(&mut self, shape: &InputTemplate) -> Result<(), ScriptError> {
        match shape {
            InputTemplate::Fixed(_) => Ok(()),
            InputTemplate::Text(passage) => self.learn(passage),
            InputTemplate::List(items) => items.iter().try_for_each(|item| self.learn_shape(item)),
            InputTemplate::Table(fields) => fields
                .iter()
                .try_for_each(|(_, field)| self.learn_shape(field)),
        }
    }

    /// Renders a passage as text.
    pub(crate) fn text(&self, passage: &ScriptText, scene: &Value) -> Result<String, ScriptError> {
        match Kind::of(&passage.text) {
            Kind::Plain => Ok(passage.text.clone()),
            Kind::Expression(_) => Ok(self.value(passage, scene)?.to_string()),
            Kind::Template => {
                let rendered = self
                    .environment
                    .get_template(&passage.text)
                    .and_then(|template| template.render(scene));
                rendered.map_err(|error| complain(passage, &error))
            }
        }
    }

    /// Renders a call's input as JSON. A string that is one expression keeps the type of its value.
    pub(crate) fn json(
        &self,
        shape: &InputTemplate,
        scene: &Value,
    ) -> Result<serde_json::Value, ScriptError> {
        Ok(match shape {
            InputTemplate::Fixed(value) => value.clone(),
            InputTemplate::Text(passage)
                if matches!(Kind::of(&passage.text), Kind::Expression(_)) =>
            {
                serde_json::to_value(self.value(passage, scene)?).map_err(|error| {
                    ScriptError::new(passage.place, format!("not JSON: {error}"))
                })?
            }
            InputTemplate::Text(passage) => self.text(passage, scene)?.into(),
            InputTemplate::List(items) => items
                .iter()
                .map(|item| self.json(item, scene))
                .collect::<Result<Vec<_>, _>>()?
                .into(),
            InputTemplate::Table(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| Ok((key.clone(), self.json(field, scene)?)));
                serde_json::Value::Object(fields.collect::<Result<_, ScriptError>>()?)
            }
        })
    }

    fn value(&self, passage: &ScriptText, scene: &Value) -> Result<Value, ScriptError> {
        let captured = self
            .environment
            .get_template(&passage.text)
            .and_then(|template| template.render_captured(scene));
        let captured = captured.map_err(|error| complain(passage, &error))?;
        let value = captured
            .state()
            .lookup("it")
            .filter(|value| !value.is_undefined());
        value.ok_or_else(|| {
            ScriptError::new(
                passage.place,
                format!("`{}` has no value here", passage.text),
            )
            .fix(variables())
        })
    }
}

fn variables() -> String {
    format!(
        "templates know {}; `default(…)` helps where a value may be missing",
        TemplateContext::VARIABLES.join(", ")
    )
}

/// The kind of a passage.
enum Kind<'a> {
    Plain,
    /// One `{{ … }}` and nothing else; this is the text between the braces.
    Expression(&'a str),
    Template,
}

impl<'a> Kind<'a> {
    fn of(text: &'a str) -> Self {
        if !text.contains("{{") && !text.contains("{%") {
            return Self::Plain;
        }
        let inner = text
            .strip_prefix("{{")
            .and_then(|rest| rest.strip_suffix("}}"));
        match inner
            .filter(|inner| !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%"))
        {
            Some(inner) => Self::Expression(inner.trim_matches('-')),
            None => Self::Template,
        }
    }
}

fn complain(passage: &ScriptText, error: &minijinja::Error) -> ScriptError {
    let place = passage.place_of_line(error.line().unwrap_or(1));
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let line = passage
        .text
        .lines()
        .nth(error.line().unwrap_or(1).saturating_sub(1))
        .unwrap_or_default();
    ScriptError::new(place, format!("template `{}`: {reason}", shorten(line, 80))).fix(variables())
}
