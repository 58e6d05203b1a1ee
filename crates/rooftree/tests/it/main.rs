//! The library as a program uses it: over scripted models, with real runtimes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod desk;
mod examples;
mod extracting;
mod hooks;
mod mistakes;
mod own_tools;
mod permissions;
mod queries;
mod runtimes;
mod subagents;
