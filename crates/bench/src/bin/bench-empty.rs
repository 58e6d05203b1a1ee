//! Nothing at all: what starting a program costs before it does anything.

fn main() {}
