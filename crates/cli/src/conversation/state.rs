//! State of a conversation: the open session, and what a new one will be opened with. Plain data.

use std::path::PathBuf;

use rooftree_protocol::{ModelChoice, PermissionMode, Session, command::NewSession};
use rooftree_runtime::Definitions;

use crate::commands::run::SessionTarget;

/// What the next message goes to.
#[derive(Debug)]
pub struct OpenConversation {
    pub agent: String,
    pub cwd: PathBuf,
    /// The open session; none before the first message.
    pub session: Option<Session>,
    /// The model that was named, for this session and for new ones.
    pub named: Option<ModelChoice>,
    /// The model for agents that name none.
    pub default: Option<ModelChoice>,
    /// The mode the program was started with.
    pub started_mode: PermissionMode,
    /// The mode that the person chose for this session.
    pub mode: Option<PermissionMode>,
    /// The number of the last event of the session that was shown.
    pub seen: u64,
}

impl OpenConversation {
    /// Takes over the session that flags named, or the agent for a new one.
    pub fn take(&mut self, target: SessionTarget) {
        match target {
            SessionTarget::New(new) => self.begin_anew(new.agent),
            SessionTarget::Known(session) => self.enter(*session),
        }
    }

    /// The next message opens a session of this agent.
    pub fn begin_anew(&mut self, agent: String) {
        (self.agent, self.session, self.mode, self.seen) = (agent, None, None, 0);
    }

    /// The next message goes to this session. What happened in it before is not shown.
    pub fn enter(&mut self, session: Session) {
        self.agent.clone_from(&session.agent);
        (self.mode, self.seen) = (None, session.head);
        self.session = Some(session);
    }

    /// What to open a session with.
    pub fn new_session(&self, definitions: &Definitions) -> NewSession {
        let defined = definitions.find(&self.agent).ok();
        let has_own = defined.is_some_and(|definition| definition.model.is_some());
        let default = self.default.clone().filter(|_| !has_own);
        NewSession {
            agent: self.agent.clone(),
            cwd: self.cwd.clone(),
            name: None,
            model: self.named.clone().or(default),
        }
    }

    /// The mode that holds, as far as the person decides it.
    pub fn mode(&self) -> PermissionMode {
        self.mode.unwrap_or(self.started_mode)
    }

    /// The model that will be used, in words.
    pub fn model(&self, definitions: &Definitions) -> String {
        let own = self
            .session
            .as_ref()
            .and_then(|session| session.model.clone());
        let defined = definitions.find(&self.agent).ok();
        let defined = defined.and_then(|definition| definition.model.clone());
        let named = self.named.as_ref().map(ToString::to_string);
        let named = if self.session.is_some() { own } else { named };
        named
            .or_else(|| defined.map(|model| model.to_string()))
            .or_else(|| self.default.as_ref().map(ToString::to_string))
            .unwrap_or_else(|| "no model".into())
    }

    /// What stands before the cursor: the agent, and the mode if it is not the usual one.
    pub fn prompt(&self) -> String {
        match self.mode() {
            PermissionMode::Ask => format!("{} › ", self.agent),
            mode => format!("{} ({}) › ", self.agent, mode_name(mode)),
        }
    }
}

/// How a mode is typed.
pub fn mode_name(mode: PermissionMode) -> String {
    let name = serde_json::to_value(mode).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> OpenConversation {
        OpenConversation {
            agent: "lead".into(),
            cwd: "/w".into(),
            session: None,
            named: None,
            default: "demo/one".parse().ok(),
            started_mode: PermissionMode::Ask,
            mode: None,
            seen: 0,
        }
    }

    #[test]
    fn the_prompt_names_the_agent_and_an_unusual_mode() {
        let mut state = state();
        assert_eq!(state.prompt(), "lead › ");
        state.mode = Some(PermissionMode::AcceptEdits);
        assert_eq!(state.prompt(), "lead (accept-edits) › ");
        state.begin_anew("explore".into());
        assert_eq!(
            state.prompt(),
            "explore › ",
            "a mode belongs to its session"
        );
    }

    #[test]
    fn a_new_session_gets_the_named_model_or_the_default() {
        let mut state = state();
        let definitions = Definitions::builtin();
        let model =
            |state: &OpenConversation| state.new_session(&definitions).model.unwrap().to_string();
        assert_eq!(model(&state), "demo/one");
        state.named = "demo/two".parse().ok();
        assert_eq!(model(&state), "demo/two");
        assert_eq!(state.model(&definitions), "demo/two");
    }
}
