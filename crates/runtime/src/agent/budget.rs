//! Budget of a run: ends it before the model request that would exceed its cost limit.
//!
//! What a question will cost is known only afterwards, so it is estimated: what is read, at the
//! price of reading, and an answer as long as those before it. A model whose price is not known
//! counts with what its provider reports, and is stopped after the fact.

use rooftree_protocol::{EventBody, Usage, event::NoticeLevel};
use rooftree_providers::Model;

use super::{AgentActor, limits::RunEndReason, prompt};

/// Tokens of an answer when none has come yet.
const FIRST_ANSWER: u64 = 500;

/// Remaining budget of the run in US dollars, if it is bounded.
pub(super) fn left(agent: &AgentActor) -> Option<f64> {
    let allowed = allowed(agent)?;
    Some((allowed - spent(agent)).max(0.0))
}

/// US dollars the run may cost, if that is bounded: by its agent, its mandate or its schedule.
fn allowed(agent: &AgentActor) -> Option<f64> {
    let scheduled = agent.history.run().and_then(|run| run.budget?.usd);
    let bounds = [agent.resolved.limits.max_cost_usd, scheduled];
    bounds.into_iter().flatten().reduce(f64::min)
}

/// Says that the run must end if the next question does not fit the tokens that its schedule allows.
fn lacks_tokens(agent: &mut AgentActor) -> bool {
    let Some(run) = agent.history.run() else {
        return false;
    };
    let Some(allowed) = run.budget.and_then(|budget| budget.tokens) else {
        return false;
    };
    let used = run.progress.usage.total() + run.progress.delegated.total();
    let next = agent.model.window.tokens(prompt::estimate(agent));
    if used + next <= allowed {
        return false;
    }
    agent.note(EventBody::Notice {
        level: NoticeLevel::Warning,
        code: "budget".into(),
        message: format!(
            "{used} of {allowed} tokens are used, and the next question would need about {next}."
        ),
        hint: Some("raise the tokens that the schedule allows for one run".into()),
    });
    true
}

/// Cost of the run, including delegated runs and what is reserved for tasks at work.
fn spent(agent: &AgentActor) -> f64 {
    let set_aside: f64 = agent
        .history
        .tasks()
        .iter()
        .filter_map(|task| task.share)
        .sum();
    set_aside
        + agent.history.run().map_or(0.0, |run| {
            run.progress.usage.cost_usd + run.progress.delegated.cost_usd
        })
}

/// Says that the run must end, and why, if the next question does not fit its budget.
pub(super) fn exhausted(agent: &mut AgentActor, model: &Model) -> Option<RunEndReason> {
    if lacks_tokens(agent) {
        return Some(RunEndReason::Budget);
    }
    let allowed = allowed(agent)?;
    let run = agent.history.run()?;
    let spent = spent(agent);
    let answer = run
        .progress
        .usage
        .output
        .checked_div(u64::from(run.progress.turns))
        .unwrap_or(FIRST_ANSWER);
    let question = Usage {
        input: agent.model.window.tokens(prompt::estimate(agent)),
        output: answer,
        ..Usage::default()
    };
    let next = model.charge(question).cost_usd;
    let is_something_left = spent < allowed || spent == 0.0;
    if is_something_left && spent + next <= allowed {
        return None;
    }
    agent.note(EventBody::Notice {
        level: NoticeLevel::Warning,
        code: "budget".into(),
        message: format!(
            "${spent:.4} of ${allowed:.4} are spent, and the next question would cost about ${next:.4}."
        ),
        hint: Some("send another message to go on, or raise --max-cost".into()),
    });
    Some(RunEndReason::Budget)
}
