//! What the tests share: scripted queries, notes that closures can take, a gate for calls.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use rooftree::{
    Agent, HookVerdict, Query, ToolUse, query,
    testing::{ScriptEntry, ScriptedCall, ScriptedModel, call},
};
use serde_json::json;
use tokio::sync::Semaphore;

pub fn script(entries: impl IntoIterator<Item = ScriptEntry>) -> ScriptedModel {
    ScriptedModel::from_replies(entries).unwrap()
}

/// A query that a script answers.
pub fn scripted(prompt: &str, entries: impl IntoIterator<Item = ScriptEntry>) -> Query {
    query(prompt).provider("scripted", script(entries))
}

pub fn task(agent: &str, prompt: &str) -> ScriptedCall {
    // It changes nothing, and this test's own repository is not to be copied for it.
    let input = json!({"subagent_type": agent, "prompt": prompt, "isolation": "none"});
    call("Task", input)
}

pub fn background(agent: &str, prompt: &str) -> ScriptedCall {
    let input = json!({"subagent_type": agent, "prompt": prompt, "run_in_background": true, "isolation": "none"});
    call("Task", input)
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

/// Where calls of one agent wait until a test lets them through.
#[derive(Clone)]
pub struct Gate {
    arrived: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Gate {
    pub fn shut() -> Self {
        Self {
            arrived: Arc::new(Semaphore::new(0)),
            open: Arc::new(Semaphore::new(0)),
        }
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.open.close();
    }

    /// Waits until somebody waits.
    pub async fn reached(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    /// A hook that holds the calls of this agent.
    pub fn before(
        &self,
        agent: &'static str,
    ) -> impl Fn(ToolUse) -> BoxFuture<'static, HookVerdict> + Send + Sync + 'static {
        let gate = self.clone();
        move |about| {
            let gate = gate.clone();
            Box::pin(async move {
                if about.agent == agent {
                    gate.arrived.add_permits(1);
                    // A gate that is open gives no passes any more.
                    let _ = gate.open.acquire().await;
                }
                HookVerdict::Allow
            })
        }
    }
}
