//! Servers of other people's tools: real programs, well-behaved and hostile ones.

mod asking;
mod confined;
mod frames;
mod hostile;
mod http;
mod lifetime;
mod pinning;
mod reading;
mod stand;
mod talking;
