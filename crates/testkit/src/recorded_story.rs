//! Records the events of a session and of those below it in a form that is the same whenever it is recorded.
//!
//! Journals are deterministic one by one; how sessions interleave, which ids are drawn and where the temporary
//! directory is are not. So journals are merged by a fixed rule, ids are numbered in order of appearance, and the
//! directory gets a fixed name. Events that are not stored reach a client or not, depending on time. Fixed ones are put
//! in their places: a queued message before its run, two deltas before each reply, output of each call.

use std::collections::{BTreeMap, BTreeSet};

use rooftree_protocol::{
    Event, EventBody, Lane, Origin, RunId, SessionId,
    event::{ReplyPlace, ReplyRecord, WaitReason},
};

use crate::TestRuntime;

/// The directory that sessions of a recorded story work in.
const DIRECTORY: &str = "/home/me/project";
/// What every id that is drawn ends with: so many characters.
const TAIL: usize = 24;

/// The events of a session and of all below it, as JSON lines.
pub async fn record(house: &TestRuntime, root: &SessionId) -> String {
    let mut journals = Vec::new();
    let mut rest = vec![root.clone()];
    while let Some(session) = rest.pop() {
        let own = house.events(&session).await.into_iter();
        let own = own.filter(|event| event.session == session);
        journals.push(own.collect::<Vec<Event>>());
        let children = house.children(&session).await;
        rest.extend(children.into_iter().rev().map(|child| child.id));
    }
    let merged = with_ephemeral(merge(journals));
    let lines: Vec<String> = merged
        .into_iter()
        .map(|event| serde_json::to_string(&settled(event)).expect("an event is JSON"))
        .collect();
    let text = lines.join("\n") + "\n";
    let directory = house.path().display().to_string();
    number_ids(&text.replace(&directory, DIRECTORY))
}

/// One event of each session in turn. A delegated run begins after its call, and is told whole before its result is.
fn merge(journals: Vec<Vec<Event>>) -> Vec<Event> {
    let mut rest: Vec<_> = journals
        .into_iter()
        .map(|journal| journal.into_iter().peekable())
        .collect();
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::<RunId>::new());
    let sessions: BTreeSet<SessionId> = rest
        .iter_mut()
        .filter_map(|journal| journal.peek().map(|event| event.session.clone()))
        .collect();
    let mut merged: Vec<Event> = Vec::new();
    loop {
        let before = merged.len();
        for (number, journal) in rest.iter_mut().enumerate() {
            let may_come = |event: &Event| {
                let has_begun = number == 0 || begun.contains(&event.session);
                has_begun && results(event, &sessions).is_subset(&ended)
            };
            let Some(event) = journal.next_if(may_come) else {
                continue;
            };
            match &event.body {
                EventBody::ToolStarted { call, .. } => {
                    begun.insert(SessionId::derived_from(call.as_str()));
                }
                EventBody::RunCompleted(_) => ended.extend(event.run.clone()),
                _ => {}
            }
            merged.push(event);
        }
        if merged.len() == before {
            break;
        }
    }
    // What follows from no call that was seen comes last.
    merged.extend(rest.into_iter().flatten());
    merged
}

/// The delegated runs of these sessions whose results an event tells.
fn results(event: &Event, sessions: &BTreeSet<SessionId>) -> BTreeSet<RunId> {
    let told = match &event.body {
        EventBody::ToolCompleted(record) => record
            .task
            .as_ref()
            .filter(|note| note.status.is_some())
            .map(|note| (&note.session, &note.task)),
        EventBody::MessageUser { message, .. } => match &message.origin {
            Origin::Task { session, task, .. } => Some((session, task)),
            _ => None,
        },
        _ => None,
    };
    told.into_iter()
        .filter(|(session, _)| sessions.contains(session))
        .map(|(_, task)| task.clone())
        .collect()
}

/// Puts events that are not stored where a client would hear them.
fn with_ephemeral(events: Vec<Event>) -> Vec<Event> {
    let mut all = Vec::new();
    for event in events {
        let ephemeral = |body: EventBody| Event {
            id: None,
            // A message waits outside of any run.
            run: event.run.clone().filter(|_| body.name() != "inbox.queued"),
            body,
            ..event.clone()
        };
        all.extend(before(&event.body).into_iter().map(ephemeral));
        let output = match &event.body {
            EventBody::ToolStarted { call, .. } => Some(EventBody::ToolOutput {
                call: call.clone(),
                text: "begins\nis under way\n".into(),
            }),
            _ => None,
        };
        let output = output.map(ephemeral);
        all.push(event);
        all.extend(output);
    }
    all
}

/// What a client hears before an event.
fn before(body: &EventBody) -> Vec<EventBody> {
    let delta = |text: String| EventBody::MessageDelta { text, place: None };
    match body {
        EventBody::RunStarted { message, .. } => vec![EventBody::InboxQueued {
            message: message.clone(),
            lane: Lane::Mail,
            position: 1,
        }],
        EventBody::MessageCompleted(ReplyRecord { text, message, .. }) if !text.is_empty() => {
            let middle = text.chars().count() / 2;
            let first: String = text.chars().take(middle).collect();
            let second: String = text.chars().skip(middle).collect();
            let place = |at: usize| {
                message.clone().map(|message| ReplyPlace {
                    message,
                    at: at as u64,
                })
            };
            let (begin, rest) = (place(0), place(first.len()));
            let delta = |text, place| EventBody::MessageDelta { text, place };
            vec![
                EventBody::ContextUsage {
                    used: 1_000,
                    limit: 100_000,
                    reading: None,
                },
                delta(first, begin),
                delta(second, rest),
            ]
        }
        EventBody::RunWaiting {
            reason: WaitReason::Retry,
            ..
        } => vec![delta("The beginning of a rep".into())],
        _ => Vec::new(),
    }
}

/// Without what depends on the machine: estimates of tokens, and digests of what a permission is about.
fn settled(mut event: Event) -> Event {
    match &mut event.body {
        EventBody::ContextCompacted(compaction) => {
            (compaction.before, compaction.after) = (2_000, 500);
        }
        EventBody::PermissionRequested { digest, .. } => *digest = "digest".into(),
        EventBody::RunStarted { bounds, policy, .. } => (*bounds, *policy) = (None, None),
        _ => {}
    }
    event
}

/// Gives ids numbers in the order in which they appear; those that follow from each other keep the same one.
fn number_ids(text: &str) -> String {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbered = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        let (before, tail) = rest.split_at(at + 1);
        numbered.push_str(before);
        let is_id = |tail: &str| {
            tail.len() == TAIL
                && tail
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        match tail.get(..TAIL).filter(|tail| is_id(tail)) {
            Some(id) => {
                let next = numbers.len() + 1;
                let number = numbers.entry(id.to_owned()).or_insert(next);
                numbered.push_str(&format!("{number:0TAIL$}"));
                rest = &tail[TAIL..];
            }
            None => rest = tail,
        }
    }
    numbered + rest
}
