//! An empty program: measures the cost of starting a process.

fn main() {}
