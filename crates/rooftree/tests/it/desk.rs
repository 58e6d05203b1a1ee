//! What the tests share: scripted queries, and notes that closures can take.

use std::sync::{Arc, Mutex};

use rooftree::{
    Agent, Query, query,
    testing::{Call, Entry, Scripted, call},
};
use serde_json::json;

pub fn script(entries: impl IntoIterator<Item = Entry>) -> Scripted {
    Scripted::from_replies(entries).unwrap()
}

/// A query that a script answers.
pub fn scripted(prompt: &str, entries: impl IntoIterator<Item = Entry>) -> Query {
    query(prompt).provider("scripted", script(entries))
}

pub fn task(agent: &str, prompt: &str) -> Call {
    call("Task", json!({"subagent_type": agent, "prompt": prompt}))
}

pub fn background(agent: &str, prompt: &str) -> Call {
    call("Task", json!({"subagent_type": agent, "prompt": prompt, "run_in_background": true}))
}

pub fn helper() -> Agent {
    Agent::new("helper").describe("Helps.")
}

/// Notes that closures take and a test reads.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub fn take(&self, words: impl Into<String>) {
        self.0.lock().unwrap().push(words.into());
    }

    pub fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
