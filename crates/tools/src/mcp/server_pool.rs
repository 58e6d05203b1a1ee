//! Pool of all MCP servers of one runtime: one connection per distinct configuration, shared by all agents that use it.
//!
//! A server is started only when an agent that may use it works. A failed server leads to a notice for the user; the
//! agent works without it.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::future::join_all;
use rooftree_protocol::McpServer;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Error, McpServerLease, McpServerStatus, McpSetup, Notice, ToolChange, ToolPinStore,
    identity::{digest, fingerprint, pin_key, resolve_config},
    prompts::{self, McpPrompt, McpPromptRequest},
    resources,
    server_entry::{McpServerContext, McpServerEntry, ToolListVersion},
    tool_list::{McpServerTools, remembered_tools as recalled_tools, server_tools},
};
use crate::Tool;

/// The servers of one runtime.
pub struct McpServerPool {
    directory: PathBuf,
    configured: BTreeMap<String, McpServer>,
    pins: ToolPinStore,
    common: Arc<McpServerContext>,
    slots: std::sync::Mutex<HashMap<String, Arc<McpServerEntry>>>,
    shelf: tokio::sync::Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<CachedServerTools>>>>>,
    numbers: AtomicU64,
}

/// What a server offered the last time, and which list that was.
#[derive(Clone)]
struct CachedServerTools {
    stamp: ToolListVersion,
    content: String,
    number: u64,
    wares: Arc<McpServerTools>,
}

/// The tools an agent has from servers.
#[derive(Default)]
pub struct McpAgentTools {
    /// The tools, in the order of their servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// Keep the servers from being ended.
    pub leases: Vec<McpServerLease>,
    /// Tells one set of tools from another.
    pub key: String,
}

/// Remembered tools of servers.
#[derive(Default)]
pub struct RememberedTools {
    /// The tools, in the order of their servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Servers that were never reached, so that their tools are unknown.
    pub unseen: Vec<String>,
}

/// Result of an inspection of one server.
pub struct McpInspection {
    /// Whether it answers.
    pub status: McpServerStatus,
    /// Its tools that can be used.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people should know.
    pub notices: Vec<Notice>,
}

impl Default for McpServerPool {
    fn default() -> Self {
        Self::new(McpSetup::default())
    }
}

impl McpServerPool {
    /// Nothing is started yet.
    pub fn new(setup: McpSetup) -> Self {
        let McpSetup {
            directory,
            configured,
            pins,
            tokens,
            confining,
            web,
            homes,
            startup,
            grace,
        } = setup;
        let remarks = Arc::default();
        let (task_tracker, closing) = (TaskTracker::new(), CancellationToken::new());
        Self {
            directory,
            configured,
            pins: ToolPinStore::new(pins),
            common: Arc::new(McpServerContext {
                confining,
                web,
                homes,
                remarks,
                startup,
                grace,
                tokens,
                task_tracker,
                closing,
            }),
            slots: std::sync::Mutex::default(),
            shelf: tokio::sync::Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    /// Default servers, for agents that have no list of their own.
    pub fn configured(&self) -> &BTreeMap<String, McpServer> {
        &self.configured
    }

    /// The tools of these servers. Those that are not running are started, all at the same time.
    pub async fn offer(&self, wanted: &BTreeMap<String, McpServer>) -> McpAgentTools {
        let mut offered = McpAgentTools::default();
        let asked =
            wanted
                .iter()
                .filter(|(_, server)| server.enabled)
                .map(|(name, server)| async move {
                    let slot = self.slot(name, server);
                    let _needed = slot.lease();
                    let found = self.wares(name, &slot).await;
                    (name, slot, found)
                });
        let mut readable = BTreeMap::new();
        for (name, slot, found) in join_all(asked).await {
            offered.leases.push(slot.lease());
            match found {
                Ok(shelved) => {
                    if shelved.wares.has_resources {
                        readable.insert(name.clone(), slot);
                    }
                    offered.tools.extend(shelved.wares.tools.iter().cloned());
                    offered
                        .notices
                        .extend(shelved.wares.notices.iter().cloned());
                    offered.key += &format!("{name}#{} ", shelved.number);
                }
                Err(error) => offered.notices.push(Notice::failed(name, &error)),
            }
        }
        offered.tools.extend(resources::tools(readable));
        offered.notices.extend(self.common.remarks.take());
        offered
    }

    /// The tools of these servers as they were when last seen. No server is started or contacted.
    pub fn recall(&self, wanted: &BTreeMap<String, McpServer>) -> Result<RememberedTools, Error> {
        let (mut recalled, mut readable) = (RememberedTools::default(), BTreeMap::new());
        for (name, server) in wanted.iter().filter(|(_, server)| server.enabled) {
            let slot = self.slot(name, server);
            let Some((known, has_resources)) = self.pins.recall(&pin_key(name, slot.server()))?
            else {
                recalled.unseen.push(name.clone());
                continue;
            };
            recalled.tools.extend(recalled_tools(name, &slot, &known));
            if has_resources {
                readable.insert(name.clone(), slot);
            }
        }
        recalled.tools.extend(resources::tools(readable));
        Ok(recalled)
    }

    /// The prompts of a server, as people type them.
    pub async fn prompts(&self, name: &str, server: &McpServer) -> Result<Vec<McpPrompt>, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        Ok(prompts::known(
            name,
            slot.connection().await?.prompts().await?,
        ))
    }

    /// What a prompt of a server says, filled in.
    pub async fn prompt(
        &self,
        name: &str,
        server: &McpServer,
        wish: &McpPromptRequest,
    ) -> Result<String, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        prompts::filled(name, &*slot.connection().await?, wish).await
    }

    /// Inspects one server, for the user who sets it up.
    pub async fn inspect(&self, name: &str, server: &McpServer) -> McpInspection {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        let found = async { Ok((slot.about().await?, self.wares(name, &slot).await?)) };
        let found = found.await;
        let mut notices = self.common.remarks.take();
        match found {
            Ok((about, shelved)) => {
                notices.extend(shelved.wares.notices.iter().cloned());
                McpInspection {
                    status: McpServerStatus::Ready(about),
                    tools: shelved.wares.tools.clone(),
                    notices,
                }
            }
            Err(error) => McpInspection {
                status: McpServerStatus::Failed(error),
                tools: Vec::new(),
                notices,
            },
        }
    }

    /// Takes a server's tools as they are now for what they should be; says what was different.
    pub async fn accept(&self, name: &str, server: &McpServer) -> Result<Vec<ToolChange>, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        let (listed, _) = slot.tools().await?;
        let known_as = pin_key(name, slot.server());
        let changes = self.pins.compare(&known_as, &listed.tools)?;
        self.pins.accept(&known_as, &listed.tools)?;
        Ok(changes)
    }

    /// Ends every server, and waits until nothing of them is left.
    pub async fn close(&self) {
        self.common.closing.cancel();
        let slots: Vec<Arc<McpServerEntry>> = self
            .slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect();
        join_all(slots.iter().map(|slot| slot.close())).await;
        self.common.task_tracker.close();
        self.common.task_tracker.wait().await;
    }

    /// Invariant: one configuration has one entry, whatever agents call it.
    fn slot(&self, name: &str, server: &McpServer) -> Arc<McpServerEntry> {
        let server = resolve_config(server, &self.directory);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            Arc::new(McpServerEntry::new(
                name,
                server.clone(),
                self.common.clone(),
            ))
        };
        slots
            .entry(fingerprint(&server))
            .or_insert_with(make)
            .clone()
    }

    /// What a server offers under this name, asked only if it may have changed. One that cannot be
    /// asked now is taken to offer what it did: its tools say themselves that they cannot be used.
    async fn wares(
        &self,
        name: &str,
        slot: &Arc<McpServerEntry>,
    ) -> Result<CachedServerTools, Error> {
        let key = format!("{name} {}", fingerprint(slot.server()));
        let place = self.shelf.lock().await.entry(key).or_default().clone();
        let mut shelved = place.lock().await;
        if let Some(known) = shelved.as_ref()
            && slot.stamp().await.is_none_or(|now| now == known.stamp)
        {
            return Ok(known.clone());
        }
        let (listed, stamp) = match (slot.tools().await, shelved.as_ref()) {
            (Ok(listed), _) => listed,
            (Err(_), Some(known)) => return Ok(known.clone()),
            (Err(error), None) => return Err(error),
        };
        let known = json!([listed.tools, listed.has_resources, listed.has_more]);
        let content = digest(&known.to_string());
        let fresh = match shelved.as_ref().filter(|known| known.content == content) {
            Some(known) => CachedServerTools {
                stamp,
                ..known.clone()
            },
            None => {
                let wares = Arc::new(server_tools(name, slot, &listed, &self.pins)?);
                CachedServerTools {
                    stamp,
                    content,
                    number: self.numbers.fetch_add(1, Ordering::Relaxed),
                    wares,
                }
            }
        };
        *shelved = Some(fresh.clone());
        Ok(fresh)
    }
}
