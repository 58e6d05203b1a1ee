//! One past call as the journal records it: the policy in force, the permission request, the result. Pure.

use rooftree_protocol::{
    Answer, CallId, Effect, Event, EventBody, PermissionScope, Timestamp, ToolCall,
    event::{PolicyNote, ToolRecord},
};
use rooftree_tools::{PermissionRule, Policy, SkillRestriction};

/// One call, as far as it went.
#[derive(Debug)]
pub struct PastCall {
    pub agent: String,
    pub call: ToolCall,
    /// The number of the reply that made it.
    pub number: u64,
    /// The policy it was judged by, as the journal tells it.
    pub note: Option<PolicyNote>,
    /// What it was said to do to the world when it was judged, if the journal tells.
    pub effect: Option<Effect>,
    /// Whether it has been judged: what changes afterwards is about others.
    is_judged: bool,
    /// The canonical name, once it was looked up.
    name: Option<String>,
    /// What let it happen, if it was made.
    pub permitted: Option<String>,
    /// When the user was asked about it, and how.
    pub asked: Option<(Timestamp, EventBody)>,
    pub answered: Option<(Timestamp, Answer, String)>,
    pub record: Option<ToolRecord>,
}

impl PastCall {
    /// The tool's own name.
    pub fn tool(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.call.tool)
    }

    /// The policy as the engine takes it.
    pub fn policy(&self) -> Option<Policy> {
        let note = self.note.as_ref()?;
        let rules = |rules: &[String]| {
            rules
                .iter()
                .filter_map(|rule| PermissionRule::parse(rule).ok())
                .collect()
        };
        Some(Policy {
            mode: note.mode,
            allow: rules(&note.allow),
            ask: rules(&note.ask),
            deny: rules(&note.deny),
            followed: note.skills.iter().map(SkillRestriction::of).collect(),
        })
    }

    /// Whether the answer made a rule.
    pub fn made_rule(&self) -> bool {
        self.answered
            .as_ref()
            .is_some_and(|(_, answer, _)| answer.scope != PermissionScope::Once)
    }

    /// It is judged now; an answer to a question about it comes later and judges nothing.
    fn judged(&mut self, by: &Option<PolicyNote>, effect: Option<Effect>) {
        if !std::mem::replace(&mut self.is_judged, true) {
            (self.note, self.effect) = (by.clone(), effect);
        }
    }

    /// Whether an event is about it.
    pub fn is_about(&self, event: &Event) -> bool {
        let id = &self.call.id;
        match &event.body {
            EventBody::MessageCompleted(_) => event.id == Some(self.number),
            EventBody::ToolStarted { call, .. } | EventBody::PermissionRequested { call, .. } => {
                call == id
            }
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

/// All calls of a journal.
pub fn calls(events: &[Event]) -> Vec<PastCall> {
    let (mut calls, mut holding) = (Vec::new(), None);
    for event in events {
        take(event, &mut calls, &mut holding);
    }
    calls
}

/// `holding` is the policy that holds while the journal is read.
fn take(event: &Event, calls: &mut Vec<PastCall>, holding: &mut Option<PolicyNote>) {
    let named =
        |calls: &mut Vec<PastCall>, id: &CallId| calls.iter().rposition(|past| past.call.id == *id);
    match &event.body {
        EventBody::RunStarted { policy, .. } => *holding = policy.as_deref().cloned(),
        EventBody::PolicyChanged(policy) => *holding = Some(policy.clone()),
        EventBody::MessageCompleted(reply) => {
            calls.extend(reply.calls().map(|call| past(event, call)))
        }
        EventBody::ToolStarted {
            call,
            tool,
            permitted,
            effect,
            input,
            inside,
            ..
        } => {
            if inside.is_some() && named(calls, call).is_none() {
                let call = ToolCall {
                    id: call.clone(),
                    tool: tool.clone(),
                    input: input.clone(),
                };
                calls.push(past(event, &call));
            }
            if let Some(past) = named(calls, call).and_then(|at| calls.get_mut(at)) {
                past.judged(holding, Some(*effect));
                (past.name, past.permitted) = (Some(tool.clone()), Some(permitted.clone()));
            }
        }
        EventBody::PermissionRequested {
            call, tool, effect, ..
        } => {
            if let Some(past) = named(calls, call).and_then(|at| calls.get_mut(at)) {
                past.judged(holding, Some(*effect));
                past.name = Some(tool.clone());
                past.asked = Some((event.ts, event.body.clone()));
            }
        }
        EventBody::PermissionResolved { id, answer, by } => {
            let asked = calls
                .iter_mut()
                .rev()
                .find(|past| past.permission() == Some(id.as_str()));
            if let Some(past) = asked {
                past.answered = Some((event.ts, answer.clone(), by.clone()));
            }
        }
        EventBody::ToolCompleted(record) => {
            if let (Some(input), Some(_)) = (&record.input, &record.inside) {
                let (id, tool) = (record.call.clone(), record.tool.clone());
                calls.push(past(
                    event,
                    &ToolCall {
                        id,
                        tool,
                        input: input.clone(),
                    },
                ));
            }
            if let Some(past) = named(calls, &record.call).and_then(|at| calls.get_mut(at)) {
                past.judged(holding, None);
                past.name.get_or_insert_with(|| record.tool.clone());
                past.record = Some(record.clone());
            }
        }
        _ => {}
    }
}

fn past(event: &Event, call: &ToolCall) -> PastCall {
    PastCall {
        agent: event.agent.clone(),
        call: call.clone(),
        number: event.id.unwrap_or_default(),
        note: None,
        effect: None,
        is_judged: false,
        name: None,
        permitted: None,
        asked: None,
        answered: None,
        record: None,
    }
}
