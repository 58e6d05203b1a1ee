//! Validates that permission rules name tools that exist.

use rooftree_protocol::Problem;
use rooftree_runtime::assembly::known_tools;
use rooftree_tools::{PermissionRule, mcp::PREFIX};

/// The same rules under the tools' own names, so that one written with another name of a tool holds too.
pub fn known(rules: Vec<PermissionRule>) -> Result<Vec<PermissionRule>, Problem> {
    if rules.is_empty() {
        return Ok(rules);
    }
    let tools = known_tools();
    let known = |rule: PermissionRule| match remote(&rule.tool) {
        Some(tool) => Ok(PermissionRule { tool, ..rule }),
        None => rule.resolved(&tools),
    };
    rules.into_iter().map(known).collect()
}

/// Which tools servers have is not known before they are asked; a server's name alone means all of them.
fn remote(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let rest = lower.strip_prefix(PREFIX)?;
    let is_whole = rest.contains("__") || rest.contains('*');
    Some(if is_whole {
        name.to_owned()
    } else {
        format!("{name}__*")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_may_name_every_tool_that_an_agent_can_have() {
        let table = [
            ("Task(explore)", "Task(explore)"),
            ("Agent(explore)", "Task(explore)"),
            ("Task(agents:12)", "Task(agents:12)"),
            ("Skill(deploy)", "Skill(deploy)"),
            ("MemoryWrite", "MemoryWrite"),
            ("ScheduleCreate", "ScheduleCreate"),
        ];
        for (written, meant) in table {
            let rules = known(vec![PermissionRule::parse(written).unwrap()]).unwrap();
            assert_eq!(
                rules.first().map(ToString::to_string).as_deref(),
                Some(meant)
            );
        }
        let unknown = known(vec![PermissionRule::parse("Bsh(ls)").unwrap()]).unwrap_err();
        let fix = unknown.fix.unwrap_or_default();
        assert!(fix.starts_with("did you mean `Bash`?"), "{fix}");
    }

    #[test]
    fn a_rule_for_a_server_is_one_for_all_its_tools() {
        let table = [
            ("mcp__git", "mcp__git__*"),
            ("mcp__git__push", "mcp__git__push"),
            ("mcp__*", "mcp__*"),
        ];
        for (written, meant) in table {
            let rules = known(vec![PermissionRule::parse(written).unwrap()]).unwrap();
            assert_eq!(
                rules.first().map(ToString::to_string).as_deref(),
                Some(meant)
            );
        }
        assert!(known(vec![PermissionRule::parse("mcp_git").unwrap()]).is_err());
    }
}
