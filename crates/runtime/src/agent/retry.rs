//! Retries of model requests: timeout, backoff, and fallback to another model.

use std::{collections::VecDeque, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{EventBody, event::WaitReason};
use rooftree_providers::{Error as ProviderError, Model};

use super::{AgentActor, limits::RunEndReason};
use crate::{Error, rate_limiter::RequestPermit, runtime_context::RuntimeContext};

/// All the waiting for one answer that a rate limit may cost.
const LIMITED_FOR: Duration = Duration::from_secs(30 * 60);
/// Failures of one model before the next one is asked, if there is a next one.
const BEFORE_FALLBACK: u32 = 2;

/// What to do after a failed attempt: retry, fall back, or give up.
pub(super) enum RetryDecision {
    Wait(Duration),
    TurnTo(Model),
    GiveUp,
}

/// State of the retries of one model request.
pub(super) struct RetryState {
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

impl RetryState {
    pub(super) fn new(model: Model, context: &RuntimeContext) -> Self {
        let others = context
            .options
            .models
            .fallbacks
            .iter()
            .filter(|choice| **choice != model.choice);
        let others = others
            .filter_map(|choice| context.options.models.catalog.open(choice).ok())
            .collect();
        Self {
            model,
            others,
            failures: 0,
            tries: 0,
            attempt: 0,
            limited: Duration::ZERO,
        }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// Has the server of the model that is asked from now on tell what is not known about it.
    pub(super) async fn prepare_model(&mut self, context: &RuntimeContext) {
        let catalog = &context.options.models.catalog;
        catalog.prepare(&self.model.choice).await;
        if let Ok(model) = catalog.open(&self.model.choice) {
            self.model = model;
        }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Decides, and counts.
    pub(super) fn after(
        &mut self,
        error: &ProviderError,
        retries: u32,
        entropy: u128,
    ) -> RetryDecision {
        if !error.is_retryable() {
            return RetryDecision::GiveUp;
        }
        self.attempt += 1;
        self.tries += 1;
        let pause = error
            .retry_after()
            .unwrap_or_else(|| back_off(self.tries - 1, entropy));
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
            return RetryDecision::TurnTo(other);
        }
        if self.failures > retries || self.limited > LIMITED_FOR {
            RetryDecision::GiveUp
        } else {
            RetryDecision::Wait(pause)
        }
    }
}

/// Waits for a permit of the model's rate limiter.
pub(super) async fn acquire_permit(
    agent: &mut AgentActor,
    model: &Model,
) -> Result<Result<RequestPermit, RunEndReason>, Error> {
    let (context, name) = (
        agent.context.clone(),
        format!("{}/{}", model.choice.provider, model.choice.model),
    );
    let mut admitted = Box::pin(async move {
        context
            .rate_limiter
            .admit(&name, context.options.clock.as_ref())
            .await
    });
    loop {
        let came = tokio::select! {
            biased;
            pass = &mut admitted => return Ok(Ok(pass)),
            came = agent.interruption() => came,
        };
        if let Some(end) = agent.apply_interruption(came)? {
            return Ok(Err(end));
        }
    }
}

/// Waits so long, visibly.
pub(super) async fn wait(
    agent: &mut AgentActor,
    error: &ProviderError,
    pause: Duration,
) -> Result<Option<RunEndReason>, Error> {
    let reason = match error {
        ProviderError::RateLimited { .. } => WaitReason::RateLimit,
        _ => WaitReason::Retry,
    };
    let until = Some(agent.context.now().after(pause));
    let detail = format!("{error}; asking again in {:.1} s", pause.as_secs_f64());
    let over = agent.context.options.clock.sleep(pause);
    agent.note(EventBody::RunWaiting {
        reason,
        until,
        detail,
        told: None,
    });
    wait_interruptibly(agent, over, reason).await
}

async fn wait_interruptibly(
    agent: &mut AgentActor,
    mut over: BoxFuture<'static, ()>,
    reason: WaitReason,
) -> Result<Option<RunEndReason>, Error> {
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            () = &mut over => break,
        };
        if let Some(end) = agent.apply_interruption(came)? {
            return Ok(Some(end));
        }
    }
    agent.note(EventBody::RunResumed { reason });
    Ok(None)
}

/// Goes on with a wait that a restart cut short.
pub(super) async fn resume_wait(agent: &mut AgentActor) -> Result<Option<RunEndReason>, Error> {
    let Some(until) = agent.history.run().and_then(|run| run.waits.until) else {
        return Ok(None);
    };
    let over = agent
        .context
        .options
        .clock
        .sleep(until.since(agent.context.now()));
    wait_interruptibly(agent, over, WaitReason::Retry).await
}

/// 2, 4, 8, 16, 32 seconds, and up to a quarter more so that many do not come back at once.
fn back_off(attempt: u32, entropy: u128) -> Duration {
    let base = Duration::from_secs(2_u64.saturating_pow(attempt.min(4) + 1));
    base + base.mul_f64((entropy % 1000) as f64 / 4000.0)
}
