//! The tool type that `#[tool]` expands to: it parses its arguments into a type and calls a function.

use std::{fmt::Display, marker::PhantomData};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::schema::schema_of;

/// Characters of a call's title.
const TITLE: usize = 80;

/// A function as a tool. Written by `#[tool]`, not by hand.
pub struct FunctionTool<A, F> {
    spec: ToolSpec,
    info: ToolInfo,
    function: F,
    arguments: PhantomData<fn() -> A>,
}

impl<A, F, Running> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Running + Send + Sync,
    Running: Future<Output = ToolOutput> + Send + 'static,
{
    /// A tool of this name that calls the function.
    pub fn new(name: &str, description: &str, effect: Effect, function: F) -> Self {
        let input_schema = schema_of::<A>();
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
        };
        let kind = if effect == Effect::ReadOnly {
            ToolKind::Read
        } else {
            ToolKind::Other
        };
        Self {
            spec,
            info: ToolInfo::at_run_time(kind, effect),
            function,
            arguments: PhantomData,
        }
    }

    fn read(&self, input: Value) -> Result<A, String> {
        serde_json::from_value(input).map_err(|error| {
            let known = self
                .spec
                .input_schema
                .get("properties")
                .and_then(Value::as_object);
            let known: Vec<&str> = known
                .into_iter()
                .flat_map(|fields| fields.keys().map(String::as_str))
                .collect();
            format!(
                "{}: {error}. Its arguments are: {}.",
                self.spec.name,
                known.join(", ")
            )
        })
    }
}

impl<A, F, Running> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Running + Send + Sync,
    Running: Future<Output = ToolOutput> + Send + 'static,
{
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _: &str, input: Value) -> Result<Value, String> {
        let input = if input.is_null() {
            Value::Object(serde_json::Map::new())
        } else {
            input
        };
        self.read(input.clone()).map(|_| input)
    }

    fn title(&self, input: &Value) -> String {
        let first = input.as_object().and_then(|fields| fields.values().next());
        let text = match first {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => return self.spec.name.clone(),
        };
        text.lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(TITLE)
            .collect()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let cancel = context.cancel.clone();
        let running = match self.read(input) {
            Ok(arguments) => (self.function)(arguments, context),
            Err(words) => {
                return async { ToolOutput::failed(ErrorCode::InvalidArguments, words) }.boxed();
            }
        };
        async move {
            let stopped = || ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]");
            cancel
                .run_until_cancelled(running)
                .await
                .unwrap_or_else(stopped)
        }
        .boxed()
    }
}

/// What a tool returned, on its way to the model.
pub struct ToolReturnValue<'a, T>(pub &'a T);

/// What can be displayed is told in those words. This goes before [`AsJson`].
pub trait AsText {
    /// What the model reads.
    fn output(&self) -> ToolOutput;
}

impl<T: Display> AsText for ToolReturnValue<'_, T> {
    fn output(&self) -> ToolOutput {
        ToolOutput::done(self.0.to_string())
    }
}

/// What can only be serialised is told as JSON.
pub trait AsJson {
    /// What the model reads.
    fn output(&self) -> ToolOutput;
}

impl<T: Serialize> AsJson for &ToolReturnValue<'_, T> {
    fn output(&self) -> ToolOutput {
        match serde_json::to_value(self.0) {
            Ok(Value::Null) => ToolOutput::done("Done."),
            Ok(value) => ToolOutput::done(value.to_string()),
            Err(error) => ToolOutput::failed(
                ErrorCode::ToolFailed,
                format!("the result is no JSON: {error}"),
            ),
        }
    }
}

/// What went wrong, as the model reads it.
pub fn failed(error: &impl Display) -> ToolOutput {
    ToolOutput::failed(ErrorCode::ToolFailed, error.to_string())
}
