//! All servers of one runtime: one connection per distinct configuration, shared by everybody who has it.
//!
//! Nothing is started until somebody who may use a server works. A server that fails is something to
//! tell people, never a reason not to work.

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
    Change, Error, Lease, Notice, Pins, Setup, Status,
    identity::{digest, fingerprint, remembered_as, settled},
    offer::{Wares, recalled as recalled_tools, wares},
    prompts::{self, Prompt, Wish},
    resources,
    slot::{Common, Slot, Stamp},
};
use crate::Tool;

/// The servers of one runtime.
pub struct Servers {
    directory: PathBuf,
    configured: BTreeMap<String, McpServer>,
    pins: Pins,
    common: Arc<Common>,
    slots: std::sync::Mutex<HashMap<String, Arc<Slot>>>,
    shelf: tokio::sync::Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Shelved>>>>>,
    numbers: AtomicU64,
}

/// What a server offered the last time, and which list that was.
#[derive(Clone)]
struct Shelved {
    stamp: Stamp,
    content: String,
    number: u64,
    wares: Arc<Wares>,
}

/// The tools an agent has from servers.
#[derive(Default)]
pub struct Offered {
    /// The tools, in the order of their servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// Keep the servers from being ended.
    pub leases: Vec<Lease>,
    /// Tells one set of tools from another.
    pub key: String,
}

/// What is remembered of tools.
#[derive(Default)]
pub struct Recalled {
    /// The tools, in the order of their servers.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Servers that were never reached, so that nobody knows their tools.
    pub unseen: Vec<String>,
}

/// One server, looked at by a person.
pub struct Inspection {
    /// Whether it answers.
    pub status: Status,
    /// Its tools that can be used.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What people should know.
    pub notices: Vec<Notice>,
}

impl Default for Servers {
    fn default() -> Self {
        Self::new(Setup::default())
    }
}

impl Servers {
    /// Nothing is started yet.
    pub fn new(setup: Setup) -> Self {
        let Setup { directory, configured, pins, tokens, confining, web, homes, startup, grace } = setup;
        let remarks = Arc::default();
        let (crew, closing) = (TaskTracker::new(), CancellationToken::new());
        Self {
            directory,
            configured,
            pins: Pins::new(pins),
            common: Arc::new(Common {
                confining,
                web,
                homes,
                remarks,
                startup,
                grace,
                tokens,
                crew,
                closing,
            }),
            slots: std::sync::Mutex::default(),
            shelf: tokio::sync::Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    /// The servers that everybody has who is not given others.
    pub fn configured(&self) -> &BTreeMap<String, McpServer> {
        &self.configured
    }

    /// The tools of these servers. Those that are not running are started, all at the same time.
    pub async fn offer(&self, wanted: &BTreeMap<String, McpServer>) -> Offered {
        let mut offered = Offered::default();
        let asked = wanted.iter().filter(|(_, server)| server.enabled).map(|(name, server)| async move {
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
                    offered.notices.extend(shelved.wares.notices.iter().cloned());
                    offered.key += &format!("{name}#{} ", shelved.number);
                }
                Err(error) => offered.notices.push(Notice::failed(name, &error)),
            }
        }
        offered.tools.extend(resources::tools(readable));
        offered.notices.extend(self.common.remarks.take());
        offered
    }

    /// The tools of these servers as they were when last seen. Nothing is started, nobody is asked.
    pub fn recall(&self, wanted: &BTreeMap<String, McpServer>) -> Result<Recalled, Error> {
        let (mut recalled, mut readable) = (Recalled::default(), BTreeMap::new());
        for (name, server) in wanted.iter().filter(|(_, server)| server.enabled) {
            let slot = self.slot(name, server);
            let Some((known, has_resources)) = self.pins.recall(&remembered_as(name, slot.server()))? else {
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
    pub async fn prompts(&self, name: &str, server: &McpServer) -> Result<Vec<Prompt>, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        Ok(prompts::known(name, slot.connection().await?.prompts().await?))
    }

    /// What a prompt of a server says, filled in.
    pub async fn prompt(&self, name: &str, server: &McpServer, wish: &Wish) -> Result<String, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        prompts::filled(name, &*slot.connection().await?, wish).await
    }

    /// Looks at one server, as whoever sets it up wants to.
    pub async fn inspect(&self, name: &str, server: &McpServer) -> Inspection {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        let found = async { Ok((slot.about().await?, self.wares(name, &slot).await?)) };
        let found = found.await;
        let mut notices = self.common.remarks.take();
        match found {
            Ok((about, shelved)) => {
                notices.extend(shelved.wares.notices.iter().cloned());
                Inspection { status: Status::Ready(about), tools: shelved.wares.tools.clone(), notices }
            }
            Err(error) => Inspection { status: Status::Failed(error), tools: Vec::new(), notices },
        }
    }

    /// Takes a server's tools as they are now for what they should be; says what was different.
    pub async fn accept(&self, name: &str, server: &McpServer) -> Result<Vec<Change>, Error> {
        let slot = self.slot(name, server);
        let _needed = slot.lease();
        let (listed, _) = slot.tools().await?;
        let known_as = remembered_as(name, slot.server());
        let changes = self.pins.compare(&known_as, &listed.tools)?;
        self.pins.accept(&known_as, &listed.tools)?;
        Ok(changes)
    }

    /// Ends every server, and waits until nothing of them is left.
    pub async fn close(&self) {
        self.common.closing.cancel();
        let slots: Vec<Arc<Slot>> =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        join_all(slots.iter().map(|slot| slot.close())).await;
        self.common.crew.close();
        self.common.crew.wait().await;
    }

    /// Invariant: one configuration has one slot, whatever agents call it.
    fn slot(&self, name: &str, server: &McpServer) -> Arc<Slot> {
        let server = settled(server, &self.directory);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(Slot::new(name, server.clone(), self.common.clone()));
        slots.entry(fingerprint(&server)).or_insert_with(make).clone()
    }

    /// What a server offers under this name, asked only if it may have changed. One that cannot be
    /// asked now is taken to offer what it did: its tools say themselves that they cannot be used.
    async fn wares(&self, name: &str, slot: &Arc<Slot>) -> Result<Shelved, Error> {
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
            Some(known) => Shelved { stamp, ..known.clone() },
            None => {
                let wares = Arc::new(wares(name, slot, &listed, &self.pins)?);
                Shelved { stamp, content, number: self.numbers.fetch_add(1, Ordering::Relaxed), wares }
            }
        };
        *shelved = Some(fresh.clone());
        Ok(fresh)
    }
}
