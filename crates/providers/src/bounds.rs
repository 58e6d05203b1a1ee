//! What a vendor takes: how tools may be called, and how large a request may be.
//!
//! Every wire asks through here, so that a vendor never sees what it would refuse.

use crate::{
    Error, ReplyStream, Request,
    http::exchange,
    size::{self, Spelled},
    tool_names::{self, Rule},
};

/// The bounds of one vendor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How tools may be called.
    pub(crate) names: Rule,
    /// Bytes of a request.
    pub(crate) bytes: usize,
}

impl Bounds {
    /// Spells a request within the bounds, sends it, and gives the answer with our names in it.
    pub(crate) fn ask(
        self,
        request: Request,
        spell: impl Fn(&Request) -> Result<Spelled, Error>,
        send: impl FnOnce(Spelled) -> ReplyStream,
    ) -> ReplyStream {
        let (request, names) = tool_names::spelled(request, self.names);
        match size::fitted(request, self.bytes, spell) {
            Ok(spelled) => names.restored(send(spelled)),
            Err(error) => exchange::failed(error),
        }
    }
}
