//! What an agent makes of its surroundings when a run begins: who checks its work, what people should know.

use std::sync::Arc;

use rooftree_protocol::{Mandate, event::RunMode};
use rooftree_tools::mcp::Notice;

use super::Agent;
use crate::{Surroundings, kit::Kit};

impl Agent {
    /// Finds out who checks the work, and what people should know about what is around.
    pub(super) fn look_around(&mut self, around: &Surroundings, kit: &Kit, mandate: Option<&Mandate>) {
        let (found, unknown) = around.checking(&kit.definition, &self.world.options.definitions);
        // Whoever checks is not checked: it would never end.
        let is_checking = mandate.is_some_and(|mandate| mandate.mode == RunMode::Verifying);
        self.verifiers = if is_checking { Arc::new([]) } else { found.into() };
        let code = "surroundings";
        let news = around.news.iter().map(|message| Notice { code, message: message.clone(), hint: None });
        let unknown = unknown.into_iter().map(|name| Notice {
            code: "verifier_missing",
            message: format!("verifier `{name}` of agent `{}` is not there and checks nothing", kit.name),
            hint: Some("rooftree agents validate".into()),
        });
        self.remarks.extend(news.chain(unknown));
    }
}
