//! Asks people once about all agents that the calls of a reply would start, if these are more, cost more or work deeper
//! than the settings allow without asking. It is a permission request of kind `spawn`.
//!
//! The answer is for the calls that were listed. A listed call whose agent would meanwhile get another model or more
//! tools is refused. After a crash the request and its answer are found by the calls they list.

mod listing;

use std::collections::{HashMap, VecDeque};

use rooftree_protocol::{
    CallId, EventBody, PermissionId, PermissionKind, PermissionScope, SpawnCall, SpawnForecast,
    SpawnGroup, ToolCall, Usage,
};
use rooftree_tools::{
    SpawnSize, SpawnVerdict, session_tools::TASK, tool::PlannedAgent, toolset::ToolLookup,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    AgentActor,
    call::{PreparedCall, context},
    check::{CheckedCall, check_with_hooks, refusal},
    hook_points::CallHookAnswers,
    limits::RunEndReason,
    permission::{self, AskOutcome, PermissionOutcome, PermissionQuestion, SuggestedRules},
    run_view::RunInquiry,
};
use crate::{Error, post_turn::PostTurn};

/// Past runs of an agent that a forecast is the mean of, at most.
const PAST_RUNS: usize = 20;

/// What was decided about the agents of one reply.
#[derive(Default)]
pub(super) struct FanOut {
    is_judged: bool,
    rulings: HashMap<CallId, SpawnRuling>,
}

/// What was decided about one call.
enum SpawnRuling {
    /// By whom it is permitted.
    Permitted(String),
    /// The result it gets.
    Refused(String),
}

/// A call that would start an agent.
struct PlannedCall {
    one: PreparedCall,
    agent: PlannedAgent,
}

/// What came of planning calls.
enum PlanOutcome {
    Planned(Vec<PlannedCall>),
    Ended(Option<RunEndReason>),
}

impl FanOut {
    /// Judges the agents of the reply when the first call that starts one is due. Says if the run must end first.
    pub(super) async fn judge(
        &mut self,
        agent: &mut AgentActor,
        call: &ToolCall,
        rest: &VecDeque<ToolCall>,
        said: &mut CallHookAnswers,
    ) -> Result<Option<RunEndReason>, Error> {
        if self.is_judged || !is_delegation(agent, call) {
            return Ok(None);
        }
        self.is_judged = true;
        let due = std::iter::once(call).chain(rest);
        let due: Vec<ToolCall> = due
            .filter(|call| is_delegation(agent, call))
            .cloned()
            .collect();
        agent.calls.spawned = count(due.len());
        let asked = due.iter().find_map(|call| {
            let run = agent.history.run()?;
            run.asked_to_spawn(&call.id).cloned()
        });
        if asked.is_none() && !may_be_large(agent, count(due.len())) {
            return Ok(None);
        }
        let planned = match plan(agent, &due, said).await? {
            PlanOutcome::Planned(planned) => planned,
            PlanOutcome::Ended(end) => return Ok(end),
        };
        let (outcome, listed) = match asked {
            Some(asked) => (again(agent, &asked).await?, asked.spawn),
            None => match ask(agent, &planned, 0).await? {
                Some((outcome, listed)) => (waited(agent, outcome).await?, listed),
                None => return Ok(None),
            },
        };
        if let PermissionOutcome::Ended(end) = outcome {
            return Ok(Some(end));
        }
        // Definitions may have changed while people were asked.
        match plan(agent, &due, said).await? {
            PlanOutcome::Planned(planned) => self.rule(&outcome, &listed, agent, &planned),
            PlanOutcome::Ended(end) => return Ok(end),
        }
        Ok(None)
    }

    /// Notes what the answer means for each call that was listed.
    fn rule(
        &mut self,
        outcome: &PermissionOutcome,
        listed: &[SpawnGroup],
        agent: &AgentActor,
        planned: &[PlannedCall],
    ) {
        let agents: usize = listed.iter().map(|group| group.calls.len()).sum();
        for group in listed {
            for shown in &group.calls {
                let is_same = |planned: &&PlannedCall| planned.is_as_shown(agent, group, shown);
                let ruling = match outcome {
                    PermissionOutcome::Yes(by) if planned.iter().any(|one| is_same(&one)) => {
                        SpawnRuling::Permitted(by.clone())
                    }
                    PermissionOutcome::No(words) => {
                        let none =
                            format!("None of the {agents} agents of this reply was started.");
                        SpawnRuling::Refused(format!("{words} {none}"))
                    }
                    _ => SpawnRuling::Refused(permission::CHANGED.into()),
                };
                self.rulings.insert(shown.call.clone(), ruling);
            }
        }
    }

    /// A call that passed the other checks, with what was decided about it.
    pub(super) fn applied(&self, checked: CheckedCall) -> CheckedCall {
        let (CheckedCall::Ready(one) | CheckedCall::Ask(one, _)) = &checked else {
            return checked;
        };
        match self.rulings.get(&one.call.id) {
            None => checked,
            Some(SpawnRuling::Refused(words)) => {
                CheckedCall::Refused(Box::new(refusal(one, words.clone())))
            }
            Some(SpawnRuling::Permitted(by)) => {
                let mut one = one.clone();
                one.permitted_by(by.clone());
                CheckedCall::Ready(one)
            }
        }
    }
}

impl PlannedCall {
    /// Whether it would start what people were shown, with no more tools.
    fn is_as_shown(&self, agent: &AgentActor, group: &SpawnGroup, shown: &SpawnCall) -> bool {
        let PlannedAgent { model, tools, .. } = &self.agent;
        self.one.call.id == shown.call
            && permission::digest(agent, &self.one) == shown.digest
            && *model == group.model
            && tools.iter().all(|tool| group.tools.contains(tool))
    }
}

/// Asks about one more agent that a command of a running call wants started; none if it may be started.
pub(super) async fn ask_inside(
    agent: &mut AgentActor,
    one: &PreparedCall,
) -> Result<Option<AskOutcome>, Error> {
    if one.tool.spec().name != TASK.name {
        return Ok(None);
    }
    let before = agent.calls.spawned;
    agent.calls.spawned += 1;
    if !may_be_large(agent, agent.calls.spawned) {
        return Ok(None);
    }
    let context = context(agent, one, CancellationToken::new(), PostTurn::default());
    let Some(planned) = one.tool.starts(&one.input, context).await else {
        return Ok(None);
    };
    let planned = PlannedCall {
        one: one.clone(),
        agent: planned,
    };
    let asked = ask(agent, &[planned], before).await?;
    Ok(asked.map(|(outcome, _)| outcome))
}

/// Whether the agents of a reply may be more than are started without asking; if not, they need not be planned.
fn may_be_large(agent: &AgentActor, agents: u32) -> bool {
    let (policy, thresholds) = (&agent.rights.policy, agent.spawn_thresholds());
    let size = SpawnSize {
        agents,
        cost_usd: 0.0,
        depth: agent.depth() + 1,
    };
    policy.heeds_spawn_cost(&thresholds)
        || policy.judge_spawn(&size, &thresholds) != SpawnVerdict::Allow
}

/// Whether a call is one of the tool that starts agents.
fn is_delegation(agent: &AgentActor, call: &ToolCall) -> bool {
    matches!(agent.resolved.toolset.find(&call.tool), ToolLookup::Tool(tool) if tool.spec().name == TASK.name)
}

/// The calls that would start an agent. Calls that are refused or will fail are left out.
async fn plan(
    agent: &mut AgentActor,
    due: &[ToolCall],
    said: &mut CallHookAnswers,
) -> Result<PlanOutcome, Error> {
    let mut planned = Vec::new();
    for call in due {
        let one = match check_with_hooks(agent, call, said).await? {
            CheckedCall::Ready(one) | CheckedCall::Ask(one, _) => one,
            CheckedCall::Refused(_) => continue,
            CheckedCall::Ended => return Ok(PlanOutcome::Ended(agent.inbox.end_reason.take())),
        };
        let context = context(agent, &one, CancellationToken::new(), PostTurn::default());
        if let Some(started) = one.tool.starts(&one.input, context).await {
            planned.push(PlannedCall {
                one,
                agent: started,
            });
        }
    }
    Ok(PlanOutcome::Planned(planned))
}

/// Asks about these agents, if they are too many besides those that were started before; tells what was listed.
async fn ask(
    agent: &mut AgentActor,
    planned: &[PlannedCall],
    before: u32,
) -> Result<Option<(AskOutcome, Vec<SpawnGroup>)>, Error> {
    let Some(first) = planned.first() else {
        return Ok(None);
    };
    let groups = listed(agent, planned).await?;
    let mut size = size_of(agent, &groups);
    size.agents += before;
    let verdict = agent
        .rights
        .policy
        .judge_spawn(&size, &agent.spawn_thresholds());
    let (reason, rules) = match verdict {
        SpawnVerdict::Allow => return Ok(None),
        SpawnVerdict::Deny(reason) => {
            let refused = PermissionOutcome::No(format!("[denied] {reason}."));
            return Ok(Some((AskOutcome::Settled(refused), groups)));
        }
        SpawnVerdict::Ask { reason, rules } => (reason, rules),
    };
    let id = PermissionId::derived_from(first.one.call.id.as_str());
    if let Some(refused) = permission::unanswerable(agent, &id, None, &reason).await? {
        return Ok(Some((AskOutcome::Settled(refused), groups)));
    }
    let title = listing::title(&groups);
    let words = format!("{} {title}: {reason}", TASK.name);
    let scopes = if rules.is_empty() {
        vec![PermissionScope::Once]
    } else {
        vec![PermissionScope::Once, PermissionScope::Session]
    };
    let suggested = SuggestedRules::new(rules);
    let question = EventBody::PermissionRequested {
        id,
        call: first.one.call.id.clone(),
        tool: TASK.name.to_owned(),
        title,
        detail: listing::detail(&groups),
        effect: first.one.effect,
        rule: suggested.to_string(),
        until: permission::until(agent, None),
        reason,
        digest: permission::hex_digest(&json!([agent.session.id, groups])),
        scopes,
        kind: PermissionKind::Spawn,
        spawn: groups.clone(),
    };
    let stands = permission::stand(agent, question, words, suggested).await?;
    Ok(Some((stands, groups)))
}

async fn waited(agent: &mut AgentActor, asked: AskOutcome) -> Result<PermissionOutcome, Error> {
    match asked {
        AskOutcome::Settled(outcome) => Ok(outcome),
        AskOutcome::Stands(question) => permission::wait(agent, &question).await,
    }
}

/// What came of a request that an earlier process made.
async fn again(agent: &mut AgentActor, asked: &RunInquiry) -> Result<PermissionOutcome, Error> {
    if let Some(answer) = &asked.answer {
        return Ok(permission::said(answer, "user"));
    }
    let size = size_of(agent, &asked.spawn);
    let verdict = agent
        .rights
        .policy
        .judge_spawn(&size, &agent.spawn_thresholds());
    let (reason, rules) = match verdict {
        SpawnVerdict::Ask { reason, rules } => (reason, rules),
        SpawnVerdict::Deny(reason) => (reason, Vec::new()),
        SpawnVerdict::Allow => (String::new(), Vec::new()),
    };
    let question = PermissionQuestion::standing(asked, SuggestedRules::new(rules));
    let refused = permission::unanswerable(agent, question.id(), Some(asked), &reason).await?;
    match refused {
        Some(refused) => Ok(refused),
        None => permission::wait(agent, &question).await,
    }
}

/// The agents, those with the same definition, model and tools together, in the order of the calls.
async fn listed(agent: &AgentActor, planned: &[PlannedCall]) -> Result<Vec<SpawnGroup>, Error> {
    let mut groups: Vec<SpawnGroup> = Vec::new();
    let held = agent.resolved.toolset.names();
    for PlannedCall { one, agent: wanted } in planned {
        let call = SpawnCall {
            call: one.call.id.clone(),
            title: wanted.title.clone(),
            digest: permission::digest(agent, one),
        };
        let is_same = |group: &&mut SpawnGroup| {
            (&group.agent, &group.model, &group.tools)
                == (&wanted.agent, &wanted.model, &wanted.tools)
        };
        if let Some(group) = groups.iter_mut().find(is_same) {
            group.calls.push(call);
            continue;
        }
        let account = &agent.session.account;
        let past = agent.context.store();
        let past = past.past_runs(account, &wanted.agent, PAST_RUNS).await?;
        let is_lost = |name: &&&str| !wanted.tools.iter().any(|tool| tool == **name);
        let mut lost: Vec<String> = held
            .iter()
            .filter(is_lost)
            .map(|name| (*name).to_owned())
            .collect();
        lost.sort();
        groups.push(SpawnGroup {
            agent: wanted.agent.clone(),
            model: wanted.model.clone(),
            tools: wanted.tools.clone(),
            lost,
            forecast: forecast(&past),
            calls: vec![call],
        });
    }
    Ok(groups)
}

/// The mean of past runs; none if there are none.
fn forecast(past: &[Usage]) -> Option<SpawnForecast> {
    let runs = count(past.len());
    if runs == 0 {
        return None;
    }
    let mut sum = Usage::none();
    past.iter().for_each(|used| sum += *used);
    Some(SpawnForecast {
        runs,
        tokens: sum.total() / u64::from(runs),
        cost_usd: sum.cost_complete.then_some(sum.cost_usd / f64::from(runs)),
    })
}

fn size_of(agent: &AgentActor, groups: &[SpawnGroup]) -> SpawnSize {
    SpawnSize {
        agents: count(groups.iter().map(|group| group.calls.len()).sum()),
        cost_usd: groups.iter().filter_map(listing::cost).sum(),
        depth: agent.depth() + 1,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
