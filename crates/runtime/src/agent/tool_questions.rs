//! Questions that tools ask the user while they run: stored durably, answered to the waiting call.

use std::{future::pending, sync::Arc};

use rooftree_protocol::{
    CallId, EventBody, InquiryResponse, Question, QuestionId, QuestionReply, Timestamp,
    event::WaitReason,
};
use rooftree_tools::tool::Inquirer;
use tokio::sync::{mpsc, oneshot};

use super::{
    AgentActor, hook_points,
    inquire::{self, NewInquiry},
};
use crate::Error;

/// A question of a running tool.
pub(super) struct ToolQuestion {
    call: CallId,
    /// How many questions the call asked before.
    before: usize,
    questions: Vec<Question>,
    told: oneshot::Sender<QuestionReply>,
}

/// The way from tools to their agent.
pub(super) struct ToolQuestionQueue {
    tx: mpsc::UnboundedSender<ToolQuestion>,
    rx: mpsc::UnboundedReceiver<ToolQuestion>,
}

impl Default for ToolQuestionQueue {
    fn default() -> Self {
        let (tx, rx) = mpsc::unbounded_channel();
        Self { tx, rx }
    }
}

impl ToolQuestionQueue {
    /// The next thing a tool wants to know.
    pub(super) async fn next(&mut self) -> ToolQuestion {
        match self.rx.recv().await {
            Some(wish) => wish,
            None => pending().await,
        }
    }

    /// The function with which the tool of one call asks questions.
    pub(super) fn inquirer(&self, call: &CallId) -> Inquirer {
        let (tx, call) = (self.tx.clone(), call.clone());
        let before = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        Arc::new(move |questions| {
            let before = before.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let (told, answer) = oneshot::channel();
            let sent = tx.send(ToolQuestion {
                call: call.clone(),
                before,
                questions,
                told,
            });
            Box::pin(async move {
                let declined = || QuestionReply::Declined {
                    because: Some("no user can be asked".into()),
                };
                if sent.is_err() {
                    return declined();
                }
                answer.await.unwrap_or_else(|_| declined())
            })
        })
    }
}

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    id: QuestionId,
    /// The server that asks, if it is one.
    server: Option<String>,
    until: Timestamp,
    told: oneshot::Sender<QuestionReply>,
}

/// Puts a question. Asked again after a crash, it is the one that was asked before.
pub(super) async fn put(
    agent: &mut AgentActor,
    wish: ToolQuestion,
    open_questions: &mut Vec<OpenQuestion>,
) -> Result<(), Error> {
    let ToolQuestion {
        call,
        before,
        questions,
        told,
    } = wish;
    let mut id = QuestionId::derived_from(call.as_str());
    if before > 0 {
        id = QuestionId::derived_from(&format!("{call}_{}", before + 1));
    }
    let asked = agent
        .history
        .run()
        .and_then(|run| run.asked(id.as_str()))
        .cloned();
    let server = hook_points::server_of(agent, &call);
    if let Some(server) = server.as_deref().filter(|_| asked.is_none())
        && let Some(reply) = hook_points::elicitation(agent, server, &questions).await?
    {
        hook_points::elicited(agent, server, &reply);
        let _ = told.send(reply);
        return Ok(());
    }
    if asked.is_none() && !inquire::is_possible(agent) {
        let because = Some("no user can be asked: this is not an interactive run".into());
        let _ = told.send(QuestionReply::Declined { because });
        return Ok(());
    }
    let until = asked.map_or_else(|| inquire::deadline(agent), |asked| asked.until);
    let words = questions
        .iter()
        .map(|question| question.text.as_str())
        .collect::<Vec<_>>()
        .join(" / ");
    let body = EventBody::QuestionRequested {
        id: id.clone(),
        call,
        questions,
        until,
    };
    let ask = NewInquiry {
        id: id.to_string(),
        digest: String::new(),
        until,
        body,
        reason: WaitReason::Question,
        words,
    };
    inquire::put(agent, &ask).await?;
    open_questions.push(OpenQuestion {
        id,
        server,
        until,
        told,
    });
    look(agent, open_questions).await
}

/// Tells the calls whose questions are answered, or whose time is up.
pub(super) async fn look(
    agent: &mut AgentActor,
    open_questions: &mut Vec<OpenQuestion>,
) -> Result<(), Error> {
    for one in std::mem::take(open_questions) {
        let answered = agent.context.store().answered(one.id.as_str()).await?;
        let is_late = agent.context.now() >= one.until;
        let (reply, by) = match answered {
            Some(answered) => match answered.response {
                InquiryResponse::Question(reply) => (reply, answered.by),
                InquiryResponse::Permission(_) => {
                    (QuestionReply::Declined { because: None }, answered.by)
                }
            },
            None if is_late => (declined("no answer in time"), "expired".into()),
            None => {
                open_questions.push(one);
                continue;
            }
        };
        settle(agent, one, reply, by).await?;
    }
    Ok(())
}

/// Takes back what was asked: the run ends.
pub(super) async fn withdraw(
    agent: &mut AgentActor,
    open_questions: Vec<OpenQuestion>,
) -> Result<(), Error> {
    for one in open_questions {
        settle(agent, one, declined("the run ended"), "cancelled".into()).await?;
    }
    Ok(())
}

/// The earliest deadline of the open questions.
pub(super) fn until(open_questions: &[OpenQuestion]) -> Option<Timestamp> {
    open_questions.iter().map(|one| one.until).min()
}

async fn settle(
    agent: &mut AgentActor,
    one: OpenQuestion,
    reply: QuestionReply,
    by: String,
) -> Result<(), Error> {
    let id = one.id.to_string();
    let outcome = EventBody::QuestionAnswered {
        id: one.id,
        reply: reply.clone(),
        by,
    };
    inquire::settle(agent, &id, outcome, Vec::new(), WaitReason::Question).await?;
    if let Some(server) = &one.server {
        hook_points::elicited(agent, server, &reply);
    }
    let _ = one.told.send(reply);
    Ok(())
}

fn declined(because: &str) -> QuestionReply {
    QuestionReply::Declined {
        because: Some(because.into()),
    }
}
