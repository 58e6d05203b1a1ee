//! Working copies.
