//! Journals as they should not be: steps left out, repeated and moved, pieces that overlap, odd output and notices.

use rooftree_protocol::{
    Event, EventBody, Lane, MessageId,
    event::{NoticeLevel, ReplyPlace, WaitReason},
};
use rooftree_testkit::Dice;
use rooftree_view::DraftText;

use super::played_stories::{Journal, Step};

/// Output of calls: characters of all widths, kinds of white space, no text at all.
const OUTPUTS: &[&str] = &[
    "begins\nis under way\n",
    "",
    " \u{85}\u{3000}\n",
    "one\r\ntwo \u{feff}\u{2028}",
    "🪙",
    "\n\u{a0}x",
];

/// The journal with random damage.
pub fn mangled(journal: &Journal, seed: u64) -> Journal {
    let mut dice = Dice(seed);
    let mut steps: Vec<Step> = Vec::new();
    for step in &journal.steps {
        let step = &altered(step, &mut dice);
        match dice.roll(12) {
            0 => continue,
            1 => steps.push(step.clone()),
            2 if !steps.is_empty() => {
                let again = steps[dice.roll(steps.len())].clone();
                steps.push(again);
            }
            3 if !steps.is_empty() => {
                let at = steps.len().saturating_sub(1 + dice.roll(4));
                steps.insert(at, step.clone());
                continue;
            }
            _ => {}
        }
        steps.push(step.clone());
        if let Step::Snapshot(snapshot) = step {
            let mut meta = snapshot.meta.clone();
            meta.name = Some(format!("name {}", dice.roll(9)));
            meta.deleted_at = [None, Some(meta.updated_at)][dice.roll(2)];
            steps.push(Step::Meta(Box::new(meta)));
        }
        if let Step::Event(event) = step {
            steps.extend(draft(event, journal, &mut dice));
            steps.extend(
                besides(event, &mut dice)
                    .into_iter()
                    .map(|event| Step::Event(Box::new(event))),
            );
        }
    }
    Journal {
        root: journal.root.clone(),
        steps,
    }
}

/// Some replies cost more than is known.
fn altered(step: &Step, dice: &mut Dice) -> Step {
    let mut step = step.clone();
    if let Step::Event(event) = &mut step
        && let EventBody::MessageCompleted(reply) = &mut event.body
    {
        reply.usage.cost_complete = dice.roll(3) > 0;
    }
    step
}

/// A snapshot in the middle of a reply.
fn draft(event: &Event, journal: &Journal, dice: &mut Dice) -> Option<Step> {
    let EventBody::MessageDelta {
        text,
        place: Some(place),
    } = &event.body
    else {
        return None;
    };
    let mut snapshot = journal.steps.iter().find_map(|step| match step {
        Step::Snapshot(snapshot) if snapshot.session == event.session => Some(snapshot.clone()),
        _ => None,
    })?;
    snapshot.messages = vec![DraftText {
        id: place.message.clone(),
        run: event.run.clone(),
        text: format!(
            "{}{text}…",
            "é".repeat(usize::try_from(place.at).unwrap_or_default() / 2)
        ),
        thinking: String::new(),
    }];
    (dice.roll(3) == 0).then_some(Step::Snapshot(snapshot))
}

/// What a client could also have got after an event.
fn besides(event: &Event, dice: &mut Dice) -> Vec<Event> {
    let ephemeral = |body: EventBody| Event {
        id: None,
        body,
        ..event.clone()
    };
    match &event.body {
        EventBody::ToolStarted { call, .. } => {
            let text = match dice.roll(8) {
                0 => "ü𝄞".repeat(900),
                _ => OUTPUTS[dice.roll(OUTPUTS.len())].to_owned(),
            };
            vec![ephemeral(EventBody::ToolOutput {
                call: call.clone(),
                text,
            })]
        }
        EventBody::MessageDelta {
            text,
            place: Some(place),
        } => {
            let at = place.at.saturating_sub(dice.roll(3) as u64) + dice.roll(2) as u64;
            let place = [
                None,
                Some(ReplyPlace {
                    at,
                    ..place.clone()
                }),
            ][dice.roll(8).min(1)]
            .clone();
            let text = format!("{text}é𝄞");
            vec![ephemeral(EventBody::MessageDelta { text, place })]
        }
        EventBody::RunStarted { .. } if dice.roll(6) == 0 => vec![ephemeral(notice("info")); 60],
        EventBody::ContextUsage { used, limit, .. } => vec![ephemeral(EventBody::ContextUsage {
            used: *used,
            limit: *limit,
            reading: [None, Some(7)][dice.roll(2)],
        })],
        EventBody::ToolCompleted(record) => {
            let task = record.task.iter().map(|note| note.task.clone());
            let told = task.map(|task| EventBody::InboxDelivered {
                message: MessageId::derived_from(task.as_str()),
                task,
                lane: Lane::Mail,
                position: 1,
            });
            let waits = EventBody::RunWaiting {
                reason: WaitReason::Child,
                until: None,
                detail: "a child".into(),
                told: None,
            };
            told.chain([waits]).map(ephemeral).collect()
        }
        EventBody::MessageUser { .. } if dice.roll(4) == 0 => vec![ephemeral(notice("fallback"))],
        _ => Vec::new(),
    }
}

fn notice(code: &str) -> EventBody {
    EventBody::Notice {
        level: NoticeLevel::Info,
        code: code.into(),
        message: "something".into(),
        hint: None,
    }
}
