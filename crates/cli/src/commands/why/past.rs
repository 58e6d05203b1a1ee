//! What the journal tells about one call: the policy that held, who was asked, what came of it. Pure.

use rooftree_protocol::{
    Answer, Event, EventBody, PermissionDecision, PermissionMode, PermissionScope, Timestamp, ToolCall,
    event::{PolicyNote, ReplyPart, ToolRecord},
};
use rooftree_runtime::History;
use rooftree_tools::{Followed, Policy, Rule};

/// One call, as far as it went.
#[derive(Debug)]
pub struct Past {
    pub agent: String,
    pub call: ToolCall,
    /// The number of the reply that made it.
    pub number: u64,
    /// The policy of its run, with the mode and the rules that had changed until then.
    pub note: Option<PolicyNote>,
    /// The canonical name, once it was looked up.
    name: Option<String>,
    /// What let it happen, if it was made.
    pub permitted: Option<String>,
    /// When somebody was asked about it, and how.
    pub asked: Option<(Timestamp, EventBody)>,
    pub answered: Option<(Timestamp, Answer, String)>,
    pub record: Option<ToolRecord>,
}

impl Past {
    /// The tool's own name.
    pub fn tool(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.call.tool)
    }

    /// The policy as the engine takes it.
    pub fn policy(&self) -> Option<Policy> {
        let note = self.note.as_ref()?;
        let rules = |rules: &[String]| rules.iter().filter_map(|rule| Rule::parse(rule).ok()).collect();
        Some(Policy {
            mode: note.mode,
            allow: rules(&note.allow),
            ask: rules(&note.ask),
            deny: rules(&note.deny),
            followed: note.skills.iter().map(Followed::of).collect(),
        })
    }

    /// Whether the answer made a rule.
    pub fn made_rule(&self) -> bool {
        self.answered.as_ref().is_some_and(|(_, answer, _)| answer.scope != PermissionScope::Once)
    }

    /// Whether an event is about it.
    pub fn is_about(&self, event: &Event) -> bool {
        let id = &self.call.id;
        match &event.body {
            EventBody::MessageCompleted(_) => event.id == Some(self.number),
            EventBody::ToolStarted { call, .. } | EventBody::PermissionRequested { call, .. } => call == id,
            EventBody::ToolCompleted(record) => record.call == *id,
            EventBody::PermissionResolved { id, .. } => self.permission() == Some(id.as_str()),
            _ => false,
        }
    }

    /// The id of the question about it.
    pub fn permission(&self) -> Option<&str> {
        match &self.asked {
            Some((_, EventBody::PermissionRequested { id, .. })) => Some(id.as_str()),
            _ => None,
        }
    }
}

/// What holds while the journal is read.
#[derive(Default)]
struct Holding {
    note: Option<PolicyNote>,
    /// Knows how the mode was changed, and whether anything from outside was read.
    history: History,
    /// Rules that answers made, with what they do.
    made: Vec<(PermissionDecision, String)>,
}

impl Holding {
    fn now(&self) -> Option<PolicyNote> {
        let mut note = self.note.clone()?;
        note.mode = match self.history.mode() {
            Some(changed) if changed.is_wish => changed.mode,
            Some(changed) => changed.mode.min(note.mode),
            None => note.mode,
        };
        if self.history.outside().is_some() && note.mode == PermissionMode::Auto {
            note.mode = PermissionMode::AcceptEdits;
        }
        note.skills.extend(self.history.skill().filter(|skill| skill.narrows()).cloned());
        for (decision, rule) in &self.made {
            let list = if *decision == PermissionDecision::Allow { &mut note.allow } else { &mut note.deny };
            if !list.contains(rule) {
                list.push(rule.clone());
            }
        }
        Some(note)
    }
}

/// All calls of a journal.
pub fn calls(events: &[Event]) -> Vec<Past> {
    let (mut calls, mut holding): (Vec<Past>, Holding) = (Vec::new(), Holding::default());
    for event in events {
        take(event, &mut calls, &mut holding);
    }
    calls
}

fn take(event: &Event, calls: &mut Vec<Past>, holding: &mut Holding) {
    holding.history.apply(event);
    match &event.body {
        EventBody::RunStarted { policy, .. } => holding.note = policy.as_deref().cloned(),
        EventBody::MessageCompleted(reply) => {
            let made = reply.parts.iter().filter_map(|part| match part {
                ReplyPart::Call(call) => Some(past(event, call, holding)),
                _ => None,
            });
            calls.extend(made);
        }
        EventBody::ToolStarted { call, tool, permitted, input, inside, .. } => {
            if inside.is_some() && calls.iter().all(|past| past.call.id != *call) {
                let call = ToolCall { id: call.clone(), tool: tool.clone(), input: input.clone() };
                calls.push(past(event, &call, holding));
            }
            if let Some(past) = calls.iter_mut().rev().find(|past| past.call.id == *call) {
                (past.name, past.permitted) = (Some(tool.clone()), Some(permitted.clone()));
            }
        }
        EventBody::PermissionRequested { call, tool, .. } => {
            if let Some(past) = calls.iter_mut().rev().find(|past| past.call.id == *call) {
                // Whatever changed between the reply and the question held for the question.
                (past.note, past.name) = (holding.now(), Some(tool.clone()));
                past.asked = Some((event.ts, event.body.clone()));
            }
        }
        EventBody::PermissionResolved { id, answer, by } => {
            let asked = calls.iter_mut().rev().find(|past| past.permission() == Some(id.as_str()));
            if let Some(past) = asked {
                past.answered = Some((event.ts, answer.clone(), by.clone()));
                if let (true, Some((_, EventBody::PermissionRequested { rule, .. }))) =
                    (past.made_rule(), &past.asked)
                {
                    holding.made.push((answer.decision, rule.clone()));
                }
            }
        }
        EventBody::ToolCompleted(record) => {
            if let (Some(input), Some(_)) = (&record.input, &record.inside) {
                let (id, tool) = (record.call.clone(), record.tool.clone());
                calls.push(past(event, &ToolCall { id, tool, input: input.clone() }, holding));
            }
            if let Some(past) = calls.iter_mut().rev().find(|past| past.call.id == record.call) {
                past.name.get_or_insert_with(|| record.tool.clone());
                past.record = Some(record.clone());
            }
        }
        _ => {}
    }
}

fn past(event: &Event, call: &ToolCall, holding: &Holding) -> Past {
    Past {
        agent: event.agent.clone(),
        call: call.clone(),
        number: event.id.unwrap_or_default(),
        note: holding.now(),
        name: None,
        permitted: None,
        asked: None,
        answered: None,
        record: None,
    }
}
