//! The library as a program uses it: over scripted models, with real runtimes.

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
