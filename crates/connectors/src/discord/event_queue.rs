//! Events between the Discord gateway and the caller, and the cursor that survives a restart.
//!
//! The gateway replays events behind a sequence number while it remembers the session; after that, messages of known
//! channels are fetched behind the last one that was acknowledged.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{channel_kind::ChannelKind, event::text, gateway::GatewayEvent};

/// Channels whose last message is kept.
const MOST_CHANNELS: usize = 200;

/// Where receiving goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DiscordCursor {
    pub(super) session: Option<GatewaySession>,
    /// The last event that was acknowledged.
    pub(super) seq: i64,
    /// The last acknowledged message of each channel.
    pub(super) channels: BTreeMap<String, String>,
}

/// A session of the gateway, which can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GatewaySession {
    pub(super) id: String,
    pub(super) url: String,
}

/// Something that was given out.
#[derive(Debug)]
pub(super) struct GivenEvent {
    pub(super) key: String,
    pub(super) seq: i64,
    /// The channel, if it was a message.
    pub(super) channel: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct EventQueue {
    pub(super) cursor: DiscordCursor,
    /// The last event that was received.
    pub(super) seq: i64,
    pub(super) waiting: VecDeque<GatewayEvent>,
    given: VecDeque<GivenEvent>,
    /// The bot and its application.
    pub(super) bot: String,
    pub(super) application: String,
    /// Whether messages may have been missed.
    pub(super) is_behind: bool,
    /// Tokens by which presses are answered.
    presses: VecDeque<(String, String)>,
    channels: HashMap<String, ChannelKind>,
}

impl EventQueue {
    pub(super) fn new(cursor: DiscordCursor) -> Self {
        Self {
            seq: cursor.seq,
            cursor,
            ..Self::default()
        }
    }

    /// Adds an event that was received; what waits or was given out already is not added again.
    pub(super) fn add(&mut self, event: GatewayEvent) {
        self.seq = self.seq.max(event.seq);
        let id = text(&event.data, "id").unwrap_or_default();
        let is_same =
            |other: &GatewayEvent| text(&other.data, "id") == Some(id) && other.kind == event.kind;
        let is_known =
            self.waiting.iter().any(is_same) || self.given.iter().any(|given| given.key == id);
        if !is_known {
            self.waiting.push_back(event);
        }
        self.settle();
    }

    pub(super) fn give(&mut self, event: GivenEvent) {
        self.waiting.pop_front();
        self.given.push_back(event);
    }

    /// Passes over an event that is nothing for us.
    pub(super) fn pass(&mut self) {
        self.waiting.pop_front();
        self.settle();
    }

    pub(super) fn acknowledge(&mut self, key: &str) {
        let at = self.given.iter().position(|given| given.key == key);
        let Some(at) = at else { return };
        for stored in self.given.drain(..=at) {
            self.cursor.seq = self.cursor.seq.max(stored.seq);
            if let Some(channel) = stored.channel {
                self.cursor.channels.insert(channel, stored.key);
            }
        }
        while self.cursor.channels.len() > MOST_CHANNELS {
            // The one in which nothing was said for the longest time; ids grow with time.
            let oldest = self
                .cursor
                .channels
                .iter()
                .min_by_key(|(_, id)| id.parse::<u64>().unwrap_or_default());
            let Some(oldest) = oldest.map(|(channel, _)| channel.clone()) else {
                break;
            };
            self.cursor.channels.remove(&oldest);
        }
        self.settle();
    }

    /// With nothing open, everything that was received is done.
    fn settle(&mut self) {
        if self.waiting.is_empty() && self.given.is_empty() {
            self.cursor.seq = self.seq;
        }
    }

    pub(super) fn channel(&self, id: &str) -> Option<ChannelKind> {
        self.channels.get(id).cloned()
    }

    pub(super) fn note_channel(&mut self, id: &str, kind: ChannelKind) {
        if self.channels.len() > 10_000 {
            self.channels.clear();
        }
        self.channels.insert(id.to_owned(), kind);
    }

    /// Keeps the token of a press; Discord takes it for fifteen minutes.
    pub(super) fn note_press(&mut self, id: &str, token: &str) {
        if self.presses.len() > 256 {
            self.presses.pop_front();
        }
        self.presses.push_back((id.to_owned(), token.to_owned()));
    }

    pub(super) fn press(&self, id: &str) -> Option<String> {
        let press = self.presses.iter().find(|(press, _)| press == id);
        press.map(|(_, token)| token.clone())
    }
}
