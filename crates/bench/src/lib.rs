//! Benchmark of Rooftree against a minimal baseline, in one run on one machine.
//!
//! Times differ from machine to machine, so every figure stands next to a baseline one measured
//! alternately with it, and the target is about their ratio. `rows` holds one file per kind of figure,
//! `baseline` the minimal side, `bench_runtime` and `quick_model` our side.

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
