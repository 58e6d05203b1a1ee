//! Asks the user for permission for one call, or, for `fan_out.rs`, for the agents of a reply. The answer is bound to
//! what was shown: that very call is made.

mod suggested_rules;

use rooftree_protocol::{
    Answer, EventBody, PermissionDecision, PermissionId, PermissionKind, QuestionId, QuestionReply,
    Timestamp,
    event::{PolicyNote, WaitReason},
};
use rooftree_store::RuleRow;
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
use crate::{Error, post_turn::PostTurn};

pub(super) use self::suggested_rules::{SuggestedRules, scopes};

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

/// The result of a call that is another one than the one people were asked about.
pub(super) const CHANGED: &str = "[auto-rejected: the call is not the one that was asked about]";

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
    suggested: SuggestedRules,
}

impl PermissionQuestion {
    /// A question that an earlier process asked.
    pub(super) fn standing(asked: &RunInquiry, suggested: SuggestedRules) -> Self {
        Self {
            id: PermissionId::derived_from(asked.call.as_str()),
            until: asked.until,
            suggested,
        }
    }

    pub(super) fn id(&self) -> &PermissionId {
        &self.id
    }
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
        AskOutcome::Stands(question) => wait(agent, &question).await,
    }
}

/// Waits for the answer.
pub(super) async fn wait(
    agent: &mut AgentActor,
    question: &PermissionQuestion,
) -> Result<PermissionOutcome, Error> {
    let heard = inquire::wait(agent, question.id.as_str(), question.until).await?;
    conclude(agent, question, heard).await
}

/// Asks the question, if a client can answer it; one that was asked before still stands.
pub(super) async fn put(
    agent: &mut AgentActor,
    one: &PreparedCall,
    reason: String,
) -> Result<AskOutcome, Error> {
    let id = PermissionId::derived_from(one.call.id.as_str());
    let digest = digest(agent, one);
    let before = before(agent, &id);
    if let Some(settled) = settled_before(agent, &id, &digest, before.as_ref()).await? {
        return Ok(AskOutcome::Settled(settled));
    }
    if before.is_none()
        && let Some(permitted) = answered_by_hooks(agent, one, &reason).await?
    {
        return Ok(AskOutcome::Settled(permitted));
    }
    if let Some(refused) = unanswerable(agent, &id, before.as_ref(), &reason).await? {
        return Ok(AskOutcome::Settled(refused));
    }
    let context = context(agent, one, CancellationToken::new(), PostTurn::default());
    if before.is_none()
        && let Err(words) = one.tool.preflight(&one.input, &context)
    {
        return Ok(AskOutcome::Settled(PermissionOutcome::Vain(words)));
    }
    let suggested = SuggestedRules::of_call(agent, one);
    let words = format!("{} {}: {reason}", one.tool.spec().name, one.title);
    let question = EventBody::PermissionRequested {
        id,
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        title: one.title.clone(),
        detail: one.tool.preview(&one.input, &context),
        effect: one.effect,
        rule: suggested.to_string(),
        until: until(agent, before.as_ref()),
        scopes: scopes(is_ask_rule(agent, &reason)),
        reason,
        digest,
        kind: PermissionKind::Call,
        spawn: Vec::new(),
    };
    stand(agent, question, words, suggested).await
}

/// The same question, if it was asked before.
pub(super) fn before(agent: &AgentActor, id: &PermissionId) -> Option<RunInquiry> {
    let run = agent.history.run()?;
    run.asked(id.as_str()).cloned()
}

/// What came of a question that was asked before: it was about something else, or it was answered and cut off before
/// the call was made.
pub(super) async fn settled_before(
    agent: &mut AgentActor,
    id: &PermissionId,
    digest: &str,
    before: Option<&RunInquiry>,
) -> Result<Option<PermissionOutcome>, Error> {
    match before {
        Some(asked) if asked.digest != digest => {
            if asked.answer.is_none() {
                resolve(agent, id, Answer::deny(None), "changed", Vec::new()).await?;
            }
            Ok(Some(PermissionOutcome::No(CHANGED.into())))
        }
        Some(RunInquiry {
            answer: Some(answer),
            ..
        }) => Ok(Some(said(answer, "user"))),
        _ => Ok(None),
    }
}

/// A refusal, if there is no client to ask and no answer that came meanwhile.
pub(super) async fn unanswerable(
    agent: &mut AgentActor,
    id: &PermissionId,
    before: Option<&RunInquiry>,
    reason: &str,
) -> Result<Option<PermissionOutcome>, Error> {
    let kept = match before {
        Some(_) => agent.context.store().answered(id.as_str()).await?,
        None => None,
    };
    if kept.is_some() || inquire::is_possible(agent) {
        return Ok(None);
    }
    if before.is_some() {
        resolve(agent, id, Answer::deny(None), "nobody", Vec::new()).await?;
    }
    let held = held_by_definition(agent).unwrap_or_default();
    let words = format!("[auto-rejected: no user can be asked] {reason}{held}");
    Ok(Some(PermissionOutcome::No(words)))
}

/// When it is too late for an answer.
pub(super) fn until(agent: &AgentActor, before: Option<&RunInquiry>) -> Timestamp {
    before.map_or_else(|| inquire::deadline(agent), |asked| asked.until)
}

/// Asks: from here on the question stands.
pub(super) async fn stand(
    agent: &mut AgentActor,
    question: EventBody,
    words: String,
    suggested: SuggestedRules,
) -> Result<AskOutcome, Error> {
    let EventBody::PermissionRequested {
        id, digest, until, ..
    } = &question
    else {
        return Ok(AskOutcome::Settled(PermissionOutcome::No(CHANGED.into())));
    };
    let (id, until) = (id.clone(), *until);
    let asked = NewInquiry {
        id: id.to_string(),
        digest: digest.clone(),
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
            let rules = question.suggested.remembered(agent, &answer, &answered.by);
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

/// The outcome that an answer means.
pub(super) fn said(answer: &Answer, by: &str) -> PermissionOutcome {
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

/// Names exactly what is asked about. Two calls with the same name are the same in all that matters.
pub(super) fn digest(agent: &AgentActor, one: &PreparedCall) -> String {
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
    hex_digest(&exact)
}

/// The SHA-256 of a value, in hexadecimal digits.
pub(super) fn hex_digest(exact: &serde_json::Value) -> String {
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
