//! The subcommands: one file per command, each with `Arguments` and `execute`.

pub mod agents;
pub mod audit;
pub mod auth;
pub mod call;
pub mod can;
pub mod completions;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod hooks;
pub mod init;
pub mod mcp;
pub mod models;
pub mod permissions;
pub mod run;
pub mod runs;
pub mod sandbox_flags;
pub mod serve;
pub mod sessions;
pub mod tasks;
pub mod tools;
pub mod trust;
pub mod usage;
pub mod version;
pub mod why;
