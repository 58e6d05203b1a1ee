//! How long to wait for a model, how often to ask again, and when to turn to another one.

use std::{collections::VecDeque, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{EventBody, event::WaitReason};
use rooftree_providers::{Error as ProviderError, Model};

use super::{Agent, limits::End};
use crate::{Error, governor::Pass, world::World};

/// All the waiting for one answer that a rate limit may cost.
const LIMITED_FOR: Duration = Duration::from_secs(30 * 60);
/// Failures of one model before the next one is asked, if there is a next one.
const BEFORE_FALLBACK: u32 = 2;

/// What follows a failure.
pub(super) enum Then {
    Wait(Duration),
    TurnTo(Model),
    GiveUp,
}

/// What was tried for one answer.
pub(super) struct Patience {
    model: Model,
    others: VecDeque<Model>,
    /// Failures of this model, rate limits not counted.
    failures: u32,
    /// Failures of this model, rate limits counted.
    tries: u32,
    /// Failures of all models.
    attempt: u32,
    limited: Duration,
}

impl Patience {
    pub(super) fn new(model: Model, world: &World) -> Self {
        let others = world.options.fallbacks.iter().filter(|choice| **choice != model.choice);
        let others = others.filter_map(|choice| world.options.catalog.open(choice).ok()).collect();
        Self { model, others, failures: 0, tries: 0, attempt: 0, limited: Duration::ZERO }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Decides, and counts.
    pub(super) fn after(&mut self, error: &ProviderError, retries: u32, entropy: u128) -> Then {
        if !error.is_retryable() {
            return Then::GiveUp;
        }
        self.attempt += 1;
        self.tries += 1;
        let pause = error.retry_after().unwrap_or_else(|| back_off(self.tries - 1, entropy));
        let is_limit = matches!(error, ProviderError::RateLimited { .. });
        if is_limit {
            self.limited += pause;
        } else {
            self.failures += 1;
        }
        if self.tries >= BEFORE_FALLBACK
            && let Some(other) = self.others.pop_front()
        {
            (self.failures, self.tries, self.limited) = (0, 0, Duration::ZERO);
            self.model = other.clone();
            return Then::TurnTo(other);
        }
        if self.failures > retries || self.limited > LIMITED_FOR { Then::GiveUp } else { Then::Wait(pause) }
    }
}

/// Waits at the model's gate.
pub(super) async fn admit(agent: &mut Agent, model: &Model) -> Result<Result<Pass, End>, Error> {
    let (world, name) = (agent.world.clone(), format!("{}/{}", model.choice.provider, model.choice.model));
    let mut admitted =
        Box::pin(async move { world.governor.admit(&name, world.options.clock.as_ref()).await });
    loop {
        let came = tokio::select! {
            biased;
            pass = &mut admitted => return Ok(Ok(pass)),
            came = agent.interruption() => came,
        };
        if let Some(end) = agent.heed(came)? {
            return Ok(Err(end));
        }
    }
}

/// Waits so long, visibly.
pub(super) async fn wait(
    agent: &mut Agent,
    error: &ProviderError,
    pause: Duration,
) -> Result<Option<End>, Error> {
    let reason = match error {
        ProviderError::RateLimited { .. } => WaitReason::RateLimit,
        _ => WaitReason::Retry,
    };
    let until = Some(agent.world.now().after(pause));
    let detail = format!("{error}; asking again in {:.1} s", pause.as_secs_f64());
    let over = agent.world.options.clock.sleep(pause);
    agent.note(EventBody::RunWaiting { reason, until, detail, told: None });
    sit_out(agent, over, reason).await
}

async fn sit_out(
    agent: &mut Agent,
    mut over: BoxFuture<'static, ()>,
    reason: WaitReason,
) -> Result<Option<End>, Error> {
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            () = &mut over => break,
        };
        if let Some(end) = agent.heed(came)? {
            return Ok(Some(end));
        }
    }
    agent.note(EventBody::RunResumed { reason });
    Ok(None)
}

/// Goes on with a wait that a restart cut short.
pub(super) async fn wait_on(agent: &mut Agent) -> Result<Option<End>, Error> {
    let Some(until) = agent.history.run().and_then(|run| run.waiting_until) else { return Ok(None) };
    let over = agent.world.options.clock.sleep(until.since(agent.world.now()));
    sit_out(agent, over, WaitReason::Retry).await
}

/// 2, 4, 8, 16, 32 seconds, and up to a quarter more so that many do not come back at once.
fn back_off(attempt: u32, entropy: u128) -> Duration {
    let base = Duration::from_secs(2_u64.saturating_pow(attempt.min(4) + 1));
    base + base.mul_f64((entropy % 1000) as f64 / 4000.0)
}
