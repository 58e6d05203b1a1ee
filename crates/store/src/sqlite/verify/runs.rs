//! Pairs in a journal: a run's begin and end, a call and its result.

use std::collections::HashMap;

use rooftree_protocol::{CallId, event::ReplyRecord};
use serde::Deserialize;

/// The run that is open and the calls made in it.
pub(super) struct RunPairing {
    open: Option<String>,
    calls: HashMap<CallId, u32>,
    is_fork: bool,
}

/// What of a result counts here.
#[derive(Deserialize)]
struct ToolResultData {
    call: CallId,
    /// The call it was made from inside of.
    #[serde(default)]
    inside: Option<CallId>,
}

/// What of an intent counts here.
#[derive(Deserialize)]
struct ToolIntentData {
    call: CallId,
    #[serde(default)]
    inside: Option<CallId>,
}

/// An invariant and what is wrong with it.
type RunFinding = (&'static str, String);

impl RunPairing {
    pub(super) fn new(is_fork: bool) -> Self {
        Self {
            open: None,
            calls: HashMap::new(),
            is_fork,
        }
    }

    /// Takes in the next event; says what is wrong with it.
    pub(super) fn event(&mut self, name: &str, run: Option<String>, data: &str) -> Vec<RunFinding> {
        match name {
            "run.started" => self.started(run).into_iter().collect(),
            "run.completed" => self.completed(run.as_deref()),
            "message.completed" => self
                .outside(run)
                .into_iter()
                .chain(self.replied(data))
                .collect(),
            "tool.started" => self
                .outside(run)
                .into_iter()
                .chain(self.begun(data))
                .collect(),
            "tool.completed" => self
                .outside(run)
                .into_iter()
                .chain(self.answered(data))
                .collect(),
            _ => self.outside(run).into_iter().collect(),
        }
    }

    /// Nothing happens in a run before it begins or after it has ended.
    fn outside(&self, run: Option<String>) -> Option<RunFinding> {
        let stray = run.filter(|run| self.open.as_ref() != Some(run))?;
        Some((
            "I11",
            format!("happens in {stray} while {:?} is open", self.open),
        ))
    }

    fn started(&mut self, run: Option<String>) -> Option<RunFinding> {
        let wrong = match (&self.open, &run) {
            (_, None) => Some("a run without an id begins".to_owned()),
            (Some(open), Some(run)) => Some(format!("{run} begins while {open} is open")),
            (None, Some(_)) => None,
        };
        self.open = run;
        wrong.map(|what| ("I11", what))
    }

    fn completed(&mut self, run: Option<&str>) -> Vec<RunFinding> {
        let mut wrong = Vec::new();
        if run.is_none() || self.open.as_deref() != run {
            wrong.push(("I11", format!("{run:?} ends while {:?} is open", self.open)));
        }
        let unpaired = self.calls.drain().filter(|(_, results)| *results != 1);
        wrong.extend(unpaired.map(|(call, results)| {
            (
                "I6",
                format!("{call} has {results} results in a settled run"),
            )
        }));
        self.open = None;
        wrong
    }

    fn replied(&mut self, data: &str) -> Option<RunFinding> {
        let Ok(reply) = serde_json::from_str::<ReplyRecord>(data) else {
            return Some(("I6", "is a reply that cannot be read".into()));
        };
        for call in reply.calls() {
            if self.calls.insert(call.id.clone(), 0).is_some() {
                return Some(("I6", format!("{} is asked for twice", call.id)));
            }
        }
        None
    }

    /// A call from inside another one is in no reply: its intent is what asks for its result.
    fn begun(&mut self, data: &str) -> Option<RunFinding> {
        let Ok(ToolIntentData {
            call,
            inside: Some(_),
        }) = serde_json::from_str(data)
        else {
            return None;
        };
        let is_known = self.calls.insert(call.clone(), 0).is_some();
        is_known.then(|| ("I6", format!("{call} is made twice")))
    }

    fn answered(&mut self, data: &str) -> Option<RunFinding> {
        let Ok(ToolResultData { call, inside }) = serde_json::from_str(data) else {
            return Some(("I6", "is a result that cannot be read".into()));
        };
        match self.calls.get_mut(&call) {
            Some(results) => *results += 1,
            // One that was refused has no intent.
            None if inside.is_some() => {
                self.calls.insert(call, 1);
            }
            // A fork also answers the calls that were open where it branched off.
            None if self.is_fork => {
                self.calls.insert(call, 1);
            }
            None => {
                return Some((
                    "I6",
                    format!("answers {call}, which was not asked for in this run"),
                ));
            }
        }
        None
    }

    /// What is wrong at the journal's end, if the session says that `run` is open.
    pub(super) fn open_other_than(&self, run: Option<&str>) -> Option<String> {
        (self.open.as_deref() != run)
            .then(|| format!("{:?} is open and the session names {run:?}", self.open))
    }
}
