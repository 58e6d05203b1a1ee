//! OpenAI's Chat Completions as a server speaks it: what is asked, what is answered, what goes wrong.
//! Nothing in here waits.

pub(crate) mod asked;
pub(crate) mod content;
pub(crate) mod conversation;
pub(crate) mod failure;
pub(crate) mod written;
