//! Every example runs, without a key, and says what it is there to show.
