//! Structured output: tells the model a JSON Schema, validates its answer, retries once.

use rooftree_protocol::{ErrorCode, Problem};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    error::{Error, Result},
    query::Query,
    schema::schema_of,
};

impl Query {
    /// The answer as a value. The model is told the value's JSON Schema; if what it answers does not
    /// fit, it is told why and asked once more.
    ///
    /// ```no_run
    /// use rooftree::{JsonSchema, query};
    ///
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct Plan {
    ///     /// What to do, in order.
    ///     steps: Vec<String>,
    /// }
    ///
    /// # async fn ask() -> rooftree::Result<()> {
    /// let plan: Plan = query("Plan the release").extract().await?;
    /// # let _ = plan.steps;
    /// # Ok(()) }
    /// ```
    pub async fn extract<T: DeserializeOwned + JsonSchema + Send>(mut self) -> Result<T> {
        let schema = schema_of::<T>();
        self.prompt = format!("{}\n\n{}", self.prompt, schema_instruction(&schema));
        let mut asked = self.begin().await?;
        let extracted = async {
            let first = asked.answer(None).await?.text;
            let wrong = match read(&first) {
                Ok(value) => return Ok(value),
                Err(wrong) => wrong,
            };
            let second = asked
                .answer(Some(&format!(
                    "That does not fit: {wrong}. {}",
                    schema_instruction(&schema)
                )))
                .await?
                .text;
            read(&second).map_err(|wrong| schema_mismatch(&wrong, &second))
        };
        let extracted = extracted.await;
        asked.runtime.stop().await;
        extracted
    }
}

fn schema_instruction(schema: &Value) -> String {
    format!("Answer with nothing but JSON that fits this JSON Schema:\n{schema}")
}

/// Models like to wrap what they were asked for: in a fence, in a sentence.
fn read<T: DeserializeOwned>(text: &str) -> std::result::Result<T, serde_json::Error> {
    let text = text.trim();
    serde_json::from_str(text).or_else(|error| {
        let begins = text.find(['{', '[']);
        let ends = text.rfind(['}', ']']);
        match begins
            .zip(ends)
            .and_then(|(begins, ends)| text.get(begins..=ends))
        {
            Some(inner) if inner.len() < text.len() => serde_json::from_str(inner),
            _ => Err(error),
        }
    })
}

fn schema_mismatch(wrong: &serde_json::Error, text: &str) -> Error {
    let problem = Problem::new(
        ErrorCode::InvalidArguments,
        "the model's answer does not fit the schema",
    );
    Error::from(problem.cause(wrong.to_string())).with_partial(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_a_fence_or_a_sentence() {
        let table = [
            "[1, 2]",
            " [1,2]\n",
            "```json\n[1, 2]\n```",
            "Here you are: [1, 2].",
        ];
        for text in table {
            assert_eq!(read::<Vec<u8>>(text).unwrap(), [1, 2], "{text}");
        }
        assert!(read::<Vec<u8>>("none").is_err());
        assert!(read::<Vec<u8>>("} {").is_err());
    }
}
