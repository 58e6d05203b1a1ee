//! Commands about saved permission rules.

use rooftree_protocol::{
    ErrorCode, Principal, Problem, RuleKind, RuleScope, command::CommandReply,
};
use rooftree_store::{AuditEntry, RuleRow};
use rooftree_tools::PermissionRule;

use super::{Handle, queries::is_visible_rule};
use crate::{Error, inquiries};

impl Handle {
    pub(super) async fn add_rule(
        &self,
        who: &Principal,
        kind: RuleKind,
        rule: String,
        scope: RuleScope,
    ) -> Result<CommandReply, Error> {
        if let RuleScope::Session(session) = &scope {
            self.session(who, session).await?;
        } else if !who.may_rule_all() {
            let message = "only the owner makes rules that hold for more than one session";
            return Err(Problem::new(ErrorCode::ToolDenied, message)
                .fix("make the rule for your session")
                .into());
        }
        if let Err(problem) = PermissionRule::parse(&rule) {
            return Err(problem.into());
        }
        let at = self.now();
        let audit = AuditEntry::done(who, at, "rule.add", &rule)
            .with("kind", serde_json::to_value(kind).unwrap_or_default())
            .with("scope", serde_json::to_value(&scope).unwrap_or_default());
        let row = RuleRow {
            number: 0,
            kind,
            rule,
            scope,
            by: inquiries::signature(who),
            at,
        };
        let number = self.store.put_rule(row, Some(audit)).await?;
        self.forget_rules();
        Ok(CommandReply::Rule { number })
    }

    pub(super) async fn remove_rule(
        &self,
        who: &Principal,
        number: i64,
    ) -> Result<CommandReply, Error> {
        let (_, rules) = self.store.rules().await?;
        let rule = rules.into_iter().find(|rule| rule.number == number);
        // One that this principal may not see is not there.
        if let Some(rule) = &rule
            && !is_visible_rule(&*self.store, who, &rule.scope).await?
        {
            return Ok(CommandReply::Done);
        }
        let subject = rule.map_or_else(|| number.to_string(), |rule| rule.rule);
        let audit =
            AuditEntry::done(who, self.now(), "rule.remove", subject).with("number", number);
        let was_there = self.store.remove_rule(number, Some(audit)).await?;
        self.forget_rules();
        if was_there {
            Ok(CommandReply::Rule { number })
        } else {
            Ok(CommandReply::Done)
        }
    }

    /// Agents of this process read the rules again before their next call.
    fn forget_rules(&self) {
        if let Some(agents) = &self.agents {
            agents.context.caches.saved_rules.forget();
        }
    }
}
