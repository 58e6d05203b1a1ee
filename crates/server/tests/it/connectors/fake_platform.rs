//! A chat platform in this process: it keeps what was not acknowledged and delivers it again to the next client.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use rooftree_connectors::{
    Capabilities, ChatPlace, ChatSender, Connector, FailureClass, Health, Inbound, InboundBody,
    InboundFile, LengthUnit, OutboundPart, PartBody, Receipt, Reconciled, SendError,
};
use tokio::sync::{Notify, watch};

#[derive(Default)]
pub struct FakePlatform {
    state: Mutex<FakeState>,
    arrived: Notify,
}

#[derive(Default)]
struct FakeState {
    count: u64,
    /// Not acknowledged, in order.
    waiting: Vec<(u64, Inbound)>,
    acknowledged: Vec<String>,
    presses: Vec<(String, String)>,
    sent: Vec<(ChatPlace, OutboundPart)>,
    /// The next so many messages arrive, and no answer comes.
    lost_receipts: usize,
    /// What messages were changed to: their ids and texts.
    edits: Vec<(String, String)>,
    files: HashMap<String, Vec<u8>>,
    downloads: usize,
    receivers: usize,
    refuse_acknowledgements: bool,
    /// The cursors that clients were made with.
    cursors: Vec<Option<String>>,
}

impl FakePlatform {
    fn with<T>(&self, change: impl FnOnce(&mut FakeState) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    /// Something arrives.
    pub fn deliver(&self, inbound: Inbound) {
        self.with(|state| {
            state.count += 1;
            state.waiting.push((state.count, inbound));
        });
        self.arrived.notify_waiters();
    }

    pub fn keep_file(&self, id: &str, bytes: &[u8]) {
        self.with(|state| state.files.insert(id.into(), bytes.into()));
    }

    /// From now on acknowledgements get lost, as if the process died before them.
    pub fn lose_acknowledgements(&self, lose: bool) {
        self.with(|state| state.refuse_acknowledgements = lose);
    }

    /// The receipts of the next so many messages get lost.
    pub fn lose_receipts(&self, count: usize) {
        self.with(|state| state.lost_receipts = count);
    }

    /// The texts that arrived, with their ids.
    pub fn sent(&self) -> Vec<(String, String)> {
        self.with(|state| {
            let sent = state.sent.iter().zip(1..);
            sent.map(|((_, part), number)| (format!("sent-{number}"), text_of(part)))
                .collect()
        })
    }

    pub fn edits(&self) -> Vec<(String, String)> {
        self.with(|state| state.edits.clone())
    }

    /// The cursors that clients were made with, in order.
    pub fn cursors(&self) -> Vec<Option<String>> {
        self.with(|state| state.cursors.clone())
    }

    pub fn waiting(&self) -> Vec<String> {
        self.with(|state| {
            let waiting = state.waiting.iter();
            waiting.map(|(_, inbound)| inbound.key.clone()).collect()
        })
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.with(|state| state.acknowledged.clone())
    }

    /// What people who pressed a button were told.
    pub fn presses(&self) -> Vec<(String, String)> {
        self.with(|state| state.presses.clone())
    }

    pub fn downloads(&self) -> usize {
        self.with(|state| state.downloads)
    }

    /// How many clients have received something, or tried to.
    pub fn receivers(&self) -> usize {
        self.with(|state| state.receivers)
    }
}

/// One client of the platform.
pub struct FakeConnector {
    platform: Arc<FakePlatform>,
    last: Mutex<Option<u64>>,
    health: watch::Sender<Health>,
    name: &'static str,
}

impl FakeConnector {
    pub fn new(platform: &Arc<FakePlatform>, name: &'static str, cursor: Option<String>) -> Self {
        platform.with(|state| state.cursors.push(cursor));
        Self {
            platform: platform.clone(),
            last: Mutex::default(),
            health: watch::Sender::new(Health::Up),
            name,
        }
    }

    fn next(&self) -> Option<Inbound> {
        let mut last = self.last.lock().unwrap();
        self.platform.with(|state| {
            if last.is_none() {
                state.receivers += 1;
            }
            let after = last.unwrap_or(0);
            *last = Some(after);
            let (number, inbound) = state.waiting.iter().find(|(number, _)| *number > after)?;
            *last = Some(*number);
            Some(inbound.clone())
        })
    }
}

#[async_trait]
impl Connector for FakeConnector {
    fn platform(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: true,
            buttons: true,
            threads: true,
            files: true,
            typing: true,
            groups: true,
            max_length: 4_000,
            caption_length: 1_000,
            button_data: 64,
            upload: 50 << 20,
            download: 1 << 20,
            unit: LengthUnit::Utf16,
        }
    }

    async fn receive(&self) -> Result<Inbound, SendError> {
        loop {
            let arrived = self.platform.arrived.notified();
            tokio::pin!(arrived);
            arrived.as_mut().enable();
            if let Some(inbound) = self.next() {
                return Ok(inbound);
            }
            arrived.await;
        }
    }

    async fn acknowledge(&self, key: &str) -> Result<(), SendError> {
        self.platform.with(|state| {
            if state.refuse_acknowledgements {
                return Err(SendError::new(FailureClass::Transient, "lost"));
            }
            let at = state.waiting.iter().position(|(_, known)| known.key == key);
            let Some(at) = at else { return Ok(()) };
            let stored = state.waiting.drain(..=at);
            let stored: Vec<String> = stored.map(|(_, inbound)| inbound.key).collect();
            state.acknowledged.extend(stored);
            Ok(())
        })
    }

    fn cursor(&self) -> Option<String> {
        self.platform.acknowledged().last().cloned()
    }

    fn split(&self, markdown: &str) -> Vec<OutboundPart> {
        vec![OutboundPart::text(markdown)]
    }

    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError> {
        self.platform.with(|state| {
            state.sent.push((to.clone(), part.clone()));
            if state.lost_receipts > 0 {
                state.lost_receipts -= 1;
                return Err(SendError::new(FailureClass::Unknown, "no answer came"));
            }
            Ok(Receipt {
                message: format!("sent-{}", state.sent.len()),
            })
        })
    }

    async fn edit(
        &self,
        _to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError> {
        let edit = (message.to_owned(), text_of(part));
        self.platform.with(|state| state.edits.push(edit));
        Ok(())
    }

    async fn answer_button(&self, press: &str, text: &str) -> Result<(), SendError> {
        self.platform
            .with(|state| state.presses.push((press.into(), text.into())));
        Ok(())
    }

    async fn typing(&self, _to: &ChatPlace) -> Result<(), SendError> {
        Ok(())
    }

    async fn download(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError> {
        self.platform.with(|state| {
            state.downloads += 1;
            let bytes = state.files.get(&file.id).cloned();
            let bytes = bytes.ok_or_else(|| SendError::new(FailureClass::NotFound, "gone"))?;
            if bytes.len() as u64 > limit {
                return Err(SendError::new(FailureClass::InvalidPayload, "too large"));
            }
            Ok(bytes)
        })
    }

    async fn reconcile(&self, _to: &ChatPlace, _part: &OutboundPart) -> Reconciled {
        Reconciled::Unresolved
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }
}

fn text_of(part: &OutboundPart) -> String {
    match &part.body {
        PartBody::Text { text, .. } => text.clone(),
        PartBody::File(file) => file.caption.clone(),
    }
}

/// A message in the direct chat of a sender with the bot.
pub fn direct(key: &str, from: &str, text: &str) -> Inbound {
    Inbound {
        key: key.into(),
        place: ChatPlace {
            chat: from.into(),
            thread: None,
            reply_to: None,
            group: false,
        },
        from: ChatSender {
            id: from.into(),
            name: format!("name of {from}"),
        },
        body: InboundBody::Message {
            text: text.into(),
            files: Vec::new(),
            message: format!("m{key}"),
            reply_to: None,
            addressed: true,
        },
        at_ms: 0,
        agent: None,
    }
}

/// A message of a sender in a group, in which the bot is named.
pub fn in_group(key: &str, group: &str, from: &str, text: &str) -> Inbound {
    let mut inbound = direct(key, from, text);
    inbound.place.chat = group.into();
    inbound.place.group = true;
    inbound
}

/// A pressed button of this message.
pub fn press_on(message: &str, key: &str, from: &str, data: &str) -> Inbound {
    let mut inbound = direct(key, from, "");
    inbound.body = InboundBody::Button {
        data: data.into(),
        press: format!("press-{key}"),
        message: message.into(),
    };
    inbound
}
