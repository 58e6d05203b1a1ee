//! The redrawn area below the output: running calls, agents at work, todos, the status line.

use rooftree_protocol::{CallId, Event, RunId, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_view::{RunTreeView, TreeCall, TreeChange, TreeRun};

use super::{
    agent_tree,
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
    pub tree: RunTreeView,
    /// Agents that went on after their call had ended: each is told of once more when it ends.
    left: Vec<RunId>,
}

fn call_lines(call: &TreeCall, spinner: &str, now: Timestamp) -> Vec<StyledLine> {
    let elapsed = u64::try_from(now.since(call.started_at).as_millis()).unwrap_or(u64::MAX);
    let mut lines = vec![tools::running(spinner, &call.tool, &call.title, elapsed)];
    if !call.output.is_empty() {
        lines.push(StyledLine::of(TextStyle::Dim, format!("  {}", call.output)));
    }
    lines
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
            .tree
            .delegated_at_work()
            .filter(|agent| !self.is_below_a_call(agent));
        let beside = shown(agent_tree::beside(beside, canvas));
        let root = self.tree.root().and_then(|root| self.tree.session(root));
        let todos = root.map_or(&[][..], |session| session.todos.as_slice());
        for block in [beside, todos::lines(todos)]
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
        let delegates = |call: &&TreeCall| self.tree.started_by_call(&call.call).next().is_some();
        let (asking, alone): (Vec<&TreeCall>, Vec<&TreeCall>) =
            self.running_calls().partition(delegates);
        let mut lines = Vec::new();
        for call in alone.iter().take(CALLS_SHOWN) {
            lines.extend(call_lines(call, canvas.spinner, canvas.now));
        }
        if let Some(more @ 1..) = alone.len().checked_sub(CALLS_SHOWN) {
            lines.push(StyledLine::of(TextStyle::Dim, format!("  and {more} more")));
        }
        match asking.as_slice() {
            [] => {}
            [one] => lines.extend(call_lines(one, canvas.spinner, canvas.now)),
            several => lines.push(
                StyledLine::of(TextStyle::Accent, format!("{} ", canvas.spinner)).with(
                    TextStyle::Strong,
                    format!("Delegated to {} agents", several.len()),
                ),
            ),
        }
        let calls = asking.iter().map(|running| &running.call);
        lines.extend(shown(agent_tree::of_calls(&self.tree, calls, canvas)));
        lines
    }

    /// The calls of the followed session that run.
    fn running_calls(&self) -> impl Iterator<Item = &TreeCall> {
        let runs = self.tree.root().map(|root| self.tree.runs_in(root));
        runs.into_iter().flatten().flat_map(|run| &run.log.running)
    }

    /// Whether an agent hangs in the tree of a call that runs.
    fn is_below_a_call(&self, agent: &TreeRun) -> bool {
        let Some(parent) = &agent.origin.parent else {
            return false;
        };
        let above = self.tree.delegated().find(|above| above.run == parent.run);
        self.running_calls()
            .any(|running| running.call == parent.call)
            || above.is_some_and(|above| self.is_below_a_call(above))
    }

    /// Takes an event of the followed session in.
    pub fn take(&mut self, event: &Event) {
        self.tree.set_root(&event.session);
        self.tree.apply(event);
    }

    /// A call ended: the lines that stay of the agents it delegated to.
    pub fn end_call(&mut self, call: &CallId) -> Vec<StyledLine> {
        let below = || self.tree.started_by_call(call);
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
        let has_ended = self.tree.apply(event) == TreeChange::Ended;
        let run = event.run.as_ref().filter(|_| has_ended)?;
        let agent = self.tree.run(run).filter(|_| self.left.contains(run))?;
        Some(agent_tree::ended("", agent))
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
