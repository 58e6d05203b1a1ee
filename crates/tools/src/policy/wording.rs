//! Wording of modes and effects in the reasons of verdicts.

use rooftree_protocol::{Effect, PermissionMode};

pub(super) fn words_for(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "only looks",
        Effect::LocalMutation => "changes files",
        Effect::Destructive => "may run or destroy anything",
        Effect::RemoteAction => "acts on something elsewhere",
    }
}

pub(super) fn name_of(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
        PermissionMode::AcceptEdits => "accept-edits",
        PermissionMode::Auto => "auto",
        PermissionMode::Bypass => "bypass",
    }
}

/// The mode with the least trust that would not ask.
pub(super) fn weakest_mode_for(effect: Effect) -> PermissionMode {
    let modes = [
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
    ];
    modes
        .into_iter()
        .find(|mode| mode.permits(effect))
        .unwrap_or(PermissionMode::Bypass)
}
