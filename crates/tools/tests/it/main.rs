//! The tools on a real disk with real programs, called as the runtime calls them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends"
)]

mod background;
mod changing;
mod commands;
mod denied;
mod denied_reads;
mod desk;
mod mcp;
mod mistakes;
mod notebooks;
mod paths;
mod pinning;
mod policy;
mod private_reads;
mod proxy;
mod reading;
mod sandbox;
mod searching;
mod semantic_search;
mod shell;
mod surface;
mod swapping;
mod todos;
mod tool_facts;
mod web;
mod web_fetch;
mod web_guard;
mod web_search;
