//! Decides what follows. Pure: no clock, no I/O, no awaiting.
//!
//! `run.rs` asks this after everything that happened and does what it says. Because the answer
//! depends on the history alone, a run that was killed goes on exactly where it was.

use rooftree_protocol::{ErrorCode, Limits, Outcome, Problem, ToolCall, event::StopReason};

use super::{History, limits::End};

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask the model.
    Ask,
    /// Make these calls.
    Act(Vec<ToolCall>),
    /// Have the work checked.
    Verify,
    /// Make the context smaller in this way.
    Compact(Squeeze),
    /// End.
    End(End),
}

/// How much room the model's window has for the next question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough.
    Plenty,
    /// Little: it is time to make the context smaller.
    Tight,
    /// None: the provider has refused the question so many times.
    None(u32),
}

/// Whether somebody checks the work when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checking {
    /// The definition names verifiers.
    Wanted,
    /// Nobody does.
    No,
}

/// The ways to get room, from the gentlest to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Squeeze {
    /// Summarise what is older.
    Summarise,
    /// Cut older tool results.
    Trim,
    /// Start anew with the last request.
    StartOver,
}

/// What follows this history.
pub(crate) fn decide(history: &History, limits: &Limits, room: Room, checking: Checking) -> Next {
    let open: Vec<ToolCall> = history.open_calls().map(|open| open.call.clone()).collect();
    let (turns, identical) = history.run().map_or((0, 0), |run| (run.turns, run.identical));
    let cut_off = history.run().map_or(0, |run| run.cut_off);
    if turns > limits.max_turns {
        // The one turn more, which was for saying how far it got.
        return Next::End(End::MaxTurns);
    }
    if !open.is_empty() {
        if identical > limits.identical_calls {
            return Next::End(End::Failed(going_in_circles(&open, identical)));
        }
        return Next::Act(open);
    }
    match history.last_reply() {
        Some(StopReason::Refused) => Next::End(End::Failed(
            Problem::new(ErrorCode::ProviderRefused, "the model refused to go on")
                .fix("put the request differently, or use another model"),
        )),
        Some(StopReason::MaxOutput) if cut_off <= limits.continuations && turns < limits.max_turns => {
            ask(history, room)
        }
        // No continuation is left: what was said so far must not look like the whole answer.
        Some(StopReason::MaxOutput) => Next::End(End::Truncated),
        // Kept when the run was stopped, by a process that was gone before it could settle.
        Some(StopReason::Cancelled) => Next::End(End::Cancelled),
        Some(_) if checking == Checking::Wanted && !history.is_checked() => Next::Verify,
        Some(_) => Next::End(End::Completed),
        None if history.is_made() => Next::End(made(history)),
        None if turns >= limits.max_turns && !history.has_last_word(limits) => Next::End(End::MaxTurns),
        None => ask(history, room),
    }
}

/// How a run ends that was to make one call: as the call did.
fn made(history: &History) -> End {
    let (outcome, words) = match history.run() {
        Some(run) => (run.last_outcome.unwrap_or(Outcome::Done), run.text.as_str()),
        None => (Outcome::Done, ""),
    };
    let code = match outcome {
        Outcome::Done => return End::Completed,
        Outcome::Cancelled => return End::Cancelled,
        Outcome::Failed(code) => code,
        Outcome::Denied => ErrorCode::ToolDenied,
        Outcome::Unknown => ErrorCode::ToolFailed,
    };
    End::Failed(Problem::new(code, words.lines().next().unwrap_or_default()))
}

/// Asks, or makes room first. Bounded: each way is tried once per question, then it is over.
fn ask(history: &History, room: Room) -> Next {
    match room {
        Room::Tight if history.shrunk() == 0 && history.is_shrinkable() => Next::Compact(Squeeze::Summarise),
        Room::Plenty | Room::Tight => Next::Ask,
        Room::None(refusals) if refusals <= history.shrunk() => Next::Ask,
        Room::None(refusals) => match refusals {
            1 if history.is_shrinkable() => Next::Compact(Squeeze::Summarise),
            2 if history.is_shrinkable() => Next::Compact(Squeeze::Trim),
            // With nothing but the request left, starting anew would change nothing.
            1..=3 if history.is_shrinkable() => Next::Compact(Squeeze::StartOver),
            _ => Next::End(End::Failed(
                Problem::new(ErrorCode::ContextTooLong, "the request does not fit the model's window")
                    .cause("it is too long by itself: nothing is left that could be taken away")
                    .fix("make the request shorter, or use a model with a larger window"),
            )),
        },
    }
}

fn going_in_circles(calls: &[ToolCall], times: u32) -> Problem {
    let names: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
    let what = names.join(", ");
    Problem::new(
        ErrorCode::LimitReached,
        format!("the model asked for the same {what} call {times} times in a row"),
    )
    .cause("it makes no progress")
    .fix("rephrase the request, or raise limits.identical_calls")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::*;

    #[test]
    fn a_table_of_histories_and_what_follows() {
        let limits = Limits { max_turns: 2, identical_calls: 1, ..Limits::default() };
        let next = |events: Vec<rooftree_protocol::Event>| {
            decide(&folded(&events), &limits, Room::Plenty, Checking::No)
        };

        assert_eq!(next(vec![started(), user("hi")]), Next::Ask);
        assert_eq!(next(vec![started(), user("hi"), reply("done", &[])]), Next::End(End::Completed));
        let called = vec![started(), user("hi"), reply("", &["a", "b"])];
        assert!(matches!(next(called.clone()), Next::Act(calls) if calls.len() == 2));
        let half = [called.clone(), vec![result("a")]].concat();
        assert!(matches!(next(half.clone()), Next::Act(calls) if calls.len() == 1));
        let whole = [half, vec![result("b")]].concat();
        assert_eq!(next(whole.clone()), Next::Ask);
        let again = [whole, vec![reply("", &["a", "b"])]].concat();
        assert!(matches!(next(again), Next::End(End::Failed(_))));
        let used_up =
            vec![started(), user("x"), reply("", &["a"]), result("a"), reply("", &["c"]), result("c")];
        assert_eq!(next(used_up), Next::End(End::MaxTurns));
        let said_at_the_limit =
            vec![started(), user("x"), reply("", &["a"]), result("a"), reply("done", &[])];
        assert_eq!(next(said_at_the_limit), Next::End(End::Completed));
        assert_eq!(next(vec![started(), user("x"), cut_short("do")]), Next::End(End::Cancelled));
    }

    #[test]
    fn a_run_that_was_to_make_one_call_ends_as_the_call_does() {
        let next = |events: Vec<rooftree_protocol::Event>| {
            decide(&folded(&events), &Limits::default(), Room::Plenty, Checking::Wanted)
        };
        let called = vec![started(), directed("a"), reply("", &["a"])];
        assert!(matches!(next(called.clone()), Next::Act(calls) if calls.len() == 1));
        let made = [called.clone(), vec![result("a")]].concat();
        assert_eq!(next(made.clone()), Next::End(End::Completed));
        assert_eq!(folded(&made).run().map(|run| run.text.as_str()), Some("result of a"));
        let mut failed = result("a");
        if let rooftree_protocol::EventBody::ToolCompleted(record) = &mut failed.body {
            record.outcome = Outcome::Denied;
        }
        assert!(matches!(next([called, vec![failed]].concat()), Next::End(End::Failed(problem))
            if problem.code == ErrorCode::ToolDenied));
        let mut steering = user("and then?");
        if let rooftree_protocol::EventBody::MessageUser { lane, .. } = &mut steering.body {
            *lane = rooftree_protocol::Lane::Boundary;
        }
        let steered = [made, vec![steering]].concat();
        assert_eq!(next(steered), Next::Ask, "whoever says something is answered");
    }
}
