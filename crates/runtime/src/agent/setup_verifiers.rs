//! Sets up the verifiers of a run when it begins, and notices about the project's files.

use std::sync::Arc;

use rooftree_protocol::{Mandate, Verifier, event::RunMode};
use rooftree_tools::mcp::Notice;

use super::AgentActor;
use crate::{ProjectContext, checks::WorkCheck, resolved_agent::ResolvedAgent};

impl AgentActor {
    /// Resolves the verifiers, and the notices about what was found in the project.
    pub(super) fn set_up_verifiers(
        &mut self,
        around: &ProjectContext,
        resolved: &ResolvedAgent,
        mandate: Option<&Mandate>,
    ) {
        let (found, mut unknown) = around.checking(
            &resolved.definition,
            &self.context.options.agents.definitions,
        );
        let found = self.with_functions(&resolved.definition.verifiers, found);
        unknown.retain(|name| !self.context.options.agents.checkers.contains_key(name));
        // A verifier's own work is not verified: it would never end.
        let is_checking = mandate.is_some_and(|mandate| mandate.mode == RunMode::Verifying);
        self.verifiers = if is_checking {
            Arc::new([])
        } else {
            found.into()
        };
        let code = "surroundings";
        let news = around.news.iter().map(|message| Notice {
            code,
            message: message.clone(),
            hint: None,
        });
        let unknown = unknown.into_iter().map(|name| Notice {
            code: "verifier_missing",
            message: format!(
                "verifier `{name}` of agent `{}` is not there and checks nothing",
                resolved.name
            ),
            hint: Some("rooftree agents validate".into()),
        });
        self.notices.pending.extend(news.chain(unknown));
    }

    /// Adds verifiers that are functions of the embedding program; they take precedence over files of the same name.
    fn with_functions(
        &self,
        names: &[String],
        found: Vec<(String, Verifier)>,
    ) -> Vec<(String, WorkCheck)> {
        let checkers = &self.context.options.agents.checkers;
        let function = |name: &String| {
            Some((
                name.clone(),
                WorkCheck::Function(checkers.get(name)?.clone()),
            ))
        };
        let written = found
            .into_iter()
            .filter(|(name, _)| !checkers.contains_key(name));
        names
            .iter()
            .filter_map(function)
            .chain(written.map(|(name, one)| (name, one.into())))
            .collect()
    }
}
