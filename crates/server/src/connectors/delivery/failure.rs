//! Retry policy of delivery: after a failed attempt, exponential backoff, giving up (dead letter), or unknown. Pure.

use std::time::Duration;

use rooftree_connectors::{FailureClass, Health, SendError};
use rooftree_protocol::Timestamp;
use rooftree_store::{OutboxFailure, OutboxRow, OutboxState};

use crate::connectors::UnknownDeliveryPolicy;

/// Attempts that may fail before a message is given up.
const ATTEMPTS: u32 = 5;

/// How long a message is tried.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// The longest time between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long to wait if a platform says "too many requests" and not for how long.
const RATE_LIMIT_WAIT: Duration = Duration::from_secs(5);

/// An attempt that failed.
pub(super) struct FailedAttempt<'a> {
    pub(super) row: &'a OutboxRow,
    pub(super) part: u32,
    pub(super) error: &'a SendError,
    pub(super) health: &'a Health,
    pub(super) now: Timestamp,
}

impl FailedAttempt<'_> {
    /// What follows.
    pub(super) fn failure(&self, unknown: UnknownDeliveryPolicy) -> OutboxFailure {
        let is_late = self.now.since(self.row.due_since) >= PATIENCE;
        let class = self.error.class;
        match class {
            FailureClass::RateLimit if !is_late => {
                let wait = self.error.retry_after.unwrap_or(RATE_LIMIT_WAIT);
                self.retried(wait, false)
            }
            // A platform that cannot be reached refuses no message in particular: only time limits that.
            FailureClass::Transient if self.is_outage() && !is_late => {
                let waited = self.now.since(self.row.due_since);
                self.retried(waited.clamp(Duration::from_secs(1), LONGEST_WAIT), false)
            }
            FailureClass::Transient if !self.is_last() && !is_late => {
                self.retried(self.backoff(), true)
            }
            FailureClass::Unknown => self.unknown(unknown, is_late),
            _ => self.closed(OutboxState::Dead),
        }
    }

    fn is_last(&self) -> bool {
        self.row.attempts + 1 >= ATTEMPTS
    }

    fn is_outage(&self) -> bool {
        matches!(self.health, Health::Degraded { .. } | Health::Connecting)
    }

    /// 1, 2, 4, 8, 16 seconds …, or what the platform wants.
    fn backoff(&self) -> Duration {
        let doubled = Duration::from_secs(1 << self.row.attempts.min(10));
        self.error.retry_after.unwrap_or(doubled.min(LONGEST_WAIT))
    }

    fn unknown(&self, policy: UnknownDeliveryPolicy, is_late: bool) -> OutboxFailure {
        let failure = match policy {
            UnknownDeliveryPolicy::Resend if !self.is_last() && !is_late => {
                self.retried(self.backoff(), true)
            }
            UnknownDeliveryPolicy::Resend | UnknownDeliveryPolicy::GiveUp => {
                self.closed(OutboxState::Dead)
            }
            UnknownDeliveryPolicy::Ask => self.closed(OutboxState::Unknown),
        };
        OutboxFailure {
            is_unknown: true,
            ..failure
        }
    }

    fn retried(&self, wait: Duration, counts: bool) -> OutboxFailure {
        OutboxFailure {
            counts,
            not_before: self.now.after(wait),
            ..self.closed(OutboxState::Failed)
        }
    }

    /// The failure with a state that ends the attempts.
    fn closed(&self, state: OutboxState) -> OutboxFailure {
        OutboxFailure {
            id: self.row.post.id.clone(),
            part: self.part,
            state,
            is_unknown: false,
            counts: true,
            not_before: self.now,
            class: class_name(self.error.class).to_owned(),
            error: self.error.message.clone(),
            at: self.now,
        }
    }
}

fn class_name(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Transient => "transient",
        FailureClass::RateLimit => "rate_limit",
        FailureClass::Auth => "auth",
        FailureClass::Permission => "permission",
        FailureClass::NotFound => "not_found",
        FailureClass::InvalidPayload => "invalid_payload",
        FailureClass::Conflict => "conflict",
        FailureClass::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Account;
    use rooftree_store::{OutboxBody, OutboxKind, OutboxPost};

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn row(attempts: u32) -> OutboxRow {
        OutboxRow {
            number: 1,
            post: OutboxPost {
                id: "out_1".into(),
                key: "k".into(),
                account: Account::default(),
                session: None,
                run: None,
                kind: OutboxKind::Final,
                target: "telegram:1".parse().unwrap(),
                body: OutboxBody::Text { text: "t".into() },
                at: NOW,
            },
            ordinal: 1,
            state: OutboxState::Sending,
            attempts,
            not_before: Timestamp(0),
            class: None,
            error: None,
            due_since: NOW,
            closed_at: None,
            parts: Vec::new(),
        }
    }

    fn after(class: FailureClass, attempts: u32, waited: u64) -> (OutboxState, u64, bool) {
        judged((class, None), attempts, waited, &Health::Up)
    }

    /// The state, the seconds to wait, and whether it counts as an attempt.
    fn judged(
        (class, retry_after): (FailureClass, Option<u64>),
        attempts: u32,
        waited: u64,
        health: &Health,
    ) -> (OutboxState, u64, bool) {
        let mut error = SendError::new(class, "words");
        error.retry_after = retry_after.map(Duration::from_secs);
        let now = NOW.after(Duration::from_secs(waited));
        let attempt = FailedAttempt {
            row: &row(attempts),
            part: 0,
            error: &error,
            health,
            now,
        };
        let failure = attempt.failure(UnknownDeliveryPolicy::Resend);
        let wait = failure.not_before.since(now).as_secs();
        (failure.state, wait, failure.counts)
    }

    #[test]
    fn attempts_are_five_with_doubled_waits() {
        let waits: Vec<_> = (0..5)
            .map(|n| after(FailureClass::Transient, n, 1))
            .collect();
        let failed = |wait| (OutboxState::Failed, wait, true);
        let dead = (OutboxState::Dead, 0, true);
        assert_eq!(waits, [failed(1), failed(2), failed(4), failed(8), dead]);
    }

    #[test]
    fn what_cannot_succeed_is_given_up_at_once() {
        for class in [
            FailureClass::Auth,
            FailureClass::Permission,
            FailureClass::NotFound,
            FailureClass::InvalidPayload,
            FailureClass::Conflict,
        ] {
            assert_eq!(after(class, 0, 1).0, OutboxState::Dead, "{class:?}");
        }
    }

    #[test]
    fn too_many_requests_is_no_attempt_and_waits_as_long_as_the_platform_says() {
        let limited = (FailureClass::RateLimit, Some(42));
        let judged_late = judged(limited, 4, 60, &Health::Up);
        assert_eq!(judged_late, (OutboxState::Failed, 42, false));
        assert_eq!(judged(limited, 4, 90_000, &Health::Up).0, OutboxState::Dead);
    }

    #[test]
    fn an_outage_is_waited_out_for_a_day() {
        let health = Health::Degraded {
            reason: "no network".into(),
        };
        let down = (FailureClass::Transient, None);
        for (waited, wait) in [(0, 1), (30, 30), (7_200, 600)] {
            let judged = judged(down, 4, waited, &health);
            assert_eq!(judged, (OutboxState::Failed, wait, false));
        }
        assert_eq!(judged(down, 0, 86_400, &health).0, OutboxState::Dead);
    }
}
