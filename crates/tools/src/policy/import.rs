//! Imports permission rules of other programs into our normal form, with a remark for each that cannot be imported.
//!
//! Pure: text in, rules out. An import never allows more than the other program did; where it has to allow less, a
//! remark says so.

mod claude;
mod opencode;

use rooftree_protocol::{ErrorCode, PermissionMode, Problem};
use serde_json::Value;

use super::PermissionRule;
use rooftree_shell::{CommandClass, ShellEffects, classify, innermost};

pub use claude::claude;
pub use opencode::opencode;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedRules {
    /// The mode, if one was named that we have.
    pub mode: Option<PermissionMode>,
    /// Rules that allow.
    pub allow: Vec<PermissionRule>,
    /// Rules that ask the user.
    pub ask: Vec<PermissionRule>,
    /// Rules that refuse.
    pub deny: Vec<PermissionRule>,
    /// Directories beside the working directory.
    pub directories: Vec<String>,
    /// Remarks on rules that were not imported, or only in part, and why.
    pub remarks: Vec<String>,
}

/// Verdict of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleAction {
    Allow,
    Ask,
    Deny,
}

impl ImportedRules {
    fn remark(&mut self, what: &str, why: &str) {
        self.remarks.push(format!("`{what}`: {why}"));
    }

    fn add(&mut self, rule: PermissionRule, used: RuleAction) {
        if let Some(why) = powerless(&rule).filter(|_| used == RuleAction::Allow) {
            self.remark(&rule.to_string(), why);
        }
        let rules = match used {
            RuleAction::Allow => &mut self.allow,
            RuleAction::Ask => &mut self.ask,
            RuleAction::Deny => &mut self.deny,
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
}

/// Why a rule that allows will not do what it seems to.
fn powerless(rule: &PermissionRule) -> Option<&'static str> {
    let spec = rule.subject.as_deref()?;
    if rule.tool == "Bash" {
        let start = spec
            .strip_suffix(" *")
            .or_else(|| spec.strip_suffix(":*"))?;
        let deeds = ShellEffects::of(start).ok().filter(|_| start != "git")?;
        let runs = deeds
            .calls
            .iter()
            .any(|call| matches!(classify(&innermost(call)), CommandClass::Runs(_)));
        return runs.then_some(
            "its program can run anything, so only a rule that spells a whole command allows it",
        );
    }
    spec.starts_with('~')
        .then_some("whose home is meant is not known, so it does not allow; write the whole path")
}

/// The object under a name, in a file that may have nothing there.
fn section(text: &str, name: &str) -> Result<Option<serde_json::Map<String, Value>>, Problem> {
    let malformed = |why: String| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("these settings cannot be read: {why}"),
        )
        .fix("they must be a JSON object without comments")
    };
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
    match value {
        Value::Object(mut settings) => match settings.remove(name) {
            None => Ok(None),
            Some(Value::Object(section)) => Ok(Some(section)),
            Some(_) => Err(malformed(format!("`{name}` is not an object"))),
        },
        _ => Err(malformed("they are not an object".to_owned())),
    }
}
