//! The rules that an answer for longer than once makes, and for how long an answer may hold.

use std::fmt;

use rooftree_protocol::{Answer, PermissionDecision, PermissionScope};
use rooftree_store::{RuleKind, RuleRow, RuleScope};
use rooftree_tools::{Policy, PolicyRequest};

use crate::{
    agent::{AgentActor, call::PreparedCall},
    saved_rules,
};

/// The rules that a yes for longer would make.
pub(in crate::agent) struct SuggestedRules {
    rules: Vec<String>,
    /// Whether asking for them is all the call does.
    is_wanted: bool,
}

impl SuggestedRules {
    /// These rules.
    pub(in crate::agent) fn new(rules: Vec<String>) -> Self {
        Self {
            rules,
            is_wanted: false,
        }
    }

    /// The narrowest rule that would allow a call the next time, or the one it asks for.
    pub(in crate::agent) fn of_call(agent: &AgentActor, one: &PreparedCall) -> Self {
        if let Some(rule) = one.tool.wants(&one.input) {
            return Self {
                rules: vec![rule],
                is_wanted: true,
            };
        }
        let subject = one.tool.subject(&one.input);
        let tool = one.tool.ruled_as(&one.input);
        let rule = Policy::suggested_rule(&PolicyRequest {
            tool: &tool,
            subject: subject.as_deref(),
            input: Some(&one.input),
            effect: one.effect,
            cwd: &agent.session.cwd,
        });
        Self::new(vec![rule.to_string()])
    }

    /// The rules that an answer makes, where it says that they hold.
    pub(in crate::agent) fn remembered(
        &self,
        agent: &AgentActor,
        answer: &Answer,
        by: &str,
    ) -> Vec<RuleRow> {
        let scope = match answer.scope {
            // Once, for a call that only asks for the rule, is for as long as this agent works on this.
            PermissionScope::Once
                if self.is_wanted && answer.decision == PermissionDecision::Allow =>
            {
                RuleScope::Session(agent.session.id.clone())
            }
            PermissionScope::Once => return Vec::new(),
            PermissionScope::Session => RuleScope::Session(agent.root()),
            PermissionScope::Project => {
                RuleScope::Project(saved_rules::project(&agent.rights.home))
            }
            PermissionScope::Always => RuleScope::Always,
        };
        let kind = match answer.decision {
            PermissionDecision::Allow => RuleKind::Allow,
            PermissionDecision::Deny => RuleKind::Deny,
        };
        let rules = self.rules.iter().map(|rule| RuleRow {
            number: 0,
            kind,
            rule: rule.clone(),
            scope: scope.clone(),
            by: saved_rules::by_answer(by),
            at: agent.context.now(),
        });
        rules.collect()
    }
}

impl fmt::Display for SuggestedRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rules.join(", "))
    }
}

/// Scopes an answer may have. A call that an ask rule matches is answered only once at a time.
pub(in crate::agent) fn scopes(is_ask_rule: bool) -> Vec<PermissionScope> {
    use PermissionScope::{Always, Once, Project, Session};
    if is_ask_rule {
        vec![Once]
    } else {
        vec![Once, Session, Project, Always]
    }
}
