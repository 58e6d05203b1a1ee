//! Sees to it that permission rules name tools that exist.

use std::sync::Arc;

use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_tools::{Processes, Rule};

/// The same rules under the tools' own names, so that one written with another name of a tool holds too.
pub fn known(rules: Vec<Rule>) -> Result<Vec<Rule>, Problem> {
    if rules.is_empty() {
        return Ok(rules);
    }
    let tools = rooftree_tools::builtin(Arc::new(Processes::new(|| SystemClock.entropy())));
    rules.into_iter().map(|rule| rule.resolved(&tools)).collect()
}
