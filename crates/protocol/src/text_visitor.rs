//! Visits every text in an event or a message, so that one function can redact all of them.
//!
//! The caller, such as the redaction of secrets, passes a function that returns the replacement of a
//! text. Structs are destructured field by field and without `..`: a new field does not compile until
//! it is decided here whether it contains text from outside.
//!
//! Left unchanged, byte for byte: ids, numbers, digests, times, and opaque items of a provider.

mod record_texts;

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::{
    EventBody, InquiryResponse, Message, Origin, Part, Problem, Question, QuestionReply, SpawnCall,
    SpawnGroup, Todo, event::HookNote, inquiry::Answer,
};

/// Returns the replacement of a text; none if it stays as it is.
pub type TextEdit<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Edits a text.
pub fn text(text: &mut String, edit: TextEdit<'_>) {
    if let Some(changed) = edit(text) {
        *text = changed;
    }
}

/// Edits an optional text.
pub fn optional(text: &mut Option<String>, edit: TextEdit<'_>) {
    if let Some(there) = text {
        self::text(there, edit);
    }
}

/// Edits every text of a list.
pub fn list(texts: &mut [String], edit: TextEdit<'_>) {
    texts.iter_mut().for_each(|one| text(one, edit));
}

/// Edits a path; one that is not valid UTF-8 stays as it is.
pub fn path(path: &mut PathBuf, edit: TextEdit<'_>) {
    if let Some(changed) = path.to_str().and_then(edit) {
        *path = changed.into();
    }
}

/// Edits every text in a JSON value, keys included.
pub fn value(value: &mut Value, edit: TextEdit<'_>) {
    match value {
        Value::String(one) => text(one, edit),
        Value::Array(items) => items.iter_mut().for_each(|item| self::value(item, edit)),
        Value::Object(fields) => map(fields, edit),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Edits every text in a JSON map, keys included.
pub fn map(fields: &mut Map<String, Value>, edit: TextEdit<'_>) {
    fields.values_mut().for_each(|field| value(field, edit));
    if fields.keys().any(|name| edit(name).is_some()) {
        let named = std::mem::take(fields).into_iter();
        *fields = named
            .map(|(name, field)| (edit(&name).unwrap_or(name), field))
            .collect();
    }
}

/// Edits every text of some parts. The content of blobs is not text here.
pub fn parts(parts: &mut [Part], edit: TextEdit<'_>) {
    for part in parts {
        match part {
            Part::Text { text: one } => text(one, edit),
            Part::File {
                name,
                blob: _,
                media_type: _,
                bytes: _,
            } => text(name, edit),
            Part::Image {
                blob: _,
                media_type: _,
                bytes: _,
            } => {}
        }
    }
}

/// Edits every text of a message.
pub fn message(message: &mut Message, edit: TextEdit<'_>) {
    let Message {
        id: _,
        parts,
        origin,
        silent: _,
        outside: _,
        context,
        mandate,
        call,
        restriction,
        who: _,
        at: _,
        revision: _,
    } = message;
    self::parts(parts, edit);
    optional(context, edit);
    match origin {
        Origin::Connector {
            connector: _,
            channel,
            user,
            // Platform ids: what is delivered to must not be changed.
            reply: _,
        } => {
            text(channel, edit);
            text(user, edit);
        }
        Origin::Schedule {
            schedule: about, ..
        }
        | Origin::System { about } => text(about, edit),
        Origin::User | Origin::Agent { .. } | Origin::Task { .. } => {}
    }
    if let Some(call) = call {
        value(&mut call.input, edit);
    }
    if let Some(restriction) = restriction {
        record_texts::skill(restriction, edit);
    }
    if let Some(mandate) = mandate {
        // The rules of a mandate are those of a policy: about calls whose secrets are redacted too.
        text(&mut mandate.title, edit);
        [&mut mandate.allow, &mut mandate.ask, &mut mandate.deny]
            .into_iter()
            .for_each(|rules| list(rules, edit));
        mandate
            .skills
            .iter_mut()
            .for_each(|skill| record_texts::skill(skill, edit));
    }
}

/// Edits every text of a problem.
pub fn problem(problem: &mut Problem, edit: TextEdit<'_>) {
    let Problem {
        code: _,
        message,
        cause,
        fix,
    } = problem;
    text(message, edit);
    optional(cause, edit);
    optional(fix, edit);
}

/// Edits every text of a person's answer.
pub fn response(response: &mut InquiryResponse, edit: TextEdit<'_>) {
    match response {
        InquiryResponse::Permission(one) => answer(one, edit),
        InquiryResponse::Question(one) => reply(one, edit),
    }
}

fn answer(answer: &mut Answer, edit: TextEdit<'_>) {
    let Answer {
        decision: _,
        scope: _,
        because,
        digest: _,
    } = answer;
    optional(because, edit);
}

fn reply(reply: &mut QuestionReply, edit: TextEdit<'_>) {
    match reply {
        QuestionReply::Answered { answers } => {
            answers.values_mut().for_each(|said| list(said, edit))
        }
        QuestionReply::Declined { because } => optional(because, edit),
    }
}

fn question(question: &mut Question, edit: TextEdit<'_>) {
    let Question {
        name,
        text: asked,
        choices,
        several: _,
        free: _,
    } = question;
    text(name, edit);
    text(asked, edit);
    for choice in choices {
        text(&mut choice.label, edit);
        text(&mut choice.description, edit);
    }
}

fn todo_item(todo: &mut Todo, edit: TextEdit<'_>) {
    let Todo {
        content,
        status: _,
        active_form,
        priority,
    } = todo;
    text(content, edit);
    optional(active_form, edit);
    optional(priority, edit);
}

/// Edits every text of an event.
pub fn event(body: &mut EventBody, edit: TextEdit<'_>) {
    match body {
        EventBody::SessionOpened {
            agent: _,
            name,
            forked_from: _,
        }
        | EventBody::SessionUpdated { name, deleted: _ } => optional(name, edit),
        EventBody::RunStarted {
            mode: _,
            message: _,
            model: _,
            title,
            depth: _,
            parent: _,
            policy,
            bounds: _,
            surroundings,
        } => {
            text(title, edit);
            optional(surroundings, edit);
            if let Some(policy) = policy {
                record_texts::policy(policy, edit);
            }
        }
        EventBody::RunWaiting {
            reason: _,
            until: _,
            detail,
            told: _,
        } => text(detail, edit),
        EventBody::RunVerified(verdict) => record_texts::verdict(verdict, edit),
        EventBody::RunCompleted(end) => record_texts::run_end(end, edit),
        EventBody::MessageUser {
            message,
            lane: _,
            position: _,
        } => self::message(message, edit),
        EventBody::MessageDelta { text: one, .. } | EventBody::ThinkingDelta { text: one, .. } => {
            text(one, edit)
        }
        EventBody::MessageCompleted(reply) => record_texts::reply(reply, edit),
        EventBody::ToolStarted {
            call: _,
            tool,
            kind: _,
            title,
            input,
            effect: _,
            repeat: _,
            permitted,
            inside: _,
            before,
        } => {
            [tool, title, permitted]
                .into_iter()
                .for_each(|one| text(one, edit));
            value(input, edit);
            before
                .iter_mut()
                .for_each(|file| record_texts::preimage(file, edit));
        }
        EventBody::ToolOutput { call: _, text: one } => text(one, edit),
        EventBody::FilesUndone(undo) => record_texts::undo(undo, edit),
        EventBody::ToolCompleted(record) => record_texts::tool(record, edit),
        EventBody::PermissionRequested { .. } => permission(body, edit),
        EventBody::PermissionResolved {
            id: _,
            answer,
            by: _,
        } => self::answer(answer, edit),
        EventBody::QuestionRequested {
            id: _,
            call: _,
            questions,
            until: _,
        } => {
            questions.iter_mut().for_each(|one| question(one, edit));
        }
        EventBody::QuestionAnswered {
            id: _,
            reply,
            by: _,
        } => self::reply(reply, edit),
        EventBody::TodoUpdated { items } => items.iter_mut().for_each(|todo| todo_item(todo, edit)),
        EventBody::ContextCompacted(compaction) => record_texts::compaction(compaction, edit),
        EventBody::PolicyChanged(policy) => record_texts::policy(policy, edit),
        EventBody::HookSaid(HookNote {
            point: _,
            about: _,
            blocks: _,
            text: said,
        }) => text(said, edit),
        EventBody::Notice {
            level: _,
            code: _,
            message,
            hint,
        } => {
            text(message, edit);
            optional(hint, edit);
        }
        EventBody::SessionCleared { reason: _ }
        | EventBody::RunResumed { reason: _ }
        | EventBody::ModeChanged { mode: _, by: _ }
        | EventBody::ScheduleFired {
            schedule: _,
            due: _,
        }
        | EventBody::InboxQueued {
            message: _,
            lane: _,
            position: _,
        }
        | EventBody::InboxDelivered {
            message: _,
            task: _,
            lane: _,
            position: _,
        }
        | EventBody::InboxDropped {
            message: _,
            lane: _,
            position: _,
        }
        | EventBody::ToolProgress {
            call: _,
            elapsed_ms: _,
        }
        | EventBody::ContextUsage {
            used: _,
            limit: _,
            reading: _,
        } => {}
    }
}

/// The digest identifies the call as it is: changing it would invalidate every answer.
fn permission(body: &mut EventBody, edit: TextEdit<'_>) {
    if let EventBody::PermissionRequested {
        id: _,
        call: _,
        tool,
        title,
        detail,
        effect: _,
        rule,
        until: _,
        reason,
        digest: _,
        scopes: _,
        kind: _,
        spawn,
    } = body
    {
        [tool, title, detail, rule, reason]
            .into_iter()
            .for_each(|one| text(one, edit));
        spawn.iter_mut().for_each(|group| spawned(group, edit));
    }
}

fn spawned(group: &mut SpawnGroup, edit: TextEdit<'_>) {
    let SpawnGroup {
        agent,
        model,
        tools,
        lost,
        forecast: _,
        calls,
    } = group;
    text(agent, edit);
    optional(model, edit);
    tools.iter_mut().chain(lost).for_each(|one| text(one, edit));
    for SpawnCall {
        call: _,
        title,
        digest: _,
    } in calls
    {
        text(title, edit);
    }
}
