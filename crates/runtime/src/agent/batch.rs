//! Runs calls that are permitted: intents kept, tools run, results kept as they come. So are calls that
//! commands make from inside one of them, which join the batch they come from.
//!
//! Invariant: this is the only place where a tool is run.

use std::{collections::VecDeque, future::pending, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rooftree_protocol::{
    ErrorCode, EventBody, Outcome, Repeat, Timestamp, ToolCall, ToolKind, event::NoticeLevel,
};
use rooftree_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::{
    Agent,
    call::{Prepared, context, leave},
    hook_points::{self, Used},
    inner, inquire,
    journal::Commit,
    limits::End,
    questions, result,
};
use crate::{
    Error,
    doorway::Pass,
    post_turn::{PostTurn, PostTurns},
};

/// How long a cancelled tool may take to stop before it is given up.
const GRACE: Duration = Duration::from_secs(5);

type Running = BoxFuture<'static, (Prepared, ToolOutput, Timestamp)>;

/// Calls under way, and what people were asked about them.
struct Batch {
    running: FuturesUnordered<Running>,
    asked: Vec<questions::Standing>,
    inner: inner::Questions,
}

enum Step {
    On,
    Done,
    Ended(End),
}

/// Runs the calls; says if the run must end for something that came meanwhile.
pub(super) async fn run(
    agent: &mut Agent,
    calls: Vec<Prepared>,
    used: &mut Vec<Used>,
) -> Result<Option<End>, Error> {
    let before = used.len();
    intend(agent, &calls).await?;
    let stop = CancellationToken::new();
    let mut turns = PostTurns::default();
    let started = calls.into_iter().map(|one| {
        let turn = turns.of(one.tool.as_ref(), &one.input);
        start(agent, one, stop.child_token(), turn)
    });
    let running = started.collect();
    let mut batch = Batch { running, asked: Vec::new(), inner: inner::Questions::default() };
    let end = loop {
        match batch.step(agent, used).await? {
            Step::On => {}
            Step::Done => {
                agent.inner.end();
                // Whoever asked has ended without waiting for the answer.
                questions::withdraw(agent, batch.asked).await?;
                hook_points::after_tools(agent, used.get(before..).unwrap_or_default()).await?;
                return Ok(None);
            }
            Step::Ended(end) => break end,
        }
    };
    stop.cancel();
    batch.wind_up(agent, &end).await?;
    agent.inner.end();
    Ok(Some(end))
}

impl Batch {
    /// Waits for the next thing to happen, and does what follows.
    async fn step(&mut self, agent: &mut Agent, used: &mut Vec<Used>) -> Result<Step, Error> {
        let at_once = agent.kit.limits.concurrent_calls;
        let (interruption, too_late, left) = (agent.interruption(), self.too_late(agent), self.inner.left());
        tokio::select! {
            biased;
            came = interruption => {
                let ended = agent.heed(came)?;
                self.look(agent).await?;
                return Ok(ended.map_or(Step::On, Step::Ended));
            }
            wish = agent.wishes.next() => {
                questions::put(agent, wish, &mut self.asked).await?;
                // A hook was asked first, and something may have come meanwhile.
                return Ok(agent.ending.take().map_or(Step::On, Step::Ended));
            }
            () = too_late => self.look(agent).await?,
            () = left => self.look(agent).await?,
            done = self.running.next() => {
                let Some((call, output, since)) = done else { return Ok(Step::Done) };
                used.extend(hook_points::used(agent, &call, &output));
                result::keep(agent, &call, output, since, None);
            }
            // Last: whoever knocks without end keeps nothing else waiting.
            knock = agent.inner.next(at_once) => {
                let ready = self.inner.hear(agent, knock).await?;
                self.begin(agent, ready.into_iter().collect()).await?;
                return Ok(agent.ending.take().map_or(Step::On, Step::Ended));
            }
        }
        Ok(Step::On)
    }

    /// Resolves when the time of the first question is up.
    fn too_late(&self, agent: &Agent) -> BoxFuture<'static, ()> {
        match [questions::until(&self.asked), self.inner.until()].into_iter().flatten().min() {
            Some(until) => inquire::patience(agent, until),
            None => Box::pin(pending()),
        }
    }

    /// Looks for answers.
    async fn look(&mut self, agent: &mut Agent) -> Result<(), Error> {
        questions::look(agent, &mut self.asked).await?;
        let ready = self.inner.look(agent).await?;
        self.begin(agent, ready).await
    }

    /// Begins calls from inside.
    async fn begin(&mut self, agent: &mut Agent, ready: Vec<inner::Ready>) -> Result<(), Error> {
        for inner::Ready { one, gone } in ready {
            intend(agent, std::slice::from_ref(&one)).await?;
            self.running.push(start(agent, one, gone, PostTurn::default()));
        }
        Ok(())
    }

    /// Lets cancelled tools stop and keeps what they have. When the run is only paused, calls that can be
    /// repeated are left without a result and are made again later; nobody makes those from inside again.
    async fn wind_up(mut self, agent: &mut Agent, end: &End) -> Result<(), Error> {
        let is_paused = *end == End::Paused;
        if !is_paused {
            questions::withdraw(agent, self.asked).await?;
        }
        self.inner.withdraw(agent).await?;
        while let Ok(Some((call, output, since))) = tokio::time::timeout(GRACE, self.running.next()).await {
            if !is_paused || call.repeat == Repeat::AtMostOnce || call.inside.is_some() {
                result::keep(agent, &call, output, since, Some(Outcome::Cancelled));
            }
        }
        drop(self.running);
        let words = "[cancelled] it did not stop in time and was abandoned";
        inner::leave(agent, Outcome::Cancelled, words);
        if !is_paused {
            let late = agent.history.open_calls().filter(|open| open.intent.is_some());
            let late: VecDeque<ToolCall> = late.map(|open| open.call.clone()).collect();
            leave(agent, late, words);
        }
        Ok(())
    }
}

/// Keeps what is about to happen. It must be on disk before anything happens that cannot be repeated.
async fn intend(agent: &mut Agent, calls: &[Prepared]) -> Result<(), Error> {
    let bodies = calls.iter().map(intent).collect();
    agent.append(Commit { bodies, run: agent.run_id(), ..Commit::default() });
    if calls.iter().any(|one| one.repeat != Repeat::Pure) {
        agent.journal.barrier().await?;
    }
    rooftree_store::failpoint::reach_at("tool.intended", agent.depth());
    Ok(())
}

fn intent(one: &Prepared) -> EventBody {
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
    }
}

fn start(agent: &Agent, one: Prepared, cancel: CancellationToken, turn: PostTurn) -> Running {
    let mut context = context(agent, &one, cancel, turn);
    let pass = pass(agent, &one);
    context.way_back = pass.as_ref().map(|pass| pass.way_back.clone());
    let since = agent.world.now();
    let work = one.tool.run(one.input.clone(), context);
    Box::pin(async move {
        let output = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        let output = output
            .unwrap_or_else(|_| ToolOutput::failed(ErrorCode::Internal, "the tool crashed; this is a bug"));
        // From here on nobody is let in for this call.
        drop(pass);
        (one, output, since)
    })
}

/// Lets the commands of a call call tools, if the agent has some that are for commands. Commands of a call
/// from inside are let in nowhere.
fn pass(agent: &Agent, one: &Prepared) -> Option<Pass> {
    let exposed = agent.kit.exposed.as_ref()?;
    if one.tool.kind() != ToolKind::Execute || one.inside.is_some() {
        return None;
    }
    let chance = [agent.world.entropy(), agent.world.entropy()];
    match agent.world.doorway.admit(&one.call.id, agent.inner.entrance(), chance) {
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
