//! Compares events with what a test expects, and prints a diff where they differ.

use std::fmt::Write;

use rooftree_protocol::{Event, EventBody};
use rooftree_stdx::shorten::shorten;

/// Characters of what an event says that are shown.
const SHOWN: usize = 96;

/// One event that is expected. Made by [`assert_events!`](crate::testing::assert_events).
#[doc(hidden)]
pub struct ExpectedEvent<'a> {
    /// As it is written in the test.
    pub written: &'static str,
    /// Whose event it is, if that matters.
    pub agent: Option<&'a str>,
    pub fits: &'a dyn Fn(&EventBody) -> bool,
}

impl ExpectedEvent<'_> {
    fn is(&self, event: &Event) -> bool {
        self.agent.is_none_or(|agent| agent == event.agent) && (self.fits)(&event.body)
    }
}

/// Panics with a picture of both if events did not come as expected.
#[doc(hidden)]
#[track_caller]
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn expect_events(events: &[Event], steps: &[ExpectedEvent<'_>], only: &[ExpectedEvent<'_>]) {
    if let Err(difference) = compare(events, steps, only) {
        panic!("{difference}");
    }
}

/// Each step takes the first event that fits, after that of the step before. What is passed over must not be
/// one of those that have to be listed.
fn compare(
    events: &[Event],
    steps: &[ExpectedEvent<'_>],
    only: &[ExpectedEvent<'_>],
) -> Result<(), String> {
    let mut missing = steps.iter();
    let mut wanted = missing.next();
    let mut taken = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if let Some(step) = wanted
            && step.is(event)
        {
            taken.push(at);
            wanted = missing.next();
        } else if let Some(rule) = only
            .iter()
            .find(|rule| event.id.is_some() && rule.is(event))
        {
            let why = format!("not expected, because of `only {}`", rule.written);
            return Err(picture(events, steps, &taken, Some((at, why))));
        }
    }
    if wanted.is_none() {
        Ok(())
    } else {
        Err(picture(events, steps, &taken, None))
    }
}

/// What was expected and what came, each with what it was matched to.
fn picture(
    events: &[Event],
    steps: &[ExpectedEvent<'_>],
    taken: &[usize],
    stray: Option<(usize, String)>,
) -> String {
    let mut text = String::from("events do not come as expected\n\nexpected:\n");
    for (number, step) in steps.iter().enumerate() {
        let mark = match number.cmp(&taken.len()) {
            std::cmp::Ordering::Less => "✓",
            std::cmp::Ordering::Equal if stray.is_none() => "✗",
            _ => " ",
        };
        let agent = step
            .agent
            .map_or_else(String::new, |agent| format!(" in {agent:?}"));
        let _ = writeln!(
            text,
            "{mark} {:>2}  {}{agent}",
            number + 1,
            flat(step.written)
        );
    }
    text.push_str("\ncame:\n");
    let searched_from = taken.last().map_or(0, |last| last + 1);
    for (at, event) in events.iter().enumerate() {
        let place = taken
            .iter()
            .position(|taken| *taken == at)
            .map(|number| format!("{:>2}", number + 1));
        if stray.is_none() && at == searched_from {
            let _ = writeln!(
                text,
                "✗ step {} is not among what follows:",
                taken.len() + 1
            );
        }
        let _ = writeln!(
            text,
            "  {}  {}",
            place.as_deref().unwrap_or(" ·"),
            event_line(event)
        );
        if let Some((_, why)) = stray.as_ref().filter(|(stray, _)| *stray == at) {
            let _ = writeln!(text, "✗     ↑ {why}");
        }
    }
    if stray.is_none() && searched_from == events.len() {
        let _ = writeln!(
            text,
            "✗ step {} is not among them: nothing follows",
            taken.len() + 1
        );
    }
    text
}

/// An event on one line: agent, name, and the beginning of what it says.
fn event_line(event: &Event) -> String {
    let said = serde_json::to_value(&event.body).ok();
    let said = said.and_then(|mut body| body.get_mut("data").map(serde_json::Value::take));
    let said = said.map_or_else(String::new, |data| flat(&data.to_string()));
    let shown = shorten(&said, SHOWN);
    format!("{:<10} {:<20} {shown}", event.agent, event.body.name())
}

/// On one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that events came in this order; others may lie between.
///
/// Patterns are those of [`EventBody`](crate::EventBody), which need not be named. `in "agent"` says whose event
/// it is, `if` what else must be true. Each one takes the first event that fits and comes after the one before.
///
/// `only PATTERN`, after the list, says that nothing else of this kind happened: every event it fits must be
/// one of the list. So `only _` makes it exact. Passing events, such as pieces of text, count as little as they
/// do in a journal: they may be listed, but `only` does not ask for them.
///
/// Events are anything that can be read as `[Event]`, such as what [`Events::all`](crate::Events::all),
/// [`Run::all`](crate::Run::all) and [`SessionFeed::stored`](crate::SessionFeed::stored) give.
///
/// ```
/// use rooftree::{RunStatus, query, testing::{ScriptedModel, assert_events, call, say}};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> rooftree::Result<()> {
/// let model = ScriptedModel::from_replies([
///     say("Let me look.").calls([call("Glob", json!({"pattern": "*.nothing"}))]),
///     say("There is nothing here."),
/// ])?;
/// let events = query("What is here?").provider("scripted", model).stream().all().await?;
/// assert_events!(events, [
///     RunStarted { .. } in "lead",
///     ToolStarted { tool, .. } if tool == "Glob",
///     RunCompleted(end) if end.status == RunStatus::Completed,
/// ], only ToolStarted { .. });
/// # Ok(()) }
/// ```
///
/// If they came another way, it says what was expected, what came, and where the two part:
///
/// ```should_panic
/// # use rooftree::{query, testing::{ScriptedModel, assert_events, say}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let model = ScriptedModel::from_replies([say("Hi.")]).unwrap();
/// let events = query("Hello?").provider("scripted", model).stream().all().await.unwrap();
/// assert_events!(events, [RunStarted { .. }, ToolStarted { .. }]); // no tool was used
/// # }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __assert_events {
    (
        $events:expr,
        [$($step:pat $(in $agent:tt)? $(if $guard:expr)?),* $(,)?]
        $(, only $only:pat $(in $by:tt)? $(if $when:expr)?)* $(,)?
    ) => {
        match &$events {
            events => {
                #[allow(unused_imports)]
                use $crate::EventBody::*;
                $crate::testing::expect_events(
                    ::core::convert::AsRef::<[$crate::Event]>::as_ref(events),
                    &[$($crate::__expected!($step $(in $agent)? $(if $guard)?)),*],
                    &[$($crate::__expected!($only $(in $by)? $(if $when)?)),*],
                )
            }
        }
    };
}

/// One expectation of [`assert_events!`](crate::testing::assert_events).
#[doc(hidden)]
#[macro_export]
macro_rules! __expected {
    ($step:pat $(in $agent:tt)? $(if $guard:expr)?) => {
        $crate::testing::ExpectedEvent {
            written: ::core::concat!(::core::stringify!($step) $(, " if ", ::core::stringify!($guard))?),
            agent: $crate::__agent!($($agent)?),
            fits: &|body| ::core::matches!(body, $step $(if $guard)?),
        }
    };
}

/// Whose event it has to be.
#[doc(hidden)]
#[macro_export]
macro_rules! __agent {
    () => {
        ::core::option::Option::None
    };
    ($agent:tt) => {
        ::core::option::Option::Some($agent)
    };
}
