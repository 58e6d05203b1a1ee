//! Names of connector settings: a misspelt one is refused with the nearest name, and so is a value without an effect.

use rooftree_connectors::WebhookTemplate;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::edit_distance::nearest;
use serde_json::{Map, Value};

use super::chat_settings::ChatSettings;

/// Letters by which a misspelt name may differ from the one that is meant.
const SLIPS: usize = 3;

/// What a setting may be.
#[derive(Clone, Copy)]
enum SettingKind {
    /// What [`ChatSettings`] and the client of the platform check themselves.
    Checked,
    /// A text that is not empty.
    Text,
    /// A text with fields of the request in it.
    Template,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Platforms on which a setting has an effect.
type Platforms = &'static [&'static str];

const ALL: Platforms = &["telegram", "discord", "webhook", "external"];
const CHATS: Platforms = &["telegram", "discord", "external"];
const SENT_TO: Platforms = &["webhook", "external"];

/// Every setting there is. Invariant: each has an effect on each of its platforms.
const SETTINGS: &[(&str, Platforms, SettingKind)] = &[
    ("cwd", ALL, SettingKind::Checked),
    ("mode", ALL, SettingKind::Checked),
    ("debounce_ms", ALL, SettingKind::Checked),
    (
        "unknown_delivery",
        ALL,
        SettingKind::Word(&["resend", "ask", "give_up"]),
    ),
    ("groups", CHATS, SettingKind::Checked),
    ("per_user", CHATS, SettingKind::Checked),
    ("base_url", &["telegram", "discord"], SettingKind::Text),
    ("webhook_url", &["telegram"], SettingKind::Text),
    ("unpaced", &["telegram"], SettingKind::Switch),
    ("text", &["webhook"], SettingKind::Template),
    ("agent_from", &["webhook"], SettingKind::Template),
    ("session_from", &["webhook"], SettingKind::Template),
    ("sender_from", &["webhook"], SettingKind::Template),
    ("key_from", &["webhook"], SettingKind::Template),
    (
        "signature",
        &["webhook"],
        SettingKind::Word(&["timestamped", "body_only"]),
    ),
    ("deduplicating", &["webhook"], SettingKind::Switch),
    ("url", SENT_TO, SettingKind::Text),
    ("private_addresses", SENT_TO, SettingKind::Switch),
    ("capabilities", &["external"], SettingKind::Checked),
];

/// Refuses settings that would have no effect on this platform.
pub fn check_settings(platform: &str, settings: &Map<String, Value>) -> Result<(), Problem> {
    for (name, value) in settings {
        let known = SETTINGS.iter().find(|(known, ..)| known == name);
        let Some((_, platforms, kind)) = known else {
            return Err(unknown(platform, name));
        };
        if !platforms.contains(&platform) {
            let words = format!("`{name}` is no setting of {platform}");
            let fix = format!("it is one of {}", platforms.join(", "));
            return Err(refused(words).fix(fix));
        }
        kind.check(value)
            .map_err(|why| refused(format!("the setting `{name}` cannot be read")).cause(why))?;
    }
    ChatSettings::read(settings)
        .map(drop)
        .map_err(|error| refused("a setting cannot be read".to_owned()).cause(error))
}

fn unknown(platform: &str, name: &str) -> Problem {
    let own = SETTINGS
        .iter()
        .filter(|(_, platforms, _)| platforms.contains(&platform));
    let own: Vec<&str> = own.map(|(name, ..)| *name).collect();
    let problem = refused(format!("there is no setting `{name}`"));
    match nearest(name, own.iter().copied(), SLIPS) {
        Some(meant) => problem.fix(format!("write `{meant}`, if you mean that")),
        None => problem.fix(format!("{platform} has these: {}", own.join(", "))),
    }
}

fn refused(words: String) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, words)
        .fix("nothing was changed; docs/connectors.md lists the settings")
}

impl SettingKind {
    fn check(self, value: &Value) -> Result<(), String> {
        match self {
            Self::Checked => Ok(()),
            Self::Text => text(value).map(drop),
            Self::Template => WebhookTemplate::parse(text(value)?)
                .map(drop)
                .map_err(|error| error.message),
            Self::Switch if value.is_boolean() => Ok(()),
            Self::Switch => Err(format!("{value} is neither true nor false")),
            Self::Word(words) if words.iter().any(|word| value == word) => Ok(()),
            Self::Word(words) => Err(format!("{value} is not one of {}", words.join(", "))),
        }
    }
}

fn text(value: &Value) -> Result<&str, String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("{value} is not a text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(platform: &str, settings: Value) -> Result<(), String> {
        let Value::Object(settings) = settings else {
            panic!("{settings}")
        };
        check_settings(platform, &settings).map_err(|problem| {
            format!(
                "{}: {} ({})",
                problem.message,
                problem.cause.unwrap_or_default(),
                problem.fix.unwrap_or_default()
            )
        })
    }

    #[test]
    fn a_setting_that_would_have_no_effect_is_refused_with_what_is_meant() {
        for (platform, settings, words) in [
            ("telegram", json!({"gruops": ["1"]}), "write `groups`"),
            (
                "webhook",
                json!({"sesion_from": "{{a}}"}),
                "write `session_from`",
            ),
            (
                "telegram",
                json!({"chanel": "x"}),
                "telegram has these: cwd, mode",
            ),
            (
                "webhook",
                json!({"groups": ["1"]}),
                "one of telegram, discord, external",
            ),
            ("telegram", json!({"session_from": "x"}), "one of webhook"),
            (
                "webhook",
                json!({"private_addresses": "yes"}),
                "neither true nor false",
            ),
            (
                "webhook",
                json!({"signature": "none"}),
                "not one of timestamped, body_only",
            ),
            (
                "telegram",
                json!({"unknown_delivery": "maybe"}),
                "resend, ask, give_up",
            ),
            ("telegram", json!({"base_url": ""}), "is not a text"),
            (
                "telegram",
                json!({"debounce_ms": "soon"}),
                "a setting cannot be read",
            ),
            (
                "webhook",
                json!({"text": "{{"}),
                "the setting `text` cannot be read",
            ),
        ] {
            let refused = check(platform, settings.clone()).unwrap_err();
            assert!(refused.contains(words), "{settings}: {refused}");
        }
        let good =
            json!({"groups": ["-1"], "unpaced": true, "unknown_delivery": "ask", "mode": "ask"});
        assert_eq!(check("telegram", good), Ok(()));
        let good = json!({"text": "{{a}}", "signature": "body_only", "url": "https://a.b/c"});
        assert_eq!(check("webhook", good), Ok(()));
    }
}
