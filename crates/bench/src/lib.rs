//! Measures Rooftree beside the least that could do the same work, in one run on one machine.
//!
//! Times differ from machine to machine, so every figure stands next to a bare one measured in
//! turns with it, and what is judged is their ratio. `rows` holds one file per kind of figure,
//! `raw` the bare side, `roof` and `quick_model` our side.

pub mod baseline;
pub mod bench_runtime;
pub mod compare;
pub mod machine;
pub mod options;
pub mod program_dir;
pub mod quick_model;
pub mod row;
pub mod rows;
pub mod table;

pub use anyhow::Result;
