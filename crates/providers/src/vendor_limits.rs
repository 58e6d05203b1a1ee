//! What a vendor takes: how tools may be called, and how large a request may be.
//!
//! Every wire asks through here, so that a vendor never sees what it would refuse.

use crate::{
    Error, ModelRequest, ReplyStream,
    http::event_stream,
    request_size::{self, EncodedRequest},
    tool_names::{self, ToolNameRule},
};

/// The bounds of one vendor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VendorLimits {
    /// How tools may be called.
    pub(crate) names: ToolNameRule,
    /// Bytes of a request.
    pub(crate) bytes: usize,
}

impl VendorLimits {
    /// Spells a request within the bounds, sends it, and gives the answer with our names in it.
    pub(crate) fn send_within_limits(
        self,
        request: ModelRequest,
        spell: impl Fn(&ModelRequest) -> Result<EncodedRequest, Error>,
        send: impl FnOnce(EncodedRequest) -> ReplyStream,
    ) -> ReplyStream {
        let (request, names) = tool_names::rename_tools(request, self.names);
        match request_size::fit_to_size(request, self.bytes, spell) {
            Ok(spelled) => names.restore_stream(send(spelled)),
            Err(error) => event_stream::failed(error),
        }
    }
}
