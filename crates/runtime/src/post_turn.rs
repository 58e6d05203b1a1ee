//! Orders the messages of one reply by its calls, although the calls run concurrently.
//!
//! Calls of a reply run at the same time. Those that may reach the same session take turns: each finds its target and
//! queues its message before the next one does. Nothing else waits: children that get a session of their own start at
//! once, and no answer is waited for.

use std::collections::BTreeSet;

use rooftree_tools::Tool;
use serde_json::Value;
use tokio::sync::watch;

/// Gives out turns, in the order in which calls ask for one.
#[derive(Default)]
pub(crate) struct PostTurns {
    given: u64,
    /// Turns that have not passed.
    open: watch::Sender<BTreeSet<u64>>,
}

impl PostTurns {
    /// The turn of a call; one that can reach no session of another call needs none.
    pub(crate) fn of(&mut self, tool: &dyn Tool, input: &Value) -> PostTurn {
        if !tool.is_ordered(input) {
            return PostTurn::default();
        }
        self.next()
    }

    fn next(&mut self) -> PostTurn {
        self.given += 1;
        self.open.send_modify(|open| open.extend([self.given]));
        PostTurn(Some((self.given, self.open.clone())))
    }
}

/// A call's turn. It passes when the call says so, and when the call ends.
#[derive(Default)]
pub(crate) struct PostTurn(Option<(u64, watch::Sender<BTreeSet<u64>>)>);

impl PostTurn {
    /// Waits until the turns of all calls before this one have passed.
    pub(crate) async fn wait(&self) {
        if let Some((own, open)) = &self.0 {
            let _ = open
                .subscribe()
                .wait_for(|open| open.first().is_none_or(|first| first >= own))
                .await;
        }
    }

    /// Lets the next call go on, as soon as the calls before this one have passed too.
    pub(crate) fn pass(&self) {
        if let Some((own, open)) = &self.0 {
            open.send_modify(|open| open.retain(|turn| turn != own));
        }
    }
}

impl Drop for PostTurn {
    fn drop(&mut self) {
        self.pass();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn r2_d5_a_call_that_ends_early_lets_no_other_overtake_the_one_before_it() {
        let mut turns = PostTurns::default();
        let [first, second, third] = [(); 3].map(|()| turns.next());
        assert!(first.wait().now_or_never().is_some());
        drop(second);
        assert!(
            third.wait().now_or_never().is_none(),
            "the first call has not posted yet"
        );
        first.pass();
        assert!(third.wait().now_or_never().is_some());
    }
}
