//! Spaces edits of messages at least one second apart in each chat, which is what Telegram's rate limit allows.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

const APART: Duration = Duration::from_secs(1);

/// When the next edit in a chat may be sent.
#[derive(Debug, Default)]
pub(super) struct EditPacer(HashMap<String, Instant>);

impl EditPacer {
    /// How long an edit in this chat has to wait; the time behind it is taken.
    pub(super) fn wait(&mut self, chat: &str, now: Instant) -> Duration {
        self.0.retain(|_, free| *free > now);
        let at = self.0.get(chat).copied().unwrap_or(now);
        self.0.insert(chat.to_owned(), at + APART);
        at.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_in_one_chat_are_a_second_apart_and_do_not_delay_other_chats() {
        let mut pacer = EditPacer::default();
        let now = Instant::now();
        assert_eq!(pacer.wait("1", now), Duration::ZERO);
        assert_eq!(pacer.wait("1", now), Duration::from_secs(1));
        assert_eq!(pacer.wait("1", now), Duration::from_secs(2));
        assert_eq!(pacer.wait("2", now), Duration::ZERO);
        let later = now + Duration::from_secs(9);
        assert_eq!(pacer.wait("1", later), Duration::ZERO);
        assert_eq!(pacer.0.len(), 1, "chats at rest are forgotten");
    }
}
