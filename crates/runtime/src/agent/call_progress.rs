//! Progress events of running calls: a tool that prints nothing still shows that it is at work.

use std::time::Duration;

use futures::future::BoxFuture;
use rooftree_protocol::{CallId, EventBody, Timestamp};

use super::{AgentActor, inquire};

/// Time until the first event. Each later pause is twice as long, up to [`LONGEST`], so that their number stays small.
const FIRST: Duration = Duration::from_secs(5);
/// The longest pause between two events.
const LONGEST: Duration = Duration::from_secs(60);

/// The calls of a batch that run, and when to say so next.
pub(super) struct CallProgress {
    running: Vec<(CallId, Timestamp)>,
    due: Timestamp,
    pause: Duration,
}

impl CallProgress {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            running: Vec::new(),
            due: now.after(FIRST),
            pause: FIRST,
        }
    }

    /// A call begins.
    pub(super) fn begin(&mut self, call: &CallId, now: Timestamp) {
        self.running.push((call.clone(), now));
    }

    /// A call has ended.
    pub(super) fn end(&mut self, call: &CallId) {
        self.running.retain(|(running, _)| running != call);
    }

    /// Resolves when it is time to say what runs.
    pub(super) fn due(&self, agent: &AgentActor) -> BoxFuture<'static, ()> {
        inquire::sleep_until(agent, self.due)
    }

    /// Tells subscribers which calls still run.
    pub(super) fn tell(&mut self, agent: &AgentActor) {
        let now = agent.context.now();
        for (call, since) in &self.running {
            let elapsed = now.since(*since).as_millis();
            agent.say(EventBody::ToolProgress {
                call: call.clone(),
                elapsed_ms: u64::try_from(elapsed).unwrap_or(u64::MAX),
            });
        }
        self.pause = (self.pause * 2).min(LONGEST);
        self.due = now.after(self.pause);
    }
}
