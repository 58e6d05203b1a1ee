//! OpenAI's Responses: the same questions and answers as Chat Completions, spelled as a list of items.

mod asked;
mod items;

use rooftree_protocol::Usage;
use serde_json::{Value, json};

use self::items::Items;
use super::{
    failure::Failure,
    wire::{Ending, Frame, Letterhead, Pieces, Wire, with},
};
use crate::telling::Told;

/// The wire.
pub(crate) const WIRE: Wire =
    Wire { read: asked::read, whole, pieces: |letterhead, _| Box::new(Events::new(letterhead)) };

/// A whole answer is what a stream of it ends with.
fn whole(letterhead: Letterhead, told: &[Told], ending: &Ending) -> Value {
    let mut events = Events::new(letterhead);
    for told in told {
        events.told(told);
    }
    events.items.close();
    events.ended(ending)
}

struct Events {
    letterhead: Letterhead,
    items: Items,
    number: u64,
}

impl Events {
    fn new(letterhead: Letterhead) -> Self {
        let items = Items::new(letterhead.id(""));
        Self { letterhead, items, number: 0 }
    }

    /// Numbers them as they are made.
    fn frames(&mut self, events: Vec<(&'static str, Value)>) -> Vec<Frame> {
        let number = |(name, event): (&'static str, Value)| {
            let event = with(with(event, "type", name.into()), "sequence_number", self.number.into());
            self.number += 1;
            Frame { name: Some(name.to_owned()), data: event.to_string() }
        };
        events.into_iter().map(number).collect()
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": self.letterhead.id("resp_"), "object": "response", "created_at": self.letterhead.seconds(),
            "status": status, "error": null, "incomplete_details": null, "instructions": null,
            "model": self.letterhead.model, "output": self.items.done(), "parallel_tool_calls": false,
            "tool_choice": "auto", "tools": [], "metadata": {}, "usage": null,
        })
    }

    fn ended(&self, ending: &Ending) -> Value {
        let is_short = ending.status.is_too_short();
        let response = self.response(if is_short { "incomplete" } else { "completed" });
        let response = with(response, "usage", usage(&ending.usage));
        let response = with(response, "rooftree", self.letterhead.extension(&ending.status));
        let why = if is_short { json!({"reason": "max_output_tokens"}) } else { Value::Null };
        with(response, "incomplete_details", why)
    }
}

impl Pieces for Events {
    fn begin(&mut self) -> Vec<Frame> {
        let begun = || json!({"response": self.response("in_progress")});
        let events = vec![("response.created", begun()), ("response.in_progress", begun())];
        self.frames(events)
    }

    fn told(&mut self, told: &Told) -> Vec<Frame> {
        let events = self.items.take(told);
        self.frames(events)
    }

    fn end(&mut self, ending: &Ending) -> Vec<Frame> {
        let mut events = self.items.close();
        let is_short = ending.status.is_too_short();
        let name = if is_short { "response.incomplete" } else { "response.completed" };
        events.push((name, json!({"response": self.ended(ending)})));
        self.frames(events)
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Frame> {
        let mut events = self.items.close();
        let response = with(self.response("failed"), "error", failure.in_short());
        events.push(("response.failed", json!({"response": response})));
        self.frames(events)
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}
