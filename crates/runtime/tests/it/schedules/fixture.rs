//! A runtime with a scheduler, and short ways to make schedules and to wait for them.

use std::{future::Future, time::Duration};

use rooftree_protocol::{OccurrenceInfo, ScheduleDraft, ScheduleInfo, Timestamp};
use rooftree_providers::scripted::ScriptEntry;
use rooftree_runtime::{Clock, ScheduleDefaults, scheduler};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, owner};

/// Timeout of a wait in real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A builder of a runtime with a scheduler.
pub fn scheduled(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    let mut builder = TestRuntimeBuilder::new(entries);
    let service = scheduler::service();
    builder.services.push(service);
    builder
}

/// A draft with a time and a prompt.
pub fn draft(when: &str) -> ScheduleDraft {
    ScheduleDraft {
        name: Some("morning".into()),
        when: Some(when.into()),
        prompt: Some("Look around.".into()),
        ..ScheduleDraft::default()
    }
}

/// Makes a schedule; further ones are called `morning 2`, `morning 3`, …
pub async fn add(runtime: &TestRuntime, draft: &ScheduleDraft) -> ScheduleInfo {
    let known = runtime.handle.schedules(&owner()).await.unwrap();
    let is_taken = known
        .iter()
        .any(|one| Some(&one.name) == draft.name.as_ref());
    let mut draft = draft.clone();
    if is_taken {
        draft.name = Some(format!("morning {}", known.len() + 1));
    }
    let defaults = ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().to_owned(),
        zone: "UTC".into(),
    };
    let who = owner();
    let added = runtime.handle.add_schedule(&who, &draft, defaults).await;
    added.unwrap()
}

/// What became of its due times, the latest first.
pub async fn history(runtime: &TestRuntime, id: &str) -> Vec<OccurrenceInfo> {
    let handle = &runtime.handle;
    let found = handle.schedule_history(&owner(), id, None, 0).await;
    found.unwrap()
}

/// States and reasons, the earliest first.
pub async fn states(runtime: &TestRuntime, id: &str) -> Vec<String> {
    let told = |one: OccurrenceInfo| match one.reason {
        Some(reason) => format!("{} {reason}", one.execution),
        None => one.execution,
    };
    history(runtime, id)
        .await
        .into_iter()
        .rev()
        .map(told)
        .collect()
}

/// Moves the clock.
pub fn pass(runtime: &TestRuntime, seconds: u64) {
    runtime.clock.advance(Duration::from_secs(seconds));
}

/// Moves the clock to a moment.
pub fn pass_to(runtime: &TestRuntime, at: Timestamp) {
    runtime.clock.advance(at.since(runtime.clock.now()));
}

/// Waits until nothing is due, open or unreviewed.
pub async fn quiet(runtime: &TestRuntime) {
    let waited = tokio::time::timeout(PATIENCE, async { while !is_quiet(runtime).await {} });
    if waited.await.is_err() {
        let store = runtime.store();
        panic!(
            "due: {:?}, open: {:?}, unreviewed: {:?}",
            store.due_schedules(runtime.clock.now(), 9).await,
            store.open_occurrences().await,
            store.unreviewed_occurrences(9).await
        );
    }
}

/// Moves the clock, and waits until so many due times have come and are over.
pub async fn pass_until(runtime: &TestRuntime, seconds: u64, id: &str, count: usize) {
    pass(runtime, seconds);
    wait(|| async { history(runtime, id).await.len() == count }).await;
    quiet(runtime).await;
}

async fn is_quiet(runtime: &TestRuntime) -> bool {
    let store = runtime.store();
    let due = store.due_schedules(runtime.clock.now(), 9).await;
    due.unwrap().is_empty()
        && store.open_occurrences().await.unwrap().is_empty()
        && store.unreviewed_occurrences(9).await.unwrap().is_empty()
}

/// Waits until something is so.
pub async fn wait<F: Future<Output = bool>>(is_so: impl Fn() -> F) {
    let looking = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap();
}

/// Lets time pass second by second until nothing is left to do after `seconds`.
pub async fn live(runtime: &TestRuntime, seconds: u64, step: u64) {
    let mut left = seconds;
    while left > 0 {
        pass(runtime, step.min(left));
        left = left.saturating_sub(step);
        quiet(runtime).await;
    }
}

/// Adds a connector of this name, which no service runs.
pub async fn with_connector(runtime: &TestRuntime, name: &str) {
    let change = rooftree_runtime::ConnectorChange {
        name: name.into(),
        fields: Some(rooftree_store::ConnectorFields {
            platform: "telegram".into(),
            agent: "lead".into(),
            settings: serde_json::Map::new(),
            enabled: true,
        }),
        expected: None,
    };
    let changed = runtime.handle.change_connector(&owner(), change).await;
    changed.unwrap();
}

/// Takes it away again.
pub async fn without_connector(runtime: &TestRuntime, name: &str) {
    let known = runtime.handle.connector(&owner(), name).await.unwrap();
    let change = rooftree_runtime::ConnectorChange {
        name: name.into(),
        fields: None,
        expected: Some(known.revision),
    };
    let changed = runtime.handle.change_connector(&owner(), change).await;
    changed.unwrap();
}
