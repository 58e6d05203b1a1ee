//! Stories: a scripted model, a real runtime, a real store, a virtual clock.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod access;
mod authority;
mod board;
mod budget;
mod cancel;
mod chats;
mod compaction;
mod control;
mod definitions;
mod delegation;
mod exposure;
mod files;
mod forged_tags;
mod fuzz;
mod hooks;
mod limits;
mod memory;
mod order;
mod outcomes;
mod parallel;
mod permissions;
mod programs;
mod properties;
mod queue;
mod recovery;
mod resting;
mod retry;
mod schedules;
mod secret_connectors;
mod secret_funnel;
mod secret_rows;
mod servers;
mod services;
mod sessions;
mod skills;
mod steer;
mod strict;
mod todos;
mod tool_facts;
mod undo;
mod verify;
mod watching;
mod wires;
