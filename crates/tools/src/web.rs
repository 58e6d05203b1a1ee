//! Network access of the web tools: configuration, limits, name resolution.
//!
//! `guard` decides which URLs and addresses are allowed, `exchange` sends HTTP requests to a checked address only,
//! `body` reads a response without trusting its length.

pub(crate) mod address;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod exchange;
pub mod guard;
pub mod post;
pub(crate) mod private_host;
pub(crate) mod target;
pub(crate) mod untrusted_text;

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{Effect, Repeat, ToolKind};

use crate::tool_info::{CallConcurrency, ExposedAs, ToolInfo, ToolSubject};

pub use private_host::PrivateHost;

/// Declaration of WebFetch. It stands here because rules and definitions may name the tool in a build without it.
pub(crate) const WEB_FETCH: ToolInfo = ToolInfo {
    name: "WebFetch",
    aliases: &["web_fetch", "url_fetch_fetch", "http_get", "fetch"],
    kind: ToolKind::Fetch,
    effect: Effect::RemoteAction,
    repeat: Some(Repeat::Idempotent),
    concurrency: CallConcurrency::Always,
    subject: ToolSubject::Url("url"),
    capabilities: &["net"],
    needs_working_copy: false,
    exposed_as: ExposedAs::Web,
    ..ToolInfo::UNDECLARED
};

/// Finds the addresses of a host. What it says is checked, and connected to without asking again.
pub type HostResolver =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// How WebFetch and WebSearch reach the network.
#[derive(Clone)]
pub struct WebConfig {
    /// Hosts of one's own that may be reached although they are not public.
    pub allow_private: Vec<PrivateHost>,
    /// How much of an answer is read, and for how long.
    pub bounds: WebBounds,
    /// DNS resolver.
    pub resolver: HostResolver,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            allow_private: Vec::new(),
            bounds: WebBounds::default(),
            resolver: Arc::new(|host| system(host).boxed()),
        }
    }
}

/// How much of an answer is read, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebBounds {
    /// Timeout for everything: name resolution, connections, redirects, all bytes.
    pub time: Duration,
    /// Redirects that are followed.
    pub redirects: usize,
    /// Bytes as they come over the wire.
    pub wire_bytes: usize,
    /// Bytes after they are unpacked.
    pub unpacked_bytes: usize,
    /// How many times longer than its packed form a text may be.
    pub unpacked_ratio: usize,
    /// How long a cached page is fresh.
    pub fresh: Duration,
    /// Maximum bytes of cached pages.
    pub kept_bytes: usize,
}

impl Default for WebBounds {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(15),
            redirects: 5,
            wire_bytes: 5_000_000,
            unpacked_bytes: 10_000_000,
            unpacked_ratio: 100,
            fresh: Duration::from_secs(15 * 60),
            kept_bytes: 50_000_000,
        }
    }
}

/// The resolver of the system.
async fn system(host: String) -> io::Result<Vec<IpAddr>> {
    Ok(tokio::net::lookup_host((host.as_str(), 0))
        .await?
        .map(|address| address.ip())
        .collect())
}
