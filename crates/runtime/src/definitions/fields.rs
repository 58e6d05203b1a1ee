//! Field names of definitions, with the aliases that other programs' files use.

use super::names::nearest;

/// The fields of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionField {
    Name,
    DisplayName,
    Description,
    Prompt,
    Model,
    Provider,
    Effort,
    /// Whose names for tools, defaults and units the agent knows.
    Dialect,
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
const FIELDS: &[(DefinitionField, &[&str])] = &[
    (DefinitionField::Name, &["name", "agent_id"]),
    (DefinitionField::DisplayName, &["display_name", "title"]),
    (
        DefinitionField::Description,
        &["description", "when_to_use"],
    ),
    (
        DefinitionField::Prompt,
        &[
            "prompt",
            "system_prompt",
            "instructions",
            "developer_instructions",
        ],
    ),
    (DefinitionField::Model, &["model"]),
    (DefinitionField::Provider, &["provider"]),
    (
        DefinitionField::Effort,
        &["effort", "model_reasoning_effort", "thinking"],
    ),
    (DefinitionField::Dialect, &["dialect"]),
    (
        DefinitionField::Tools,
        &["tools", "tool_allowlist", "allowed_tools"],
    ),
    (
        DefinitionField::DeniedTools,
        &["disallowed_tools", "tool_denylist", "denied_tools"],
    ),
    (
        DefinitionField::Capabilities,
        &["capabilities", "capability_allowlist"],
    ),
    (
        DefinitionField::DeniedCapabilities,
        &["denied_capabilities", "capability_denylist"],
    ),
    (DefinitionField::Agents, &["agents", "agent_allowlist"]),
    (
        DefinitionField::DeniedAgents,
        &["denied_agents", "agent_denylist"],
    ),
    (
        DefinitionField::AllowedSkills,
        &["allowed_skills", "skill_allowlist"],
    ),
    (
        DefinitionField::DeniedSkills,
        &["denied_skills", "skill_denylist"],
    ),
    (DefinitionField::Skills, &["skills"]),
    (DefinitionField::Rules, &["rules"]),
    (DefinitionField::Verifiers, &["verifiers"]),
    (DefinitionField::McpServers, &["mcp_servers"]),
    (DefinitionField::Examples, &["examples"]),
    (
        DefinitionField::MaxTurns,
        &["max_turns", "max_iterations", "steps"],
    ),
    (
        DefinitionField::PermissionMode,
        &["permission_mode", "approval_mode"],
    ),
    (DefinitionField::Permission, &["permission"]),
    (DefinitionField::Sandbox, &["sandbox"]),
    (DefinitionField::Network, &["network"]),
    (DefinitionField::Background, &["background"]),
    (DefinitionField::Isolation, &["isolation"]),
    (DefinitionField::Memory, &["memory"]),
    (DefinitionField::InitialPrompt, &["initial_prompt"]),
    (DefinitionField::Exposure, &["exposure", "tool_exposure"]),
    (DefinitionField::UseAs, &["use_as", "mode"]),
    (DefinitionField::Hidden, &["hidden"]),
    (DefinitionField::Visible, &["ui_visible"]),
    (DefinitionField::ApiExposed, &["api_exposed"]),
    (DefinitionField::Strict, &["strict"]),
    (DefinitionField::Color, &["color", "colour"]),
    (DefinitionField::Icon, &["icon"]),
    (DefinitionField::Limits, &["limits"]),
    (DefinitionField::Extends, &["extends"]),
    (DefinitionField::Kind, &["type", "kind"]),
    (DefinitionField::Chat, &["chat"]),
    (DefinitionField::External, &["external"]),
    (DefinitionField::Disabled, &["disabled", "disable"]),
    (DefinitionField::Own, &["x-rooftree"]),
    (DefinitionField::Hooks, &["hooks"]),
    (DefinitionField::NotYet, &["temperature"]),
    (DefinitionField::NotYet, &["top_p"]),
    (DefinitionField::NotYet, &["max_tokens"]),
    (DefinitionField::NotYet, &["max_context_tokens"]),
    (DefinitionField::NotYet, &["base_url"]),
    (DefinitionField::NotYet, &["sub_agents", "subagents"]),
    (DefinitionField::NotYet, &["timeout_mins"]),
    (DefinitionField::NotYet, &["output_schema"]),
    (DefinitionField::Remark, &["version"]),
    (DefinitionField::Remark, &["author"]),
    (DefinitionField::Remark, &["license"]),
    (DefinitionField::Remark, &["metadata"]),
    (DefinitionField::Remark, &["tags"]),
    (DefinitionField::Remark, &["nickname_candidates"]),
    (DefinitionField::Remark, &["argument_hint"]),
];

/// The field that a key names.
pub(super) fn field(key: &str) -> Option<DefinitionField> {
    let is_meant = |(_, names): &&(DefinitionField, &[&str])| {
        names.iter().any(|name| plain(name).eq(plain(key)))
    };
    FIELDS.iter().find(is_meant).map(|(field, _)| *field)
}

/// Suggests the field that was probably meant, under our name for it.
pub(super) fn likely(key: &str) -> Option<&'static str> {
    nearest(
        key,
        FIELDS.iter().flat_map(|(_, names)| names.iter().copied()),
    )
}

fn plain(name: &str) -> impl Iterator<Item = u8> {
    name.bytes()
        .filter(|letter| !matches!(letter, b'_' | b'-'))
        .map(|letter| letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_known_in_every_manner_of_writing() {
        for (key, wanted) in [
            ("disallowedTools", DefinitionField::DeniedTools),
            ("toolDenylist", DefinitionField::DeniedTools),
            ("agentId", DefinitionField::Name),
            ("max-turns", DefinitionField::MaxTurns),
            ("mcpServers", DefinitionField::McpServers),
            ("systemPrompt", DefinitionField::Prompt),
            ("hooks", DefinitionField::Hooks),
        ] {
            assert_eq!(field(key), Some(wanted), "{key}");
        }
        assert_eq!((field("tolls"), likely("tolls")), (None, Some("tools")));
        assert_eq!(likely("weather"), None);
    }
}
