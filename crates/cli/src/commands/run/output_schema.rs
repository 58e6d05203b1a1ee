//! Structured output of a run (`--output-schema`): the answer must be JSON that fits a schema; it is mended once.

use std::fs;

use rooftree_protocol::{ErrorCode, Problem};
use serde_json::Value;

use super::{Arguments, InputFormat, result_json::RunResult, usage};
use crate::{environment::Environment, exit::Exit, json_schema};

/// A schema that the answer must fit.
#[derive(Debug)]
pub struct OutputSchema {
    schema: Value,
    /// Whether the model was already told once what does not fit.
    is_mended: bool,
}

impl OutputSchema {
    /// Reads what `--output-schema` names, before anything is stored.
    pub fn read(arguments: &Arguments, environment: &Environment) -> Result<Option<Self>, Problem> {
        let Some(file) = &arguments.output_schema else {
            return Ok(None);
        };
        if arguments.input_format == InputFormat::StreamJson {
            return Err(
                usage("--output-schema is for one answer, not for a stream of messages")
                    .fix("leave out --input-format stream-json, or run once per message"),
            );
        }
        let path = environment.cwd.join(file);
        let wrong = |cause: String| {
            usage(format!("{} is not a JSON schema", path.display()))
                .cause(cause)
                .fix("write for example {\"type\": \"object\", \"properties\": {…}, \"required\": […]}")
        };
        let text = fs::read_to_string(&path).map_err(|error| {
            usage(format!("cannot read {}", path.display()))
                .cause(error.to_string())
                .fix("name a file with a JSON schema")
        })?;
        let schema: Value =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if !schema.is_object() {
            return Err(wrong("it is not an object".into()));
        }
        Ok(Some(Self {
            schema,
            is_mended: false,
        }))
    }

    /// What the model is told below the message.
    pub fn instruction(&self) -> String {
        format!(
            "Answer with nothing but JSON that fits this JSON Schema:\n{}",
            self.schema
        )
    }

    /// What people should know: keywords that only the model reads.
    pub fn remark(&self) -> Option<String> {
        let unchecked = json_schema::unchecked(&self.schema);
        (!unchecked.is_empty()).then(|| {
            format!(
                "of the schema, the model is told {} and it is not checked",
                unchecked.join(", ")
            )
        })
    }

    /// Puts the value into the result of a completed run. Where it does not fit: what to say to the model, once; then
    /// the result counts as not verified.
    pub fn apply(&mut self, result: &mut RunResult) -> Option<String> {
        if result.exit != Exit::DONE {
            return None;
        }
        let wrong = match self.read_answer(&result.end.text) {
            Ok(value) => {
                result.end.text = value.to_string();
                result.structured = Some(value);
                return None;
            }
            Err(wrong) => wrong,
        };
        if !std::mem::replace(&mut self.is_mended, true) {
            return Some(format!(
                "That does not fit: {wrong}. {}",
                self.instruction()
            ));
        }
        let problem = Problem::new(
            ErrorCode::NotVerified,
            "the answer does not fit the schema of --output-schema",
        );
        result.end.error = Some(problem.cause(wrong));
        result.end.verified = Some(false);
        result.exit = Exit::NOT_VERIFIED;
        None
    }

    fn read_answer(&self, text: &str) -> Result<Value, String> {
        let value = parsed(text)?;
        match json_schema::mismatch(&self.schema, &value) {
            Some(wrong) => Err(wrong),
            None => Ok(value),
        }
    }
}

/// The JSON of an answer, also inside a fence or a sentence.
fn parsed(text: &str) -> Result<Value, String> {
    let text = text.trim();
    serde_json::from_str(text).or_else(|error| {
        let begins = text.find(['{', '[']);
        let ends = text.rfind(['}', ']']);
        let inner = begins
            .zip(ends)
            .and_then(|(begins, ends)| text.get(begins..=ends));
        inner
            .and_then(|inner| serde_json::from_str(inner).ok())
            .ok_or_else(|| format!("it is not JSON: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_a_fence_or_a_sentence() {
        for text in ["[1, 2]", "```json\n[1, 2]\n```", "Here you are: [1, 2]."] {
            assert_eq!(parsed(text), Ok(json!([1, 2])), "{text}");
        }
        assert!(parsed("none").unwrap_err().starts_with("it is not JSON"));
        assert!(parsed("} {").is_err());
    }
}
