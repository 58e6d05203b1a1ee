//! Decides the next step of a run. Pure: no clock, no I/O, no awaiting.
//!
//! `run.rs` asks this after everything that happened and does what it says. Because the answer
//! depends on the history alone, a run that was killed goes on exactly where it was.

use rooftree_protocol::{ErrorCode, Limits, Outcome, Problem, ToolCall, event::StopReason};

use super::{History, limits::RunEndReason};

/// The next step of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextStep {
    /// Ask the model.
    Ask,
    /// Make these calls.
    Act(Vec<ToolCall>),
    /// Have the work checked.
    Verify,
    /// Make the context smaller in this way.
    Compact(CompactionStep),
    /// End.
    End(RunEndReason),
}

/// Room in the model's context window for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowRoom {
    /// Enough.
    Plenty,
    /// Little: it is time to make the context smaller.
    Tight,
    /// None: the provider has refused the question so many times.
    None(u32),
}

/// Whether verifiers check the work when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verification {
    /// The definition names verifiers.
    Wanted,
    /// It names none.
    No,
}

/// The ways to get room, from the gentlest to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionStep {
    /// Summarise what is older.
    Summarise,
    /// Cut older tool results.
    Trim,
    /// Start anew with the last request.
    StartOver,
}

/// Decides the next step from the history.
pub(crate) fn decide(
    history: &History,
    limits: &Limits,
    room: WindowRoom,
    checking: Verification,
) -> NextStep {
    let open: Vec<ToolCall> = history.open_calls().map(|open| open.call.clone()).collect();
    let (turns, identical, idle) = history.run().map_or((0, 0, 0), |run| {
        let reply = &run.reply;
        (run.progress.turns, reply.identical, reply.idle_turns)
    });
    let cut_off = history.run().map_or(0, |run| run.reply.cut_off);
    if turns > limits.max_turns {
        // The one turn more, which was for saying how far it got.
        return NextStep::End(RunEndReason::MaxTurns);
    }
    if !open.is_empty() {
        if identical > limits.identical_calls {
            return NextStep::End(RunEndReason::Failed(going_in_circles(&open, identical)));
        }
        if idle >= limits.identical_calls.saturating_mul(2) && idle > 0 {
            return NextStep::End(RunEndReason::Failed(no_progress(&open, idle)));
        }
        return NextStep::Act(open);
    }
    match history.last_reply() {
        Some(StopReason::Refused) => NextStep::End(RunEndReason::Failed(
            Problem::new(ErrorCode::ProviderRefused, "the model refused to go on")
                .fix("put the request differently, or use another model"),
        )),
        Some(StopReason::MaxOutput)
            if cut_off <= limits.continuations && turns < limits.max_turns =>
        {
            ask(history, room)
        }
        // No continuation is left: what was said so far must not look like the whole answer.
        Some(StopReason::MaxOutput) => NextStep::End(RunEndReason::Truncated),
        // Kept when the run was stopped, by a process that was gone before it could settle.
        Some(StopReason::Cancelled) => NextStep::End(RunEndReason::Cancelled),
        Some(_) if checking == Verification::Wanted && !history.is_checked() => NextStep::Verify,
        Some(_) => NextStep::End(RunEndReason::Completed),
        None if history.is_made() => NextStep::End(made(history)),
        None if turns >= limits.max_turns && !history.has_last_word(limits) => {
            NextStep::End(RunEndReason::MaxTurns)
        }
        None => ask(history, room),
    }
}

/// End of a run that was to make one call: as the call ended.
fn made(history: &History) -> RunEndReason {
    let (outcome, words) = match history.run() {
        Some(run) => (
            run.progress.last_outcome.unwrap_or(Outcome::Done),
            run.reply.text.as_str(),
        ),
        None => (Outcome::Done, ""),
    };
    let code = match outcome {
        Outcome::Done => return RunEndReason::Completed,
        Outcome::Cancelled => return RunEndReason::Cancelled,
        Outcome::Failed(code) => code,
        Outcome::Denied => ErrorCode::ToolDenied,
        Outcome::Unknown => ErrorCode::ToolFailed,
    };
    RunEndReason::Failed(Problem::new(code, words.lines().next().unwrap_or_default()))
}

/// Asks, or makes room first. Bounded: each way is tried once per question, then it is over.
fn ask(history: &History, room: WindowRoom) -> NextStep {
    match room {
        WindowRoom::Tight if history.shrunk() == 0 && history.is_shrinkable() => {
            NextStep::Compact(CompactionStep::Summarise)
        }
        WindowRoom::Plenty | WindowRoom::Tight => NextStep::Ask,
        WindowRoom::None(refusals) if refusals <= history.shrunk() => NextStep::Ask,
        WindowRoom::None(refusals) => match refusals {
            1 if history.is_shrinkable() => NextStep::Compact(CompactionStep::Summarise),
            2 if history.is_shrinkable() => NextStep::Compact(CompactionStep::Trim),
            // With nothing but the request left, starting anew would change nothing.
            1..=3 if history.is_shrinkable() => NextStep::Compact(CompactionStep::StartOver),
            _ => NextStep::End(RunEndReason::Failed(
                Problem::new(
                    ErrorCode::ContextTooLong,
                    "the request does not fit the model's window",
                )
                .cause("it is too long by itself: nothing is left that could be taken away")
                .fix("make the request shorter, or use a model with a larger window"),
            )),
        },
    }
}

/// What helps against a model that repeats itself.
const REPEATS_FIX: &str =
    "rephrase the request, or allow more repetitions: rooftree run -c limits.identical_calls=10 …";

fn going_in_circles(calls: &[ToolCall], times: u32) -> Problem {
    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    let what = names.join(", ");
    Problem::new(
        ErrorCode::LimitReached,
        format!("the model asked for the same {what} call {times} times in a row"),
    )
    .cause("it makes no progress")
    .fix(REPEATS_FIX)
}

/// Calls that alternate, or are refused again and again: no turn brings anything new.
fn no_progress(calls: &[ToolCall], turns: u32) -> Problem {
    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    Problem::new(
        ErrorCode::LimitReached,
        format!(
            "the last {turns} turns brought nothing new, and the model asks for {} again",
            names.join(", ")
        ),
    )
    .cause("each of their calls was refused or wrong, or had the result that it had before")
    .fix(REPEATS_FIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::*;

    #[test]
    fn a_table_of_histories_and_what_follows() {
        let limits = Limits {
            max_turns: 2,
            identical_calls: 1,
            ..Limits::default()
        };
        let next = |events: Vec<rooftree_protocol::Event>| {
            decide(
                &folded(&events),
                &limits,
                WindowRoom::Plenty,
                Verification::No,
            )
        };

        assert_eq!(next(vec![started(), user("hi")]), NextStep::Ask);
        assert_eq!(
            next(vec![started(), user("hi"), reply("done", &[])]),
            NextStep::End(RunEndReason::Completed)
        );
        let called = vec![started(), user("hi"), reply("", &["a", "b"])];
        assert!(matches!(next(called.clone()), NextStep::Act(calls) if calls.len() == 2));
        let half = [called.clone(), vec![result("a")]].concat();
        assert!(matches!(next(half.clone()), NextStep::Act(calls) if calls.len() == 1));
        let whole = [half, vec![result("b")]].concat();
        assert_eq!(next(whole.clone()), NextStep::Ask);
        let again = [whole, vec![reply("", &["a", "b"])]].concat();
        assert!(matches!(
            next(again),
            NextStep::End(RunEndReason::Failed(_))
        ));
        let used_up = vec![
            started(),
            user("x"),
            reply("", &["a"]),
            result("a"),
            reply("", &["c"]),
            result("c"),
        ];
        assert_eq!(next(used_up), NextStep::End(RunEndReason::MaxTurns));
        let said_at_the_limit = vec![
            started(),
            user("x"),
            reply("", &["a"]),
            result("a"),
            reply("done", &[]),
        ];
        assert_eq!(
            next(said_at_the_limit),
            NextStep::End(RunEndReason::Completed)
        );
        assert_eq!(
            next(vec![started(), user("x"), cut_short("do")]),
            NextStep::End(RunEndReason::Cancelled)
        );
    }

    #[test]
    fn a_run_that_was_to_make_one_call_ends_as_the_call_does() {
        let next = |events: Vec<rooftree_protocol::Event>| {
            decide(
                &folded(&events),
                &Limits::default(),
                WindowRoom::Plenty,
                Verification::Wanted,
            )
        };
        let called = vec![started(), directed("a"), reply("", &["a"])];
        assert!(matches!(next(called.clone()), NextStep::Act(calls) if calls.len() == 1));
        let made = [called.clone(), vec![result("a")]].concat();
        assert_eq!(next(made.clone()), NextStep::End(RunEndReason::Completed));
        assert_eq!(
            folded(&made).run().map(|run| run.reply.text.as_str()),
            Some("result of a")
        );
        let mut failed = result("a");
        if let rooftree_protocol::EventBody::ToolCompleted(record) = &mut failed.body {
            record.outcome = Outcome::Denied;
        }
        assert!(
            matches!(next([called, vec![failed]].concat()), NextStep::End(RunEndReason::Failed(problem))
            if problem.code == ErrorCode::ToolDenied)
        );
        let mut steering = user("and then?");
        if let rooftree_protocol::EventBody::MessageUser { lane, .. } = &mut steering.body {
            *lane = rooftree_protocol::Lane::Boundary;
        }
        let steered = [made, vec![steering]].concat();
        assert_eq!(
            next(steered),
            NextStep::Ask,
            "whoever says something is answered"
        );
    }
}
