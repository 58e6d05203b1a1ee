//! Plans what a message is split into: text parts, buttons of an inquiry, a file. Done once, before the first is sent.

use rooftree_connectors::{Button, Connector, OutboundFile, OutboundPart, PartBody};
use rooftree_protocol::{EventBody, PermissionScope};
use rooftree_store::{Inquiry, OutboxBody, OutboxKind, OutboxPost};

use crate::connectors::{ButtonChoice, ButtonPress};

/// Choices of a question that are shown as buttons at most.
const MOST_CHOICES: usize = 10;

/// Characters of a choice on a button.
const LABEL_CHARS: usize = 40;

/// The parts of a message. An inquiry brings what is asked, for its buttons.
pub(super) fn plan(
    connector: &dyn Connector,
    post: &OutboxPost,
    inquiry: Option<&Inquiry>,
) -> Vec<OutboundPart> {
    let capabilities = connector.capabilities();
    let mut parts = match &post.body {
        OutboxBody::Text { text } | OutboxBody::Outcome { text, .. } => connector.split(text),
        OutboxBody::Inquiry { text, .. } if capabilities.buttons => connector.split(text),
        OutboxBody::Inquiry { text, .. } => {
            connector.split(&format!("{text}\n\nAnswer with /approve or /deny."))
        }
        OutboxBody::File {
            name,
            media_type,
            caption,
            blob,
        } if capabilities.files => vec![OutboundPart {
            body: PartBody::File(OutboundFile {
                name: name.clone(),
                media_type: media_type.clone(),
                caption: caption.clone(),
                bytes: Vec::new(),
                blob: blob.to_string(),
            }),
            buttons: Vec::new(),
            silent: false,
        }],
        OutboxBody::File { name, caption, .. } => {
            let text = format!("{caption}\n\n(The file {name} cannot be sent here.)");
            connector.split(text.trim_start())
        }
    };
    if let (Some(inquiry), Some(last), true) = (inquiry, parts.last_mut(), capabilities.buttons) {
        last.buttons = buttons(inquiry);
    }
    for part in &mut parts {
        part.silent = post.kind == OutboxKind::Progress;
    }
    parts
}

/// The buttons below what is asked.
fn buttons(inquiry: &Inquiry) -> Vec<Vec<Button>> {
    let button = |label: &str, choice| Button {
        label: label.chars().take(LABEL_CHARS).collect(),
        data: ButtonPress::new(&inquiry.id, choice).to_string(),
    };
    match &inquiry.asked {
        EventBody::PermissionRequested { scopes, .. } => {
            let first = vec![
                button("Allow", ButtonChoice::Allow),
                button("Deny", ButtonChoice::Deny),
            ];
            let session = scopes
                .contains(&PermissionScope::Session)
                .then(|| vec![button("Allow for this session", ButtonChoice::AllowSession)]);
            std::iter::once(first).chain(session).collect()
        }
        EventBody::QuestionRequested { questions, .. } => match questions.as_slice() {
            [question] if !question.several && question.choices.len() <= MOST_CHOICES => question
                .choices
                .iter()
                .zip(0_u8..)
                .map(|(choice, n)| vec![button(&choice.label, ButtonChoice::Option(n))])
                .collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
