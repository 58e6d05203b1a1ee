//! Limits of a vendor: valid tool names and the maximum request size.
//!
//! Every provider sends its requests through here, so that a vendor never gets one it would refuse.

use crate::{
    Error, ModelRequest, ReplyStream,
    http::event_stream,
    request_size::{self, EncodedRequest},
    tool_names::{self, ToolNameRule},
};

/// The limits of one vendor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VendorLimits {
    /// The rule for tool names.
    pub(crate) names: ToolNameRule,
    /// Maximum bytes of a request.
    pub(crate) bytes: usize,
}

impl VendorLimits {
    /// Encodes a request within the limits, sends it, and restores our tool names in the answer.
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
