//! The real binary, driven end to end.
