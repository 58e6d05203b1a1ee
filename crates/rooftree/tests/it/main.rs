//! The library as a program uses it: over scripted models, with real runtimes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod cassettes;
mod delegating;
mod environments;
mod examples;
mod expecting;
mod extracting;
mod fixture;
mod hooks;
mod idle_race;
mod memories;
mod mistakes;
mod own_tools;
mod permissions;
mod queries;
mod runtimes;
mod servers;
mod subagents;
mod verifying;
