//! The forker of a session: a helper that stays alive in the session's sandbox and forks one command after the other.
//!
//! Making a sandbox takes longer than most commands: namespaces are made and torn down, or a hundred rules are read. So
//! the helper is started once for a session and a sandbox, and waits for commands on a socket.
//!
//! - With bubblewrap it is the first process inside. It is confined like the commands, they cannot look into it, and
//!   signals from inside do not reach it. When a command has ended it kills everything else in the process namespace.
//! - With Landlock it stays outside, as the guard of one command does. Each command confines itself anew.
//!
//! Invariants:
//! - One command at a time. A second one at the same time gets a sandbox of its own.
//! - Nothing is shared between sessions: the session's `/tmp` is part of what a forker is looked up by.
//! - A command finds what it would find in a new sandbox. The forker is used again only if the disk is as it was
//!   when the sandbox was made ([`forker_proof`]), and if the command has left nothing ([`forker_traces`]).
//! - Whatever ends a command early ends its forker too.

mod command_message;
mod forker_loop;
mod forker_proof;
mod forker_traces;

pub(crate) use command_message::{CommandMessage, FORKER_READY, ForkerReply, send_with_streams};
pub(crate) use forker_loop::{ForkerRole, forker_words};
pub(crate) use forker_proof::ForkerProof;

pub(super) use forker_loop::{is_asked, serve_commands};
