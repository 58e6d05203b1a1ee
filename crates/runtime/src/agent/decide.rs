//! Decides what follows. Pure: no clock, no I/O, no awaiting.
//!
//! `run.rs` asks this after everything that happened and does what it says. Because the answer
//! depends on the history alone, a run that was killed goes on exactly where it was.

use rooftree_protocol::{ErrorCode, Limits, Problem, ToolCall, event::StopReason};

use super::{History, limits::End};

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask the model.
    Ask,
    /// Make these calls.
    Act(Vec<ToolCall>),
    /// End.
    End(End),
}

/// What follows this history.
pub(crate) fn decide(history: &History, limits: &Limits) -> Next {
    let open: Vec<ToolCall> = history.open_calls().map(|open| open.call.clone()).collect();
    let (turns, identical) = history.run().map_or((0, 0), |run| (run.turns, run.identical));
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
        // Kept when the run was stopped, by a process that was gone before it could settle.
        Some(StopReason::Cancelled) => Next::End(End::Cancelled),
        Some(_) => Next::End(End::Completed),
        None if turns >= limits.max_turns => Next::End(End::MaxTurns),
        None => Next::Ask,
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
        let next = |events: Vec<rooftree_protocol::Event>| decide(&folded(&events), &limits);

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
}
