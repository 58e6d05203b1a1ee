//! Asks the user for permission for one call. The answer is bound to that very call: what was shown is what is made.

use rooftree_protocol::{
    Answer, EventBody, PermissionDecision, PermissionId, PermissionScope, QuestionId,
    QuestionReply, Timestamp,
    event::{PolicyNote, WaitReason},
};
use rooftree_store::{RuleKind, RuleRow, RuleScope};
use rooftree_tools::{
    PermissionRule, Policy, PolicyLayer, PolicyRequest, PolicyVerdict, SkillRestriction,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    AgentActor,
    call::{PreparedCall, context},
    hook_points,
    inquire::{self, InquiryOutcome, NewInquiry},
    limits::RunEndReason,
    run_view::RunInquiry,
};
use crate::{Error, post_turn::PostTurn, saved_rules};

/// Says that the definition keeps the agent in a narrower mode than the process: a flag for another mode changes nothing.
fn held_by_definition(agent: &AgentActor) -> Option<String> {
    let mode = agent.rights.policy.mode;
    let is_narrower = mode < agent.context.options.rights.policy.mode;
    let definition = agent.rights.definitions.iter();
    let definition = definition
        .filter(|_| is_narrower)
        .find(|definition| definition.permission_mode == Some(mode))?;
    Some(format!(
        ". The definition of `{}` keeps it in mode `{mode}`; --permission-mode does not change that.",
        definition.name
    ))
}

/// Outcome of a permission question.
pub(super) enum PermissionOutcome {
    Yes(String),
    No(String),
    /// The user was not asked, because the call cannot succeed anyway.
    Vain(String),
    Ended(RunEndReason),
}

/// A question that stands.
pub(super) struct PermissionQuestion {
    id: PermissionId,
    /// When it is too late for an answer.
    pub(super) until: Timestamp,
    suggested: SuggestedRule,
}

/// Outcome of asking a question.
pub(super) enum AskOutcome {
    /// It need not be waited for.
    Settled(PermissionOutcome),
    /// It stands.
    Stands(PermissionQuestion),
}

/// Asks the question, if a client can answer it, and waits for the answer.
pub(super) async fn ask(
    agent: &mut AgentActor,
    one: &PreparedCall,
    reason: String,
) -> Result<PermissionOutcome, Error> {
    match put(agent, one, reason).await? {
        AskOutcome::Settled(permitted) => Ok(permitted),
        AskOutcome::Stands(question) => {
            let heard = inquire::wait(agent, question.id.as_str(), question.until).await?;
            conclude(agent, &question, heard).await
        }
    }
}

/// Asks the question, if a client can answer it; one that was asked before still stands.
pub(super) async fn put(
    agent: &mut AgentActor,
    one: &PreparedCall,
    reason: String,
) -> Result<AskOutcome, Error> {
    let id = PermissionId::derived_from(one.call.id.as_str());
    let digest = digest(agent, one);
    let before = agent
        .history
        .run()
        .and_then(|run| run.asked(id.as_str()))
        .cloned();
    match &before {
        Some(asked) if asked.digest != digest => {
            let words = "[auto-rejected: the call is not the one that was asked about]";
            if asked.answer.is_none() {
                resolve(agent, &id, Answer::deny(None), "changed", Vec::new()).await?;
            }
            return Ok(AskOutcome::Settled(PermissionOutcome::No(words.into())));
        }
        // Answered, and cut off before the call was made.
        Some(RunInquiry {
            answer: Some(answer),
            ..
        }) => return Ok(AskOutcome::Settled(said(answer, "user"))),
        _ => {}
    }
    if before.is_none()
        && let Some(permitted) = answered_by_hooks(agent, one, &reason).await?
    {
        return Ok(AskOutcome::Settled(permitted));
    }
    let kept = if before.is_some() {
        agent.context.store().answered(id.as_str()).await?
    } else {
        None
    };
    if kept.is_none() && !inquire::is_possible(agent) {
        if before.is_some() {
            resolve(agent, &id, Answer::deny(None), "nobody", Vec::new()).await?;
        }
        let held = held_by_definition(agent).unwrap_or_default();
        let words = format!("[auto-rejected: no user can be asked] {reason}{held}");
        return Ok(AskOutcome::Settled(PermissionOutcome::No(words)));
    }
    let context = context(agent, one, CancellationToken::new(), PostTurn::default());
    if before.is_none()
        && let Err(words) = one.tool.preflight(&one.input, &context)
    {
        return Ok(AskOutcome::Settled(PermissionOutcome::Vain(words)));
    }
    let until = before.map_or_else(|| inquire::deadline(agent), |asked| asked.until);
    let suggested = suggested_rule(agent, one);
    let question = EventBody::PermissionRequested {
        id: id.clone(),
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        title: one.title.clone(),
        detail: one.tool.preview(&one.input, &context),
        effect: one.effect,
        rule: suggested.rule.clone(),
        until,
        reason: reason.clone(),
        digest: digest.clone(),
        scopes: scopes(is_ask_rule(agent, &reason)),
    };
    let words = format!("{} {}: {reason}", one.tool.spec().name, one.title);
    let id_text = id.to_string();
    let asked = NewInquiry {
        id: id_text,
        digest,
        until,
        body: question,
        reason: WaitReason::Permission,
        words,
    };
    inquire::put(agent, &asked).await?;
    Ok(AskOutcome::Stands(PermissionQuestion {
        id,
        until,
        suggested,
    }))
}

/// What hooks answer in place of a person; none if they leave it to one.
///
/// Invariant: a hook says yes only where the mode alone wants a person to be asked. What an ask rule
/// or another hook wants to be asked about, a person is asked about.
async fn answered_by_hooks(
    agent: &mut AgentActor,
    one: &PreparedCall,
    reason: &str,
) -> Result<Option<PermissionOutcome>, Error> {
    let answer = hook_points::permission(agent, one, reason).await?;
    if let Some(end) = agent.inbox.end_reason.take() {
        return Ok(Some(PermissionOutcome::Ended(end)));
    }
    if let Some(why) = answer.refusal() {
        return Ok(Some(PermissionOutcome::No(format!("[denied] {why}"))));
    }
    let is_permitted = answer.permits && is_asked_by_mode(agent, one, reason);
    Ok(is_permitted.then(|| PermissionOutcome::Yes("a hook answers for the user".into())))
}

/// The outcome of an open question (answer or timeout), without waiting; none if there is none yet.
pub(super) async fn heard(
    agent: &AgentActor,
    question: &PermissionQuestion,
) -> Result<Option<InquiryOutcome>, Error> {
    let answered = agent.context.store().answered(question.id.as_str()).await?;
    let is_late = agent.context.now() >= question.until;
    Ok(answered
        .map(InquiryOutcome::Answer)
        .or(is_late.then_some(InquiryOutcome::Nothing)))
}

/// Settles a question by what came of it.
pub(super) async fn conclude(
    agent: &mut AgentActor,
    question: &PermissionQuestion,
    heard: InquiryOutcome,
) -> Result<PermissionOutcome, Error> {
    let (id, no) = (&question.id, Answer::deny(None));
    match heard {
        InquiryOutcome::Answer(answered) => {
            let answer = inquire::permission(&answered).cloned().unwrap_or(no);
            let rules = remembered_rule(agent, &answer, &question.suggested, &answered.by);
            resolve(agent, id, answer.clone(), &answered.by, rules).await?;
            Ok(said(&answer, &answered.by))
        }
        InquiryOutcome::Nothing => {
            resolve(agent, id, no, "expired", Vec::new()).await?;
            Ok(PermissionOutcome::No(
                "[auto-rejected: no answer in time]".into(),
            ))
        }
        // The question stands: the process that resumes the run waits for the same answer.
        InquiryOutcome::Ended(RunEndReason::Paused) => {
            Ok(PermissionOutcome::Ended(RunEndReason::Paused))
        }
        InquiryOutcome::Ended(end) => {
            resolve(agent, id, no, "cancelled", Vec::new()).await?;
            Ok(PermissionOutcome::Ended(end))
        }
    }
}

/// Takes a question back.
pub(super) async fn withdraw(
    agent: &mut AgentActor,
    question: &PermissionQuestion,
) -> Result<(), Error> {
    resolve(
        agent,
        &question.id,
        Answer::deny(None),
        "cancelled",
        Vec::new(),
    )
    .await
}

/// Withdraws the question of a call that will not be made.
pub(super) async fn forget(agent: &mut AgentActor, asked: &RunInquiry) -> Result<(), Error> {
    let by = "interrupted".to_owned();
    let (outcome, reason) = match PermissionId::parse(&asked.id) {
        Ok(id) => {
            let answer = Answer::deny(None);
            (
                EventBody::PermissionResolved { id, answer, by },
                WaitReason::Permission,
            )
        }
        Err(_) => {
            let (id, reply) = (
                QuestionId::derived_from(&asked.id),
                QuestionReply::Declined { because: None },
            );
            (
                EventBody::QuestionAnswered { id, reply, by },
                WaitReason::Question,
            )
        }
    };
    inquire::settle(agent, &asked.id, outcome, Vec::new(), reason).await
}

fn said(answer: &Answer, by: &str) -> PermissionOutcome {
    match answer.decision {
        PermissionDecision::Allow => {
            PermissionOutcome::Yes(format!("{by} said yes ({:?})", answer.scope).to_lowercase())
        }
        PermissionDecision::Deny => PermissionOutcome::No(match &answer.because {
            None => "[rejected by user]".into(),
            Some(words) => format!("[rejected: {words}]"),
        }),
    }
}

async fn resolve(
    agent: &mut AgentActor,
    id: &PermissionId,
    answer: Answer,
    by: &str,
    rules: Vec<RuleRow>,
) -> Result<(), Error> {
    let outcome = EventBody::PermissionResolved {
        id: id.clone(),
        answer,
        by: by.into(),
    };
    inquire::settle(agent, id.as_str(), outcome, rules, WaitReason::Permission).await
}

/// Whether an ask rule is the reason to ask the user.
fn is_ask_rule(agent: &AgentActor, reason: &str) -> bool {
    agent
        .rights
        .policy
        .ask
        .iter()
        .any(|ask| reason.contains(&format!("`{ask}`")))
}

/// Whether only the mode requires a question: no rule, no hook.
pub(super) fn is_asked_by_mode(agent: &AgentActor, one: &PreparedCall, reason: &str) -> bool {
    let subject = one.tool.subject(&one.input);
    let (tool, cwd) = (one.tool.ruled_as(&one.input), &agent.session.cwd);
    let (subject, input) = (subject.as_deref(), Some(&one.input));
    let about = PolicyRequest {
        tool: &tool,
        subject,
        input,
        effect: one.effect,
        cwd,
    };
    let verdict = agent.rights.policy.explain_at(&about, &one.reach);
    // Private places are no mode's to allow, so no hook's either.
    let is_modes = verdict
        .steps
        .last()
        .is_some_and(|step| step.layer == PolicyLayer::Person);
    is_modes
        && verdict.verdict == PolicyVerdict::Ask(reason.to_owned())
        && !is_ask_rule(agent, reason)
}

/// Scopes an answer may have. A call that an ask rule matches is answered only once at a time.
fn scopes(is_ask_rule: bool) -> Vec<PermissionScope> {
    use PermissionScope::{Always, Once, Project, Session};
    if is_ask_rule {
        vec![Once]
    } else {
        vec![Once, Session, Project, Always]
    }
}

fn remembered_rule(
    agent: &AgentActor,
    answer: &Answer,
    asked: &SuggestedRule,
    by: &str,
) -> Vec<RuleRow> {
    let scope = match answer.scope {
        // Once, for a call that only asks for the rule, is for as long as this agent works on this.
        PermissionScope::Once
            if asked.is_wanted && answer.decision == PermissionDecision::Allow =>
        {
            RuleScope::Session(agent.session.id.clone())
        }
        PermissionScope::Once => return Vec::new(),
        PermissionScope::Session => RuleScope::Session(agent.root()),
        PermissionScope::Project => RuleScope::Project(saved_rules::project(&agent.rights.home)),
        PermissionScope::Always => RuleScope::Always,
    };
    let kind = match answer.decision {
        PermissionDecision::Allow => RuleKind::Allow,
        PermissionDecision::Deny => RuleKind::Deny,
    };
    let by = saved_rules::by_answer(by);
    vec![RuleRow {
        number: 0,
        kind,
        rule: asked.rule.clone(),
        scope,
        by,
        at: agent.context.now(),
    }]
}

/// Names exactly what is asked about. Two calls with the same name are the same in all that matters.
fn digest(agent: &AgentActor, one: &PreparedCall) -> String {
    let exact = json!([
        one.tool.spec().name,
        sorted(&one.input),
        agent.session.cwd,
        agent.session.agent,
        agent.session.id,
        one.call.id,
        // Where its links lead: a yes is for that place and no other.
        one.reach
            .pinned()
            .map(|pinned| pinned.real.to_string_lossy()),
    ]);
    Sha256::digest(exact.to_string())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The same value with the keys of its maps in order.
fn sorted(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            entries
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The rule that a yes for longer would make.
struct SuggestedRule {
    rule: String,
    /// Whether asking for it is all the call does.
    is_wanted: bool,
}

fn suggested_rule(agent: &AgentActor, one: &PreparedCall) -> SuggestedRule {
    if let Some(rule) = one.tool.wants(&one.input) {
        return SuggestedRule {
            rule,
            is_wanted: true,
        };
    }
    let subject = one.tool.subject(&one.input);
    let tool = one.tool.ruled_as(&one.input);
    let rule = Policy::suggested_rule(&PolicyRequest {
        tool: &tool,
        subject: subject.as_deref(),
        input: Some(&one.input),
        effect: one.effect,
        cwd: &agent.session.cwd,
    });
    SuggestedRule {
        rule: rule.to_string(),
        is_wanted: false,
    }
}

/// A policy as the journal keeps it, with what from outside has narrowed it.
pub(super) fn written(policy: &Policy, wary: Option<String>) -> PolicyNote {
    let rules = |rules: &[PermissionRule]| rules.iter().map(ToString::to_string).collect();
    PolicyNote {
        mode: policy.mode,
        allow: rules(&policy.allow),
        ask: rules(&policy.ask),
        deny: rules(&policy.deny),
        skills: policy.followed.iter().map(SkillRestriction::note).collect(),
        wary,
    }
}
