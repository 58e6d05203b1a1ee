//! The redrawn area below the output: running calls, agents at work, todos, the status line.

use std::time::Instant;

use rooftree_protocol::{CallId, Event, EventBody, RunId, Todo, event::ToolRecord};
use rooftree_runtime::{Clock, SystemClock};

use super::{
    agent_tree,
    delegated_run::{DelegatedRun, DelegatedRunChange},
    delegated_run_list::DelegatedRunList,
    line::{StyledLine, TextStyle},
    status::StatusLine,
    todos, tools,
};

/// Running calls shown at a time; more are counted.
const CALLS_SHOWN: usize = 5;
/// Lines of delegated agents shown at a time; more are counted.
const AGENTS_SHOWN: usize = 10;

/// What goes on now.
#[derive(Default)]
pub struct LiveFooter {
    pub status: StatusLine,
    pub todos: Vec<Todo>,
    calls: Vec<FooterCall>,
    agents: DelegatedRunList,
    /// Agents that went on after their call had ended: each is told of once more when it ends.
    left: Vec<RunId>,
}

struct FooterCall {
    call: CallId,
    tool: String,
    title: String,
    since: Instant,
    says: String,
}

impl FooterCall {
    fn lines(&self, spinner: &str) -> Vec<StyledLine> {
        let elapsed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut lines = vec![tools::running(spinner, &self.tool, &self.title, elapsed)];
        if !self.says.is_empty() {
            lines.push(StyledLine::of(TextStyle::Dim, format!("  {}", self.says)));
        }
        lines
    }
}

impl LiveFooter {
    /// All of it, in so many columns.
    pub fn lines(&self, columns: usize) -> Vec<StyledLine> {
        let canvas = agent_tree::TreeLayout {
            spinner: self.status.spinner(),
            now: SystemClock.now(),
            columns,
        };
        let mut lines = self.call_lines(canvas);
        let beside = self
            .agents
            .at_work()
            .filter(|agent| !self.is_below_a_call(agent));
        let beside = shown(agent_tree::beside(beside, canvas));
        for block in [beside, todos::lines(&self.todos)]
            .into_iter()
            .filter(|block| !block.is_empty())
        {
            lines.push(StyledLine::default());
            lines.extend(block);
        }
        lines
    }

    /// The calls that run, and below them the agents they delegated to. Several that delegate are
    /// one block, so that those at work at the same time stand below each other.
    fn call_lines(&self, canvas: agent_tree::TreeLayout) -> Vec<StyledLine> {
        let delegates = |call: &&FooterCall| self.agents.of_call(&call.call).next().is_some();
        let (asking, alone): (Vec<&FooterCall>, Vec<&FooterCall>) =
            self.calls.iter().partition(delegates);
        let mut lines = Vec::new();
        for call in alone.iter().take(CALLS_SHOWN) {
            lines.extend(call.lines(canvas.spinner));
        }
        if let Some(more @ 1..) = alone.len().checked_sub(CALLS_SHOWN) {
            lines.push(StyledLine::of(TextStyle::Dim, format!("  and {more} more")));
        }
        match asking.as_slice() {
            [] => {}
            [one] => lines.extend(one.lines(canvas.spinner)),
            several => lines.push(
                StyledLine::of(TextStyle::Accent, format!("{} ", canvas.spinner)).with(
                    TextStyle::Strong,
                    format!("Delegated to {} agents", several.len()),
                ),
            ),
        }
        let calls = asking.iter().map(|running| &running.call);
        lines.extend(shown(agent_tree::of_calls(&self.agents, calls, canvas)));
        lines
    }

    /// Whether an agent hangs in the tree of a call that runs.
    fn is_below_a_call(&self, agent: &DelegatedRun) -> bool {
        let Some(parent) = &agent.parent else {
            return false;
        };
        let above = self
            .agents
            .all()
            .iter()
            .find(|above| above.run == parent.run);
        self.calls.iter().any(|running| running.call == parent.call)
            || above.is_some_and(|above| self.is_below_a_call(above))
    }

    /// A call begins.
    pub fn start_call(&mut self, call: &CallId, tool: &str, title: &str) {
        self.status.doing = "working".into();
        let (call, tool, title) = (call.clone(), tool.to_owned(), title.to_owned());
        self.calls.push(FooterCall {
            call,
            tool,
            title,
            since: Instant::now(),
            says: String::new(),
        });
    }

    /// A call says something.
    pub fn hear(&mut self, call: &CallId, text: &str) {
        if let Some(running) = self.calls.iter_mut().find(|running| running.call == *call) {
            running.says = text
                .trim_end()
                .lines()
                .last()
                .unwrap_or_default()
                .to_owned();
        }
    }

    /// A call ended: the lines that stay of the agents it delegated to.
    pub fn end_call(&mut self, event: &Event, record: &ToolRecord) -> Vec<StyledLine> {
        self.agents.apply_call_result(event, record);
        self.calls.retain(|running| running.call != record.call);
        if self.calls.is_empty() {
            self.status.doing = "thinking".into();
        }
        let below = || self.agents.of_call(&record.call);
        self.left.extend(
            below()
                .filter(|agent| !agent.has_ended())
                .map(|agent| agent.run.clone()),
        );
        below()
            .map(|agent| agent_tree::ended("  └─ ", agent))
            .collect()
    }

    /// Takes an event of a delegated session; returns a line that stays if a background agent ended.
    pub fn take_delegated(&mut self, event: &Event) -> Option<StyledLine> {
        if let EventBody::MessageCompleted(reply) = &event.body {
            self.status.tokens += reply.usage.total();
        }
        let ended = match self.agents.take(event) {
            Some((agent, DelegatedRunChange::Ended)) if self.left.contains(&agent.run) => {
                Some(agent_tree::ended("", agent))
            }
            _ => None,
        };
        self.status.agents = self.agents.at_work().count();
        ended
    }
}

/// The first of these lines; the others are counted.
fn shown(mut lines: Vec<StyledLine>) -> Vec<StyledLine> {
    if let Some(more @ 1..) = lines.len().checked_sub(AGENTS_SHOWN) {
        lines.truncate(AGENTS_SHOWN);
        lines.push(StyledLine::of(TextStyle::Dim, format!("  and {more} more")));
    }
    lines
}
