//! Access over HTTP: who comes in, by what, and what each may do.

mod browser;
mod matrix;
mod persons;
mod socket;
