//! Steps of a run for its trace: each request to a model and each tool call, with begin, end and what it used.

use std::collections::VecDeque;

use rooftree_protocol::{
    CallId, Event, EventBody, Outcome, RunId, Timestamp, Usage,
    event::{ReplyRecord, ToolRecord},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run_parts::push_bounded;

/// Steps kept per run: the last ones.
pub const TRACE_STEPS: usize = 500;

/// One request to a model, or one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceStep {
    /// Which of both.
    pub kind: TraceStepKind,
    /// The model, or the tool.
    pub name: String,
    /// What a call does, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// When it began.
    pub from: Timestamp,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// How a call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What it used, if it asked a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Which call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The run that a call delegated to or asked about. While it lasts, it waits for that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<RunId>,
    /// The number of the event that tells its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<u64>,
    /// The number of the event that tells its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceStepKind {
    /// A request to a model.
    Model,
    /// A tool call.
    Tool,
}

/// Steps of one run, from its events in their order.
#[derive(Debug, Default)]
pub struct TraceSteps {
    kept: VecDeque<TraceStep>,
    left_out: usize,
    /// When the last event happened.
    last: Option<Timestamp>,
    /// Calls of the last reply that have not ended.
    open_calls: Vec<CallId>,
    waits: bool,
    model: String,
}

impl TraceSteps {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::RunStarted { model, .. } => self.model.clone_from(model),
            EventBody::MessageCompleted(reply) => self.add_reply(event, reply),
            EventBody::ToolStarted { .. } => self.begin_call(event),
            EventBody::ToolCompleted(record) => self.end_call(event, record),
            EventBody::RunWaiting { .. } => self.waits = true,
            EventBody::RunResumed { .. } => self.waits = false,
            _ => {}
        }
        self.last = Some(event.ts);
    }

    /// The steps in their order, and how many before them were left out. If the run works and neither waits nor has an
    /// open call, its model is being asked since the last event.
    pub fn finish(mut self, is_at_work: bool) -> (Vec<TraceStep>, usize) {
        let asks = is_at_work && !self.waits && self.open_calls.is_empty();
        if let Some(from) = self.last.filter(|_| asks) {
            let model = std::mem::take(&mut self.model);
            self.push(step(TraceStepKind::Model, &model, from));
        }
        (self.kept.into(), self.left_out)
    }

    fn add_reply(&mut self, event: &Event, reply: &ReplyRecord) {
        self.model.clone_from(&reply.model);
        self.open_calls = reply.calls().map(|call| call.id.clone()).collect();
        self.push(TraceStep {
            to: Some(event.ts),
            usage: Some(reply.usage),
            ended: event.id,
            ..step(
                TraceStepKind::Model,
                &reply.model,
                self.last.unwrap_or(event.ts),
            )
        });
    }

    fn begin_call(&mut self, event: &Event) {
        let EventBody::ToolStarted {
            call, tool, title, ..
        } = &event.body
        else {
            return;
        };
        // A call that is made again after a crash is one step.
        self.kept.retain(|one| one.call.as_ref() != Some(call));
        self.push(TraceStep {
            title: title.clone(),
            call: Some(call.clone()),
            began: event.id,
            ..step(TraceStepKind::Tool, tool, event.ts)
        });
    }

    fn end_call(&mut self, event: &Event, record: &ToolRecord) {
        self.open_calls.retain(|call| *call != record.call);
        let known = self
            .kept
            .iter()
            .rposition(|one| one.call.as_ref() == Some(&record.call));
        if known.is_none() {
            // It was refused before it began.
            self.push(TraceStep {
                title: record.title.clone(),
                call: Some(record.call.clone()),
                ..step(TraceStepKind::Tool, &record.tool, event.ts)
            });
        }
        let at = known.unwrap_or(self.kept.len().saturating_sub(1));
        if let Some(found) = self.kept.get_mut(at) {
            found.to = Some(event.ts);
            found.outcome = Some(record.outcome);
            found.usage = record.usage;
            found.task = record.task.as_ref().map(|note| note.task.clone());
            found.ended = event.id;
        }
    }

    fn push(&mut self, step: TraceStep) {
        if self.kept.len() == TRACE_STEPS {
            self.left_out += 1;
        }
        push_bounded(&mut self.kept, Some(step), TRACE_STEPS);
    }
}

fn step(kind: TraceStepKind, name: &str, from: Timestamp) -> TraceStep {
    TraceStep {
        kind,
        name: name.to_owned(),
        title: String::new(),
        from,
        to: None,
        outcome: None,
        usage: None,
        call: None,
        task: None,
        began: None,
        ended: None,
    }
}
