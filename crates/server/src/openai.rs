//! OpenAI's Chat Completions and Responses on the server side: parses requests, writes responses and errors.
//! Nothing in here waits.

pub(crate) mod api_format;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod earlier_messages;
pub(crate) mod errors;
pub(crate) mod request;
pub(crate) mod responses;
