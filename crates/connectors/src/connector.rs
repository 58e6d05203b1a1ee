//! The [`Connector`] trait: receive, acknowledge, send, edit, and what a platform is able to do.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use tokio::sync::watch;

use crate::{
    ChatPlace, Inbound, InboundFile, OutboundPart, PlatformAnswer, PlatformRequest, Receipt,
    Reconciled, SendError,
};

/// A client of one account of a chat platform or one webhook.
///
/// Contract. `receive` gives what arrived, in order, and again after a restart whatever was not acknowledged. The caller
/// acknowledges only what it has stored. `split` is pure: it plans all parts of a text before the first is sent.
/// Every call may be dropped at any await point.
#[async_trait]
pub trait Connector: Send + Sync {
    /// The platform: `telegram`, `discord`, `webhook`, `external`.
    fn platform(&self) -> &'static str;

    /// What the platform is able to do.
    fn capabilities(&self) -> Capabilities;

    /// The next thing that arrived. Reconnects by itself with backoff and reports it in `health`; an error is final
    /// (refused credentials), and the connector is stopped.
    async fn receive(&self) -> Result<Inbound, SendError>;

    /// Takes an HTTP request that the platform made to the address of this connector, and waits until what it holds was
    /// given out by `receive` and acknowledged: only then is the answer a success. The caller writes the answer.
    async fn take_request(&self, _request: PlatformRequest<'_>) -> PlatformAnswer {
        PlatformAnswer::refused(404, "this connector takes no requests")
    }

    /// Says that what arrived with this key, and everything before it, is stored. Files that came inside a request are
    /// forgotten then, so they are fetched with `download` before.
    async fn acknowledge(&self, key: &str) -> Result<(), SendError>;

    /// Where receiving goes on after a restart, for platforms that do not keep it: the caller stores it with what it
    /// acknowledged and gives it back in the options.
    fn cursor(&self) -> Option<String> {
        None
    }

    /// Splits Markdown into parts that the platform takes, each within its limits.
    fn split(&self, markdown: &str) -> Vec<OutboundPart>;

    /// Sends one part.
    async fn send(&self, to: &ChatPlace, part: &OutboundPart) -> Result<Receipt, SendError>;

    /// Sends one part under a key that is the same whenever this part is sent again, so that a platform that knows keys
    /// takes it once.
    async fn send_keyed(
        &self,
        to: &ChatPlace,
        part: &OutboundPart,
        _key: &str,
    ) -> Result<Receipt, SendError> {
        self.send(to, part).await
    }

    /// Replaces the text and buttons of a message that was sent. Only where `capabilities` say `edit`.
    async fn edit(
        &self,
        to: &ChatPlace,
        message: &str,
        part: &OutboundPart,
    ) -> Result<(), SendError>;

    /// Answers a pressed button, with a short text that only this person sees.
    async fn answer_button(&self, press: &str, text: &str) -> Result<(), SendError>;

    /// Shows that an answer is being made. Does nothing where the platform has no such thing.
    async fn typing(&self, to: &ChatPlace) -> Result<(), SendError>;

    /// The bytes of a file that arrived, at most `limit`.
    async fn download(&self, file: &InboundFile, limit: u64) -> Result<Vec<u8>, SendError>;

    /// Whether a part whose sending was interrupted arrived.
    async fn reconcile(&self, to: &ChatPlace, part: &OutboundPart) -> Reconciled;

    /// The same for a part that was sent with `send_keyed`.
    async fn reconcile_keyed(&self, to: &ChatPlace, part: &OutboundPart, _key: &str) -> Reconciled {
        self.reconcile(to, part).await
    }

    /// Its health, and changes of it.
    fn health(&self) -> watch::Receiver<Health>;
}

/// A connector that several tasks use.
pub type SharedConnector = Arc<dyn Connector>;

/// What a platform is able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// A message that was sent can be changed.
    pub edit: bool,
    /// Messages have buttons.
    pub buttons: bool,
    /// Chats have threads or topics.
    pub threads: bool,
    /// Files can be sent.
    pub files: bool,
    /// There is a sign that an answer is being made.
    pub typing: bool,
    /// Chats with several people.
    pub groups: bool,
    /// The longest text of a message, in `unit`.
    pub max_length: usize,
    /// The longest caption of a file, in `unit`.
    pub caption_length: usize,
    /// The longest data of a button, in bytes.
    pub button_data: usize,
    /// The largest file it takes, in bytes.
    pub upload: u64,
    /// The largest file it gives, in bytes.
    pub download: u64,
    /// What lengths are counted in.
    pub unit: LengthUnit,
}

/// What a platform counts lengths in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
    /// Unicode scalar values.
    Chars,
}

/// How a connector is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Health {
    /// It is not started.
    #[default]
    Off,
    /// It connects for the first time.
    Connecting,
    /// It works.
    Up,
    /// It does not work now and tries again.
    Degraded {
        /// Why, without secrets.
        reason: String,
    },
    /// It does not try again: credentials were refused or another poller has the account.
    Stopped {
        /// Why, without secrets.
        reason: String,
    },
}
