//! Other agents' programs as models, played by a shell script that repeats what the real ones wrote.

mod ending;
mod fake;
mod limits;
mod memory;
mod recordings;
mod trouble;
