//! The store's tests over real files and real processes.

mod conformance;
