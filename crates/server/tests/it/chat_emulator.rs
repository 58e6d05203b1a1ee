//! An emulated chat platform in this process: records what it gets, and fails as it is told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use rooftree_connectors::{
    Capabilities, ChatPlace, Connector, FailureClass, Health, Inbound, InboundFile, LengthUnit,
    OutboundPart, PartBody, Receipt, Reconciled, SendError,
};
use tokio::sync::watch;

/// A message of the platform, as its readers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenMessage {
    pub place: ChatPlace,
    pub text: String,
    pub buttons: Vec<String>,
    pub silent: bool,
    pub file: Option<Vec<u8>>,
    pub edits: u32,
}

/// What the platform does with a request.
pub enum Reaction {
    /// It fails, and nothing arrives.
    Fail(SendError),
    /// It arrives, and no answer comes.
    Lose,
}

/// The platform.
pub struct ChatEmulator {
    pub longest: usize,
    pub state: Mutex<PlatformState>,
    health: watch::Sender<Health>,
}

#[derive(Default)]
pub struct PlatformState {
    pub seen: Vec<SeenMessage>,
    /// What happens to the next requests to send that hold a text.
    pub reactions: VecDeque<(String, Reaction)>,
    pub attempts: Vec<String>,
    pub typed: u32,
}

impl ChatEmulator {
    pub fn new(longest: usize) -> Arc<Self> {
        Arc::new(Self {
            longest,
            state: Mutex::default(),
            health: watch::channel(Health::Up).0,
        })
    }

    /// The next request to send this text gets a failure of this class.
    pub fn fail(&self, text: &str, class: FailureClass) {
        self.react(
            text,
            Reaction::Fail(SendError::new(class, "as it was told")),
        );
    }

    pub fn react(&self, text: &str, reaction: Reaction) {
        let mut state = self.state.lock().unwrap();
        state.reactions.push_back((text.to_owned(), reaction));
    }

    pub fn seen(&self) -> Vec<SeenMessage> {
        self.state.lock().unwrap().seen.clone()
    }

    pub fn texts(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.text).collect()
    }

    /// What was tried to send.
    pub fn attempts(&self) -> Vec<String> {
        self.state.lock().unwrap().attempts.clone()
    }

    pub fn set_health(&self, health: Health) {
        self.health.send_replace(health);
    }
}

fn seen(place: &ChatPlace, part: &OutboundPart) -> SeenMessage {
    let (text, file) = match &part.body {
        PartBody::Text { text, .. } => (text.clone(), None),
        PartBody::File(file) => (file.caption.clone(), Some(file.bytes.clone())),
    };
    let buttons = part.buttons.iter().flatten();
    SeenMessage {
        place: place.clone(),
        text,
        buttons: buttons.map(|button| button.data.clone()).collect(),
        silent: part.silent,
        file,
        edits: 0,
    }
}

#[async_trait]
impl Connector for ChatEmulator {
    fn platform(&self) -> &'static str {
        "emulated"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: true,
            buttons: true,
            threads: true,
            files: true,
            typing: true,
            groups: true,
            max_length: self.longest + 40,
            caption_length: 200,
            button_data: 64,
            upload: 1_000,
            download: 1_000,
            unit: LengthUnit::Chars,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        std::future::pending().await
    }

    async fn acknowledge(&self, _key: &str) -> Result<(), SendError> {
        Ok(())
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        let characters: Vec<char> = markdown.chars().collect();
        let pieces = characters.chunks(self.longest);
        let text = |piece: &[char]| OutboundPart::text(piece.iter().collect::<String>());
        pieces.map(text).collect()
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        let mut state = self.state.lock().unwrap();
        let message = seen(to, part);
        state.attempts.push(message.text.clone());
        let mut reactions = state.reactions.iter();
        let at = reactions.position(|(text, _)| message.text.contains(text.as_str()));
        match at.and_then(|at| state.reactions.remove(at)) {
            Some((_, Reaction::Fail(error))) => return Err(error),
            Some((_, Reaction::Lose)) => {
                state.seen.push(message);
                let words = "no answer came";
                return Err(SendError::new(FailureClass::Unknown, words));
            }
            None => state.seen.push(message),
        }
        let message = (state.seen.len() - 1).to_string();
        Ok(Receipt { message })
    }

    async fn edit(
        &self,
        _to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        let mut state = self.state.lock().unwrap();
        let at: usize = message.parse().unwrap();
        let SeenMessage { text, buttons, .. } = seen(_to, part);
        let changed = &mut state.seen[at];
        (changed.text, changed.buttons) = (text, buttons);
        changed.edits += 1;
        Ok(())
    }

    async fn answer_button(&self, _press: &str, _text: &str) -> Result<(), SendError> {
        Ok(())
    }

    async fn typing(&self, _to: &ChatPlace) -> Result<(), SendError> {
        self.state.lock().unwrap().typed += 1;
        Ok(())
    }

    async fn download(&self, _file: &InboundFile, _limit: u64) -> Result<Vec<u8>, SendError> {
        Ok(Vec::new())
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        Reconciled::Unresolved
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}
