//! The real binary, driven end to end.

mod doctor;
mod sessions;
mod tools;
