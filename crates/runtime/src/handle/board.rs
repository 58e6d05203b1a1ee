//! The board: watching it, and marking a session as read.

use std::sync::Arc;

use rooftree_protocol::{Principal, SessionId, command::CommandReply};
use rooftree_store::ReadMark;
use rooftree_view::board::BoardRev;
use serde_json::Value;

use super::Handle;
use crate::{
    BoardWatch, Error,
    board::{BoardReader, BoardVisibility},
};

impl Handle {
    /// Watches the board of a principal: the whole board, then what changes. From a revision on, if this process knows
    /// it. Needs a tokio runtime around it.
    pub fn watch_board(&self, who: &Principal, after: Option<&BoardRev>) -> BoardWatch {
        let begin = || (self.board_reader(), self.bus.touched());
        self.boards.watch(BoardVisibility::of(who), after, begin)
    }

    /// Keeps how far a person has seen a session. It is a row of the person and changes nothing for others, so no audit
    /// entry is written.
    pub(super) async fn mark_read(
        &self,
        who: &Principal,
        session: SessionId,
        upto: Option<u64>,
    ) -> Result<CommandReply, Error> {
        self.owned_session(who, &session).await?;
        let mark = ReadMark {
            reader: who.account(),
            session,
            upto: upto.unwrap_or(u64::MAX),
            at: self.now(),
        };
        if self.store.mark_read(mark).await? {
            self.bus.touch();
        }
        Ok(CommandReply::Done)
    }

    pub(super) fn board_reader(&self) -> BoardReader {
        let agents = self.agents.clone();
        let (looks, awake) = (agents.clone(), agents);
        BoardReader {
            store: self.store.clone(),
            clock: self.clock.clone(),
            owner: self.owner.clone(),
            look: Arc::new(move |agent| {
                let agents = looks.as_ref();
                let found = agents.and_then(|agents| agents.context.definitions().find(agent).ok());
                let text = |name: &str| {
                    let look = found.as_ref()?.look.get(name)?;
                    Value::as_str(look).map(str::to_owned)
                };
                (text("icon"), text("color"))
            }),
            is_awake: Arc::new(move |session| {
                let agents = awake.as_ref();
                agents.is_some_and(|agents| agents.context.awake.has(session))
            }),
        }
    }
}
