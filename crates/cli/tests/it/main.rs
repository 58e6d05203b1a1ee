//! The real binary, driven end to end.

mod demo;
mod doctor;
mod run;
mod sessions;
mod tools;
