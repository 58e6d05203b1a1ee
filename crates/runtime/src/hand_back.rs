//! Hand-back of a conversation that another agent continued: what the session it came from is told, as an extract or
//! as a summary that a model wrote.

use rooftree_protocol::{
    Event, EventBody, ForkPoint, Lane, Message, MessageId, Origin, Part, RunId, Session, Timestamp,
    command::HandBackSummary, event::RunEnd,
};
use rooftree_store::{InboxPost, JournalPages, Store};

/// Kind of the message that has a summary written.
const ABOUT: &str = "hand_back";
/// Characters of one answer in an extract.
const ANSWER: usize = 1_500;
/// Characters of an extract.
const EXTRACT: usize = 6_000;
/// Characters of a model's summary.
const SUMMARY: usize = 12_000;

/// Where a message that has a summary written comes from.
pub(crate) fn origin() -> Origin {
    Origin::System {
        about: ABOUT.into(),
    }
}

/// Whether a message has a summary written.
pub(crate) fn is_request(message: &Message) -> bool {
    matches!(&message.origin, Origin::System { about } if about == ABOUT)
}

/// A conversation that was handed over, as far as it went on since.
pub(crate) struct HandedOver {
    session: Session,
    /// Where it was handed over.
    pub(crate) from: ForkPoint,
    /// What happened since, without runs that only wrote a summary.
    own: Vec<Event>,
}

impl HandedOver {
    /// Reads it; none if the session was not handed over.
    pub(crate) async fn read(
        store: &dyn Store,
        session: &Session,
    ) -> Result<Option<Self>, rooftree_store::Error> {
        let Some(from) = session.forked_from.clone() else {
            return Ok(None);
        };
        let mut own = JournalPages::after(store, &session.id, from.at)
            .all()
            .await?;
        let summing_up: Vec<RunId> = own
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::MessageUser { message, .. } if is_request(message) => event.run.clone(),
                _ => None,
            })
            .collect();
        own.retain(|event| {
            event
                .run
                .as_ref()
                .is_none_or(|run| !summing_up.contains(run))
        });
        Ok(Some(Self {
            session: session.clone(),
            from,
            own,
        }))
    }

    /// Key of the message that tells it: what was told up to the same event is not told again in the same way.
    pub(crate) fn key(&self, summary: HandBackSummary) -> String {
        let last = self.own.last().and_then(|event| event.id);
        let (id, last) = (&self.session.id, last.unwrap_or(self.from.at));
        match summary {
            HandBackSummary::Extract => format!("back:{id}:{last}"),
            HandBackSummary::Model => format!("back:{id}:{last}:model"),
        }
    }

    /// What was asked and answered, and which files changed; none if nothing was.
    pub(crate) fn extract(&self) -> Option<String> {
        let mut lines = Vec::new();
        let agent = &self.session.agent;
        for event in &self.own {
            match &event.body {
                EventBody::RunStarted { title, .. } => lines.push(format!("Asked: {title}")),
                EventBody::RunCompleted(end) => {
                    let answer = cut(end.text.trim(), ANSWER);
                    lines.push(format!("{agent}, {}: {answer}", end.status));
                    lines.extend(changed_files(end));
                }
                _ => {}
            }
        }
        let told = format!("{}\n{}", self.opening(), lines.join("\n"));
        (!lines.is_empty()).then(|| cut(&told, EXTRACT))
    }

    /// What asks the agent that went on for a summary.
    pub(crate) fn request(&self) -> String {
        "The user goes back to the agent that this conversation came from. Write for that agent what it must know to \
         go on: what was asked here, what was decided and why, what was done, which files changed, and what is still \
         open. Keep names, paths, numbers and commands verbatim. At most 300 words, no tools, nothing but the summary."
            .to_owned()
    }

    /// What tells the session it came from, when the run that was to write the summary has ended. If it wrote none,
    /// the extract takes its place; none if there is nothing to tell.
    pub(crate) fn told(&self, end: &RunEnd, id: MessageId, at: Timestamp) -> Option<InboxPost> {
        let written = end.text.trim();
        let text = if end.is_success() && !written.is_empty() {
            let written = cut(written, SUMMARY);
            format!("{} Its summary:\n{written}", self.opening())
        } else {
            self.extract()?
        };
        let origin = Origin::Agent {
            session: self.session.id.clone(),
            agent: self.session.agent.clone(),
            call: None,
        };
        let message = Message {
            silent: true,
            outside: end.outside,
            ..Message::new(id, vec![Part::text(text)], origin, at)
        };
        Some(InboxPost {
            session: self.from.session.clone(),
            lane: Lane::Boundary,
            key: self.key(HandBackSummary::Model),
            message,
            capacity: u64::MAX,
        })
    }

    fn opening(&self) -> String {
        let agent = &self.session.agent;
        format!("The conversation went on with agent {agent} and is back.")
    }
}

fn changed_files(end: &RunEnd) -> Option<String> {
    let files = end.files.iter().map(|file| file.path.display().to_string());
    let files: Vec<String> = files.collect();
    (!files.is_empty()).then(|| format!("Files changed: {}", files.join(", ")))
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
