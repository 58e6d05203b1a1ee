//! Tables of the error codes and phrases of vendors.

/// The request does not fit the context window.
pub(super) const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "context_exceeded",
    "request_too_large",
    "1261", // Z.ai
    "3051", // Mistral
];
/// No credit left; waiting does not help.
pub(super) const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "1113", // Z.ai
];
/// The key is invalid or lacks a permission.
pub(super) const BAD_KEY: &[&str] = &[
    "invalid_api_key",
    "authentication_error",
    "invalid_authentication_error",
    "permission_denied",
];
/// The vendor is overloaded.
pub(super) const OVERLOADED: &[&str] = &[
    "overloaded",
    "overloaded_error",
    "server_overloaded",
    "server_is_overloaded",
    "engine_overloaded_error",
    "slow_down",
    "capacity_exceeded",
    "insufficient_system_resource",
];
/// Rate limit exceeded.
pub(super) const SLOW_DOWN: &[&str] = &[
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_reached_error",
    "tokens",
    "requests",
];
/// Blocked by a content filter.
pub(super) const FILTERED: &[&str] = &[
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
    "moderation",
    "cyber_policy",
    "data_inspection_failed",
];
/// A failure of the vendor.
pub(super) const BROKEN: &[&str] = &[
    "server_error",
    "internal_error",
    "internal_server_error",
    "timeout",
];

/// Phrases that name the context window, in lower case.
const WINDOW: &[&str] = &[
    "maximum context length",
    "maximum prompt length",
    "exceeds the context window",
    "exceeds the available context size",
    "exceeded model token limit",
    "prompt is too long",
    "prompt exceeds max length",
    "greater than the context length",
];

/// The phrase about the context window in a message.
pub(super) fn window_phrase(message: &str) -> Option<&'static str> {
    let message = message.to_lowercase();
    WINDOW
        .iter()
        .find(|phrase| message.contains(**phrase))
        .copied()
}

/// The context window that a message names.
pub(super) fn window_in(message: &str) -> Option<u64> {
    number_after(&message.to_lowercase(), window_phrase(message)?)
}

/// The first number after a phrase.
pub(super) fn number_after(text: &str, phrase: &str) -> Option<u64> {
    let (_, rest) = text.split_once(phrase)?;
    let digits: String = rest
        .chars()
        .skip_while(|letter| !letter.is_ascii_digit())
        .take_while(|letter| letter.is_ascii_digit() || *letter == ',')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}
