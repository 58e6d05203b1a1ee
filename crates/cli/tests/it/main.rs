//! The real binary, driven end to end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod access;
mod agents;
mod auth;
mod backup;
mod board;
mod calls;
mod completing;
mod config;
mod connectors;
mod conversation;
mod demo;
mod doctor;
mod documented;
mod first_errors;
mod hooks;
mod init;
mod local_models;
mod machine;
mod mcp;
mod models;
mod notices;
mod outbox;
mod permissions;
mod providers;
mod questions;
mod run;
mod runs;
mod schedules;
mod seat;
mod secrets;
mod serve;
mod service;
mod sessions;
mod small_models;
mod tasks;
mod tools;
mod trust;
mod usage;
mod why;
