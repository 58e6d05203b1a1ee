//! Tools that live in other programs: servers that speak the Model Context Protocol.
//!
//! [`Servers`] is what a runtime has: the configured servers, and one connection for each distinct
//! configuration, shared by all agents. What it gives an agent are tools like any other; that they
//! are elsewhere shows only in their names. Everything a server says is data: it is bounded, cleaned
//! and never believed.

mod bounded;
mod client;
mod confined;
mod connection;
mod content;
mod door;
mod elicit;
mod error;
mod expand;
mod fetching;
mod file;
mod frames;
mod fuzzing;
mod hello;
mod http;
mod https;
mod identity;
mod late;
mod login;
mod names;
mod notice;
mod offer;
mod pins;
mod private_file;
mod program;
mod prompts;
mod remarks;
mod remote_tool;
mod resources;
mod schema;
mod secrets;
mod servers;
mod setup;
mod slot;
mod tokens;
mod underway;
mod unknown_parts;
mod untrusted;

pub use connection::About;
pub use error::Error;
pub use expand::expand;
pub use file::{Found, read};
pub use fuzzing::{fuzz, fuzz_http};
pub use login::Login;
pub use names::{PREFIX, beginning, may_name};
pub use pins::{Change, Pins};
pub use prompts::{Prompt, Wish};
pub use resources::RESOURCE_TOOLS;
pub use secrets::confided;
pub use servers::{Inspection, Offered, Recalled, Servers};
pub use setup::Setup;
pub use slot::{Lease, Status};
pub use tokens::kept_tokens;

pub use crate::notice::Notice;
