//! Starts programs in their own group, bounds them, and leaves nothing behind.
