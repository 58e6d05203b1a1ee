//! OpenAI's Chat Completions and Responses as a server speaks them: what is asked, what is answered, what goes wrong.
//! Nothing in here waits.

pub(crate) mod api_format;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod earlier_messages;
pub(crate) mod errors;
pub(crate) mod request;
pub(crate) mod responses;
