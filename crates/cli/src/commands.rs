//! What can be done: one command, one file, each with `Arguments` and `execute`.

pub mod completions;
pub mod demo;
pub mod doctor;
pub mod run;
pub mod serve;
pub mod sessions;
pub mod tools;
pub mod version;
