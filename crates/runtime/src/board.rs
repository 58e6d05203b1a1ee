//! The board of a principal: reads what the store has, finds out which processes live, and derives the rows.
//!
//! `board/feed.rs` watches it: computed once per distinct visibility, however many streams watch.

mod feed;

use std::sync::Arc;

use rooftree_protocol::{Account, Principal, SessionId, Timestamp};
use rooftree_store::{
    BoardCursor, BoardQuery, BoardRecord, BoardRecords, Error, Inquiry, Owner, Store,
};
use rooftree_view::board::{
    BoardClaim, BoardFacts, BoardInquiry, BoardMoment, BoardRev, BoardRow, BoardSurroundings,
    ChildFacts, EndedChildren, ProcessEvidence, board_row, sort_board,
};
use rooftree_workspace::git_branch;

pub(crate) use self::feed::BoardHub;
pub use self::feed::BoardWatch;
use crate::Clock;

/// Rows of the board besides those that ask for attention.
pub const BOARD_REST: usize = 50;

/// Which part of the board.
#[derive(Clone, Debug, Default)]
pub struct BoardFilter {
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// At most so many rows besides those that ask for attention; none for 50.
    pub rest: Option<usize>,
    /// The rest after this place: the next page.
    pub after: Option<BoardCursor>,
}

/// One page of the board.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardPage {
    /// Its revision.
    pub rev: BoardRev,
    /// Its rows; what asks most for attention comes first.
    pub rows: Vec<BoardRow>,
    /// Where the rest goes on; none after the last page.
    pub next: Option<BoardCursor>,
}

/// What two principals must have in common to see the same board.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BoardVisibility {
    tenant: String,
    person: String,
    sees_all: bool,
    agents: Option<Arc<[String]>>,
}

impl BoardVisibility {
    pub(crate) fn of(who: &Principal) -> Self {
        Self {
            tenant: who.tenant.clone(),
            person: who.person.clone(),
            sees_all: who.is_owner(),
            agents: who.agents.clone(),
        }
    }

    fn query(&self, filter: BoardFilter) -> BoardQuery {
        let bound = self.agents.as_ref().map(|agents| agents.to_vec());
        let agents = match (filter.agent, bound) {
            (None, bound) => bound,
            (Some(agent), None) => Some(vec![agent]),
            (Some(agent), Some(bound)) => {
                let is_bound = bound.iter().any(|name| name.eq_ignore_ascii_case(&agent));
                Some(if is_bound { vec![agent] } else { Vec::new() })
            }
        };
        BoardQuery {
            reader: Account {
                tenant: self.tenant.clone(),
                person: self.person.clone(),
            },
            person: (!self.sees_all).then(|| self.person.clone()),
            agents,
            rest: filter.rest.unwrap_or(BOARD_REST),
            after: filter.after,
        }
    }
}

/// Tells how an agent is drawn: icon and colour.
pub(crate) type AgentLook = Arc<dyn Fn(&str) -> (Option<String>, Option<String>) + Send + Sync>;
/// Tells whether an agent is awake in this process.
pub(crate) type IsAwake = Arc<dyn Fn(&SessionId) -> bool + Send + Sync>;

/// What is needed to read a board.
#[derive(Clone)]
pub(crate) struct BoardReader {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) owner: Owner,
    pub(crate) look: AgentLook,
    pub(crate) is_awake: IsAwake,
}

impl BoardReader {
    /// One page, with rows of this revision.
    pub(crate) async fn page(
        &self,
        who: &BoardVisibility,
        filter: BoardFilter,
        rev: BoardRev,
    ) -> Result<BoardPage, Error> {
        let BoardRecords { records, next } = self.store.board(who.query(filter)).await?;
        if !records.is_empty() {
            // What could still be lost is not shown.
            self.store.settled().await?;
        }
        let reader = self.clone();
        let moment = BoardMoment {
            now: self.clock.now(),
            rev: rev.clone(),
        };
        // Branches and processes are looked up in files.
        let derive = move || {
            let rows = records
                .into_iter()
                .map(|record| reader.row(record, &moment));
            rows.collect::<Vec<_>>()
        };
        let derived = tokio::task::spawn_blocking(derive).await;
        let mut rows =
            derived.map_err(|error| Error::Failed(format!("derive the board: {error}")))?;
        sort_board(&mut rows);
        Ok(BoardPage { rev, rows, next })
    }

    fn row(&self, record: BoardRecord, moment: &BoardMoment) -> BoardRow {
        let (icon, color) = (self.look)(&record.session.agent);
        let surroundings = BoardSurroundings {
            icon,
            color,
            host: self.owner.host.clone(),
            branch: git_branch(&record.session.cwd),
        };
        board_row(&self.facts(record), moment, surroundings)
    }

    fn facts(&self, record: BoardRecord) -> BoardFacts {
        let id = record.session.id.clone();
        let children = record.open_children.into_iter().map(|child| ChildFacts {
            claim: self.claim(&child.session, child.claim),
            session: child.session,
            activity: child.activity,
        });
        BoardFacts {
            claim: self.claim(&id, record.claim),
            activity: record.activity,
            mail_waits: record.mail_waits,
            inquiries: record.inquiries.into_iter().map(asked).collect(),
            open_children: children.collect(),
            ended_children: EndedChildren {
                done: record.children_done,
                failed: record.children_failed,
            },
            usage: record.usage,
            read_upto: record.read_upto,
            undelivered: record.undelivered,
            schedule_off: record.schedule_off,
            session: record.session,
        }
    }

    /// Invariant: a claim whose process is dead is not alive, whatever its lease says.
    fn claim(&self, session: &SessionId, claim: Option<(Owner, Timestamp)>) -> Option<BoardClaim> {
        let (owner, lease) = claim?;
        let is_own = owner == self.owner;
        let process = if owner.is_dead_for(&self.owner) {
            ProcessEvidence::Dead
        } else if owner.is_running_for(&self.owner) || (is_own && (self.is_awake)(session)) {
            ProcessEvidence::Running
        } else {
            ProcessEvidence::Unknown
        };
        Some(BoardClaim {
            is_here: owner.host == self.owner.host,
            host: owner.host,
            pid: owner.pid,
            lease,
            process,
        })
    }
}

fn asked(inquiry: Inquiry) -> BoardInquiry {
    BoardInquiry {
        id: inquiry.id,
        session: inquiry.session,
        agent: inquiry.agent,
        asked: inquiry.asked,
        since: inquiry.asked_at,
        until: inquiry.until,
        is_answered: inquiry.answer.is_some(),
    }
}
