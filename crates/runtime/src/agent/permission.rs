//! Asks a person about one call and waits for the answer, the end of patience, or an interruption.

use std::time::Duration;

use futures::future::BoxFuture;
use rooftree_protocol::{
    EventBody, PermissionDecision, PermissionId, PermissionScope, command::Answer, event::WaitReason,
};
use rooftree_tools::{Judged, Policy};
use tokio_util::sync::CancellationToken;

use super::{
    Agent,
    call::{Prepared, context},
    limits::End,
};
use crate::{Error, world::Asking};

/// What came of the question.
pub(super) enum Permitted {
    Yes,
    No(String),
    Ended(End),
}

/// Puts the question, if there is anybody to answer it.
pub(super) async fn ask(agent: &mut Agent, one: &Prepared, reason: String) -> Result<Permitted, Error> {
    if agent.world.options.asking == Asking::Nobody {
        return Ok(Permitted::No(format!("[auto-rejected: nobody can be asked] {reason}")));
    }
    let id = PermissionId::from_entropy(agent.world.entropy());
    let patience = Duration::from_secs(agent.kit.limits.permission_ttl_secs);
    let until = agent.world.now().after(patience);
    let expired = agent.world.options.clock.sleep(patience);
    let rule = suggested_rule(agent, one);
    let request = EventBody::PermissionRequested {
        id: id.clone(),
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        title: one.title.clone(),
        detail: one.tool.preview(&one.input, &context(agent, one, CancellationToken::new())),
        effect: one.effect,
        rule: rule.to_string(),
        until,
    };
    agent.note(EventBody::RunWaiting { reason: WaitReason::Permission, until: Some(until), detail: reason });
    agent.note(request);
    agent.journal.barrier().await?;
    let (answer, by, end) = wait(agent, &id, expired).await?;
    agent.note(EventBody::PermissionResolved { id, answer: answer.clone(), by: by.into() });
    agent.note(EventBody::RunResumed { reason: WaitReason::Permission });
    if let Some(end) = end {
        return Ok(Permitted::Ended(end));
    }
    if answer.decision == PermissionDecision::Deny {
        let words = answer
            .because
            .map_or_else(|| "[rejected by user]".into(), |words| format!("[rejected: {words}]"));
        return Ok(Permitted::No(if by == "expired" {
            "[auto-rejected: nobody answered in time]".into()
        } else {
            words
        }));
    }
    if answer.scope == PermissionScope::Session {
        agent.permitted.push(rule.clone());
        agent.policy.allow.push(rule);
    }
    Ok(Permitted::Yes)
}

/// The first answer to this question; a no if patience ends or the run does.
async fn wait(
    agent: &mut Agent,
    id: &PermissionId,
    mut expired: BoxFuture<'static, ()>,
) -> Result<(Answer, &'static str, Option<End>), Error> {
    let no = Answer { decision: PermissionDecision::Deny, scope: PermissionScope::Once, because: None };
    loop {
        if let Some(at) = agent.answers.iter().position(|(question, _)| question == id) {
            return Ok((agent.answers.swap_remove(at).1, "user", None));
        }
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            () = &mut expired => return Ok((no, "expired", None)),
        };
        if let Some(end) = agent.heed(came)? {
            return Ok((no, "cancelled", Some(end)));
        }
    }
}

fn suggested_rule(agent: &Agent, one: &Prepared) -> rooftree_tools::Rule {
    let subject = one.tool.subject(&one.input);
    let tool = one.tool.spec().name.as_str();
    Policy::suggested_rule(&Judged {
        tool,
        subject: subject.as_deref(),
        effect: one.effect,
        cwd: &agent.session.cwd,
    })
}
