//! The fields of a definition, under every name they have in the files people bring.

use super::names::nearest;

/// What a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Name,
    DisplayName,
    Description,
    Prompt,
    Model,
    Provider,
    Effort,
    Tools,
    DeniedTools,
    Capabilities,
    DeniedCapabilities,
    Agents,
    DeniedAgents,
    AllowedSkills,
    DeniedSkills,
    Skills,
    Rules,
    Verifiers,
    McpServers,
    Hooks,
    Examples,
    MaxTurns,
    PermissionMode,
    /// Rules of opencode, per tool.
    Permission,
    Sandbox,
    Network,
    Background,
    Isolation,
    Memory,
    InitialPrompt,
    Exposure,
    UseAs,
    Hidden,
    Visible,
    ApiExposed,
    Strict,
    Color,
    Icon,
    Limits,
    Extends,
    Kind,
    Chat,
    External,
    Disabled,
    /// Our own fields in a file that other programs read too.
    Own,
    /// Understood, and without effect so far.
    NotYet,
    /// For people and other programs; nothing to do about it.
    Remark,
}

/// Names are compared without case, `_` and `-`. The first one is ours.
const FIELDS: &[(Field, &[&str])] = &[
    (Field::Name, &["name", "agent_id"]),
    (Field::DisplayName, &["display_name", "title"]),
    (Field::Description, &["description", "when_to_use"]),
    (Field::Prompt, &["prompt", "system_prompt", "instructions", "developer_instructions"]),
    (Field::Model, &["model"]),
    (Field::Provider, &["provider"]),
    (Field::Effort, &["effort", "model_reasoning_effort", "thinking"]),
    (Field::Tools, &["tools", "tool_allowlist", "allowed_tools"]),
    (Field::DeniedTools, &["disallowed_tools", "tool_denylist", "denied_tools"]),
    (Field::Capabilities, &["capabilities", "capability_allowlist"]),
    (Field::DeniedCapabilities, &["denied_capabilities", "capability_denylist"]),
    (Field::Agents, &["agents", "agent_allowlist"]),
    (Field::DeniedAgents, &["denied_agents", "agent_denylist"]),
    (Field::AllowedSkills, &["allowed_skills", "skill_allowlist"]),
    (Field::DeniedSkills, &["denied_skills", "skill_denylist"]),
    (Field::Skills, &["skills"]),
    (Field::Rules, &["rules"]),
    (Field::Verifiers, &["verifiers"]),
    (Field::McpServers, &["mcp_servers"]),
    (Field::Examples, &["examples"]),
    (Field::MaxTurns, &["max_turns", "max_iterations", "steps"]),
    (Field::PermissionMode, &["permission_mode", "approval_mode"]),
    (Field::Permission, &["permission"]),
    (Field::Sandbox, &["sandbox"]),
    (Field::Network, &["network"]),
    (Field::Background, &["background"]),
    (Field::Isolation, &["isolation"]),
    (Field::Memory, &["memory"]),
    (Field::InitialPrompt, &["initial_prompt"]),
    (Field::Exposure, &["exposure", "tool_exposure"]),
    (Field::UseAs, &["use_as", "mode"]),
    (Field::Hidden, &["hidden"]),
    (Field::Visible, &["ui_visible"]),
    (Field::ApiExposed, &["api_exposed"]),
    (Field::Strict, &["strict"]),
    (Field::Color, &["color", "colour"]),
    (Field::Icon, &["icon"]),
    (Field::Limits, &["limits"]),
    (Field::Extends, &["extends"]),
    (Field::Kind, &["type", "kind"]),
    (Field::Chat, &["chat"]),
    (Field::External, &["external"]),
    (Field::Disabled, &["disabled", "disable"]),
    (Field::Own, &["x-rooftree"]),
    (Field::Hooks, &["hooks"]),
    (Field::NotYet, &["temperature"]),
    (Field::NotYet, &["top_p"]),
    (Field::NotYet, &["max_tokens"]),
    (Field::NotYet, &["max_context_tokens"]),
    (Field::NotYet, &["base_url"]),
    (Field::NotYet, &["sub_agents", "subagents"]),
    (Field::NotYet, &["timeout_mins"]),
    (Field::NotYet, &["output_schema"]),
    (Field::Remark, &["version"]),
    (Field::Remark, &["author"]),
    (Field::Remark, &["license"]),
    (Field::Remark, &["metadata"]),
    (Field::Remark, &["tags"]),
    (Field::Remark, &["nickname_candidates"]),
    (Field::Remark, &["argument_hint"]),
];

/// Which field a key means.
pub(super) fn field(key: &str) -> Option<Field> {
    let is_meant = |(_, names): &&(Field, &[&str])| names.iter().any(|name| plain(name).eq(plain(key)));
    FIELDS.iter().find(is_meant).map(|(field, _)| *field)
}

/// The field somebody probably meant, under our name for it.
pub(super) fn likely(key: &str) -> Option<&'static str> {
    nearest(key, FIELDS.iter().flat_map(|(_, names)| names.iter().copied()))
}

fn plain(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|letter| !matches!(letter, b'_' | b'-')).map(|letter| letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_known_in_every_manner_of_writing() {
        for (key, wanted) in [
            ("disallowedTools", Field::DeniedTools),
            ("toolDenylist", Field::DeniedTools),
            ("agentId", Field::Name),
            ("max-turns", Field::MaxTurns),
            ("mcpServers", Field::McpServers),
            ("systemPrompt", Field::Prompt),
            ("hooks", Field::Hooks),
        ] {
            assert_eq!(field(key), Some(wanted), "{key}");
        }
        assert_eq!((field("tolls"), likely("tolls")), (None, Some("tools")));
        assert_eq!(likely("weather"), None);
    }
}
