//! Options of a Telegram bot: base URL, long poll or webhook, commands shown to people.

use std::time::Duration;

use crate::{FailureClass, SendError};

/// How one bot is connected. The token is given apart, because it is a secret.
#[derive(Clone, Debug)]
pub struct TelegramOptions {
    /// Where the Bot API is.
    pub base_url: String,
    /// How updates arrive.
    pub mode: TelegramMode,
    /// Commands that Telegram shows to people; none leaves those that are set.
    pub commands: Vec<BotCommand>,
    /// How long Telegram holds a poll open.
    pub poll: Duration,
    /// Whether sending keeps to Telegram's rate limits by itself. Off only against a server that has none.
    pub is_paced: bool,
}

impl Default for TelegramOptions {
    fn default() -> Self {
        Self {
            base_url: "https://api.telegram.org".to_owned(),
            mode: TelegramMode::Poll,
            commands: Vec::new(),
            poll: Duration::from_secs(50),
            is_paced: true,
        }
    }
}

/// How updates arrive.
#[derive(Clone, PartialEq, Eq)]
pub enum TelegramMode {
    /// By long poll; only one poller per bot.
    Poll,
    /// Telegram calls us.
    Webhook {
        /// The public https address.
        url: String,
        /// What Telegram sends in the header `X-Telegram-Bot-Api-Secret-Token`.
        secret: String,
    },
}

impl std::fmt::Debug for TelegramMode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Poll => formatter.write_str("Poll"),
            Self::Webhook { url, .. } => write!(formatter, "Webhook({url})"),
        }
    }
}

/// A command that Telegram shows to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotCommand {
    /// `new`, without the slash.
    pub name: String,
    pub description: String,
}

impl TelegramOptions {
    /// Says what Telegram would refuse, with the fix.
    pub(super) fn validate(&self) -> Result<(), SendError> {
        let refuse = |words: String| Err(SendError::new(FailureClass::InvalidPayload, words));
        if !self.base_url.starts_with("https://") && !self.base_url.starts_with("http://") {
            return refuse("the base URL of the Bot API must begin with https://".to_owned());
        }
        if let TelegramMode::Webhook { url, secret } = &self.mode {
            if !url.starts_with("https://") && !self.base_url.starts_with("http://") {
                return refuse("the address of the webhook must begin with https://".to_owned());
            }
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if !(16..=256).contains(&secret.len()) || !secret.bytes().all(is_letter) {
                return refuse(
                    "the webhook secret must have 16 to 256 of A-Z a-z 0-9 _ -".to_owned(),
                );
            }
        }
        if self.commands.len() > 100 {
            return refuse("Telegram takes at most 100 commands".to_owned());
        }
        let bad = self.commands.iter().find(|command| !command.is_valid());
        match bad {
            Some(command) => refuse(format!(
                "the command {:?} must have 1 to 32 of a-z 0-9 _ and a description of 1 to 256 characters",
                command.name
            )),
            None => Ok(()),
        }
    }
}

impl BotCommand {
    fn is_valid(&self) -> bool {
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        (1..=32).contains(&self.name.len())
            && self.name.bytes().all(is_letter)
            && (1..=256).contains(&self.description.chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_telegram_would_refuse_is_refused_before() {
        let with = |change: fn(&mut TelegramOptions)| {
            let mut options = TelegramOptions::default();
            change(&mut options);
            options.validate().is_ok()
        };
        assert!(with(|_| {}));
        assert!(!with(
            |options| options.base_url = "api.telegram.org".to_owned()
        ));
        assert!(!with(|options| options.mode = TelegramMode::Webhook {
            url: "https://a.example".to_owned(),
            secret: "short".to_owned()
        }));
        assert!(!with(|options| options.mode = TelegramMode::Webhook {
            url: "http://a.example".to_owned(),
            secret: "a-secret-of-a-hook".to_owned()
        }));
        assert!(!with(|options| options.commands = vec![BotCommand {
            name: "New".to_owned(),
            description: "x".to_owned()
        }]));
    }

    #[test]
    fn debug_output_has_no_secret() {
        let mode = TelegramMode::Webhook {
            url: "https://a.example".to_owned(),
            secret: "the-secret-of-the-hook".to_owned(),
        };
        assert!(!format!("{mode:?}").contains("the-secret-of"));
    }
}
