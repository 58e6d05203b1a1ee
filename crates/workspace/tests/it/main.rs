//! Working copies for children that write: made, changed, brought back, cleared away; with real git.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod applying;
mod clearing;
mod confined_git;
mod ground;
mod inner_repositories;
mod many_children;
mod plain_copies;
mod provisioning;
