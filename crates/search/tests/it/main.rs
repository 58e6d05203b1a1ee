//! Integration tests of the search by topic.

mod questions;
