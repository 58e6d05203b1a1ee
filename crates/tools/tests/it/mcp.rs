//! Servers of other people's tools: real programs, well-behaved and hostile ones.

mod hostile;
mod http;
mod lifetime;
mod pinning;
mod stand;
mod talking;
