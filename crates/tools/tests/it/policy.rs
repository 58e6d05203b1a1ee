//! The policy as a boundary: attacks, invariants, and tables of what is decided.

pub mod bench_of_rules;
pub mod corpus;
mod import;
mod invariants;
mod layers;
mod names;
mod narrowing;
mod table;
