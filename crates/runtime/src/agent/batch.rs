//! Runs permitted tool calls concurrently: records intents, runs tools, records results as they come. Nested calls,
//! which commands make from inside a call, join its batch.
//!
//! Invariant: this is the only place where a tool is run.

use std::{collections::VecDeque, future::pending, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rooftree_protocol::{
    ErrorCode, EventBody, Outcome, Repeat, Timestamp, ToolCall, ToolKind, event::NoticeLevel,
    file_undo::FilePreimage,
};
use rooftree_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::{
    AgentActor,
    call::{PreparedCall, context, record_cancelled},
    call_progress::CallProgress,
    hook_points::{self, CompletedToolUse},
    inquire,
    journal::JournalCommit,
    limits::RunEndReason,
    nested_calls, preimages, result, tool_questions,
};
use crate::{
    Error,
    call_socket::CallToken,
    post_turn::{PostTurn, PostTurns},
};

/// Timeout for a cancelled tool to stop before it is given up.
const GRACE: Duration = Duration::from_secs(5);

type RunningCall = BoxFuture<'static, (PreparedCall, ToolOutput, Timestamp)>;

/// Calls under way, and what people were asked about them.
struct CallBatch {
    running: FuturesUnordered<RunningCall>,
    asked: Vec<tool_questions::OpenQuestion>,
    inner: nested_calls::NestedPermissions,
    progress: CallProgress,
}

enum BatchStep {
    On,
    Done,
    Ended(RunEndReason),
}

/// Runs the calls; says if the run must end for something that came meanwhile.
pub(super) async fn run(
    agent: &mut AgentActor,
    calls: Vec<PreparedCall>,
    used: &mut Vec<CompletedToolUse>,
) -> Result<Option<RunEndReason>, Error> {
    let before = used.len();
    intend(agent, &calls).await?;
    let stop = CancellationToken::new();
    let mut turns = PostTurns::default();
    let mut progress = CallProgress::new(agent.context.now());
    let started = calls.into_iter().map(|one| {
        progress.begin(&one.call.id, agent.context.now());
        let turn = turns.of(one.tool.as_ref(), &one.input);
        start(agent, one, stop.child_token(), turn)
    });
    let running = started.collect();
    let mut batch = CallBatch {
        running,
        asked: Vec::new(),
        inner: nested_calls::NestedPermissions::default(),
        progress,
    };
    let end = loop {
        match batch.step(agent, used).await? {
            BatchStep::On => {}
            BatchStep::Done => {
                agent.calls.nested.end();
                // The call that asked these questions has ended without waiting for the answer.
                tool_questions::withdraw(agent, batch.asked).await?;
                hook_points::after_tools(agent, used.get(before..).unwrap_or_default()).await?;
                return Ok(None);
            }
            BatchStep::Ended(end) => break end,
        }
    };
    stop.cancel();
    batch.wind_up(agent, &end).await?;
    agent.calls.nested.end();
    Ok(Some(end))
}

impl CallBatch {
    /// Waits for the next thing to happen, and does what follows.
    async fn step(
        &mut self,
        agent: &mut AgentActor,
        used: &mut Vec<CompletedToolUse>,
    ) -> Result<BatchStep, Error> {
        let at_once = agent.resolved.limits.concurrent_calls;
        let (interruption, too_late, left, progress) = (
            agent.interruption(),
            self.too_late(agent),
            self.inner.left(),
            self.progress.due(agent),
        );
        tokio::select! {
            biased;
            came = interruption => {
                let ended = agent.apply_interruption(came)?;
                self.look(agent).await?;
                return Ok(ended.map_or(BatchStep::On, BatchStep::Ended));
            }
            wish = agent.calls.questions.next() => {
                tool_questions::put(agent, wish, &mut self.asked).await?;
                // A hook was asked first, and something may have come meanwhile.
                return Ok(agent.inbox.end_reason.take().map_or(BatchStep::On, BatchStep::Ended));
            }
            () = too_late => self.look(agent).await?,
            () = left => self.look(agent).await?,
            () = progress => self.progress.tell(agent),
            done = self.running.next() => {
                let Some((call, output, since)) = done else { return Ok(BatchStep::Done) };
                self.progress.end(&call.call.id);
                used.extend(hook_points::used(agent, &call, &output));
                result::record_result(agent, &call, output, since, None);
            }
            // Last: a command that sends nested calls without end keeps nothing else waiting.
            request = agent.calls.nested.next(at_once) => {
                let ready = self.inner.hear(agent, request).await?;
                self.begin(agent, ready.into_iter().collect()).await?;
                return Ok(agent.inbox.end_reason.take().map_or(BatchStep::On, BatchStep::Ended));
            }
        }
        Ok(BatchStep::On)
    }

    /// Resolves when the time of the first question is up.
    fn too_late(&self, agent: &AgentActor) -> BoxFuture<'static, ()> {
        match [tool_questions::until(&self.asked), self.inner.until()]
            .into_iter()
            .flatten()
            .min()
        {
            Some(until) => inquire::sleep_until(agent, until),
            None => Box::pin(pending()),
        }
    }

    /// Looks for answers.
    async fn look(&mut self, agent: &mut AgentActor) -> Result<(), Error> {
        tool_questions::look(agent, &mut self.asked).await?;
        let ready = self.inner.look(agent).await?;
        self.begin(agent, ready).await
    }

    /// Begins calls from inside.
    async fn begin(
        &mut self,
        agent: &mut AgentActor,
        ready: Vec<nested_calls::ReadyNestedCall>,
    ) -> Result<(), Error> {
        for nested_calls::ReadyNestedCall { one, gone } in ready {
            intend(agent, std::slice::from_ref(&one)).await?;
            self.progress.begin(&one.call.id, agent.context.now());
            self.running
                .push(start(agent, one, gone, PostTurn::default()));
        }
        Ok(())
    }

    /// Lets cancelled tools stop and keeps their results. When the run is only paused, calls that can be repeated are
    /// left without a result and are made again later; nested calls are never repeated.
    async fn wind_up(mut self, agent: &mut AgentActor, end: &RunEndReason) -> Result<(), Error> {
        let is_paused = *end == RunEndReason::Paused;
        if !is_paused {
            tool_questions::withdraw(agent, self.asked).await?;
        }
        self.inner.withdraw(agent).await?;
        while let Ok(Some((call, output, since))) =
            tokio::time::timeout(GRACE, self.running.next()).await
        {
            if !is_paused || call.repeat == Repeat::AtMostOnce || call.inside.is_some() {
                result::record_result(agent, &call, output, since, Some(Outcome::Cancelled));
            }
        }
        drop(self.running);
        let words = "[cancelled] it did not stop in time and was abandoned";
        nested_calls::record_unfinished(agent, Outcome::Cancelled, words);
        if !is_paused {
            let late = agent
                .history
                .open_calls()
                .filter(|open| open.intent.is_some());
            let late: VecDeque<ToolCall> = late.map(|open| open.call.clone()).collect();
            record_cancelled(agent, late, words);
        }
        Ok(())
    }
}

/// Keeps what is about to happen. It must be on disk before anything happens that cannot be repeated.
async fn intend(agent: &mut AgentActor, calls: &[PreparedCall]) -> Result<(), Error> {
    let before = preimages::read(agent, calls).await;
    let started = calls.iter().zip(before.of_calls);
    agent.append(JournalCommit {
        bodies: started.map(|(one, files)| intent(one, files)).collect(),
        blobs: before.blobs,
        run: agent.run_id(),
        ..JournalCommit::default()
    });
    if calls.iter().any(|one| one.repeat != Repeat::Pure) {
        agent.journal.barrier().await?;
    }
    rooftree_store::failpoint::reach_at("tool.intended", agent.depth());
    Ok(())
}

fn intent(one: &PreparedCall, before: Vec<FilePreimage>) -> EventBody {
    EventBody::ToolStarted {
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        kind: one.tool.kind(),
        title: one.title.clone(),
        input: one.input.clone(),
        effect: one.effect,
        repeat: one.repeat,
        permitted: one.permitted.clone(),
        inside: one.inside.clone(),
        before,
    }
}

fn start(
    agent: &AgentActor,
    one: PreparedCall,
    cancel: CancellationToken,
    turn: PostTurn,
) -> RunningCall {
    let mut context = context(agent, &one, cancel, turn);
    let pass = pass(agent, &one);
    context.way_back = pass.as_ref().map(|pass| pass.way_back.clone());
    let since = agent.context.now();
    let work = one.tool.run(one.input.clone(), context);
    Box::pin(async move {
        let output = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        let output = output.unwrap_or_else(|_| {
            ToolOutput::failed(ErrorCode::Internal, "the tool crashed; this is a bug")
        });
        // From here on no nested call is accepted for this call.
        drop(pass);
        (one, output, since)
    })
}

/// Lets the commands of a call call tools, if the agent has some that are for commands. Commands of a call
/// from inside are let in nowhere.
fn pass(agent: &AgentActor, one: &PreparedCall) -> Option<CallToken> {
    let exposed = agent.resolved.exposed.as_ref()?;
    if one.tool.kind() != ToolKind::Execute || one.inside.is_some() {
        return None;
    }
    let chance = [agent.context.entropy(), agent.context.entropy()];
    match agent
        .context
        .call_socket
        .admit(&one.call.id, agent.calls.nested.entrance(), chance)
    {
        Ok(mut pass) => {
            pass.way_back.visible.push(exposed.directory().to_owned());
            Some(pass)
        }
        Err(error) => {
            agent.say(EventBody::Notice {
                level: NoticeLevel::Warning,
                code: "exposure".into(),
                message: format!("commands cannot call tools: the socket cannot be made: {error}"),
                hint: None,
            });
            None
        }
    }
}
