//! Rate limits of Telegram, kept before it has to refuse: a second between messages of a chat and between its edits,
//! 20 a minute in a group, 30 a second in all; and silence in a chat after a refusal (429) for as long as it asked.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

const APART: Duration = Duration::from_secs(1);
const GROUP_WINDOW: Duration = Duration::from_secs(60);
const GROUP_MOST: usize = 20;
/// 30 a second.
const ALL_APART: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacedRequest {
    Message,
    Edit,
}

/// When the next request may be sent.
#[derive(Debug, Default)]
pub(super) struct SendPacer {
    chats: HashMap<String, ChatPace>,
    free: Option<Instant>,
}

#[derive(Debug, Default)]
struct ChatPace {
    message: Option<Instant>,
    edit: Option<Instant>,
    held: Option<Instant>,
    /// The last requests to a group, oldest first.
    recent: VecDeque<Instant>,
}

impl SendPacer {
    /// How long a request to this chat has to wait for the chat; its time is taken.
    pub(super) fn wait_for_chat(
        &mut self,
        chat: &str,
        request: PacedRequest,
        now: Instant,
    ) -> Duration {
        self.chats.retain(|_, pace| !pace.is_idle(now));
        let pace = self.chats.entry(chat.to_owned()).or_default();
        let is_group = chat.starts_with(['-', '@']);
        let at = pace.take(request, is_group, now);
        at.saturating_duration_since(now)
    }

    /// How long it has to wait for all chats together, once its chat is free.
    pub(super) fn wait_for_all(&mut self, now: Instant) -> Duration {
        let at = self.free.unwrap_or(now).max(now);
        self.free = Some(at + ALL_APART);
        at.saturating_duration_since(now)
    }

    /// Notes that Telegram wants to be left alone in this chat.
    pub(super) fn hold(&mut self, chat: &str, until: Instant) {
        let pace = self.chats.entry(chat.to_owned()).or_default();
        pace.held = pace.held.max(Some(until));
    }
}

impl ChatPace {
    fn take(&mut self, request: PacedRequest, is_group: bool, now: Instant) -> Instant {
        let next = match request {
            PacedRequest::Message => &mut self.message,
            PacedRequest::Edit => &mut self.edit,
        };
        let mut at = [*next, self.held]
            .into_iter()
            .flatten()
            .fold(now, Instant::max);
        if is_group {
            if self.recent.len() == GROUP_MOST
                && let Some(oldest) = self.recent.pop_front()
            {
                at = at.max(oldest + GROUP_WINDOW);
            }
            let after = self.recent.partition_point(|other| *other <= at);
            self.recent.insert(after, at);
        }
        *next = Some(at + APART);
        at
    }

    fn is_idle(&self, now: Instant) -> bool {
        let last = self.recent.back().map(|last| *last + GROUP_WINDOW);
        let times = [self.message, self.edit, self.held, last];
        times.into_iter().flatten().all(|time| time <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PacedRequest::{Edit, Message};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn requests_in_one_chat_are_a_second_apart_and_do_not_delay_other_chats() {
        let mut pacer = SendPacer::default();
        let now = Instant::now();
        for request in [Message, Edit] {
            for seconds in 0..3 {
                assert_eq!(pacer.wait_for_chat("1", request, now), SECOND * seconds);
            }
        }
        assert_eq!(pacer.wait_for_chat("2", Message, now), Duration::ZERO);
        let later = now + Duration::from_secs(9);
        assert_eq!(pacer.wait_for_chat("1", Message, later), Duration::ZERO);
        assert_eq!(pacer.chats.len(), 1, "chats at rest are forgotten");
    }

    #[test]
    fn in_no_minute_more_than_twenty_requests_go_to_a_group() {
        let mut pacer = SendPacer::default();
        let start = Instant::now();
        let mut at: Vec<Duration> = (0..65)
            .map(|_| pacer.wait_for_chat("-100", Message, start))
            .collect();
        at.sort();
        for (first, last) in at.iter().zip(at.iter().skip(20)) {
            assert!(*last - *first >= GROUP_WINDOW, "{first:?} {last:?}");
        }
        assert_eq!(at.last(), Some(&Duration::from_secs(184)));
    }

    #[test]
    fn thirty_requests_a_second_go_out_in_all() {
        let mut pacer = SendPacer::default();
        let now = Instant::now();
        let waits: Vec<Duration> = (0..91).map(|_| pacer.wait_for_all(now)).collect();
        let within = waits.iter().filter(|wait| **wait < SECOND);
        assert!(within.count() <= 31, "{waits:?}");
        assert!(
            waits
                .last()
                .is_some_and(|last| *last > Duration::from_millis(2_990))
        );
    }

    #[test]
    fn a_chat_is_left_alone_for_as_long_as_telegram_asked() {
        let mut pacer = SendPacer::default();
        let now = Instant::now();
        pacer.hold("1", now + SECOND * 9);
        pacer.hold("1", now + SECOND * 2);
        assert_eq!(pacer.wait_for_chat("1", Edit, now), SECOND * 9);
        assert_eq!(pacer.wait_for_chat("2", Edit, now), Duration::ZERO);
    }
}
