//! `#[tool]`: an async function becomes a tool that agents can use.
//!
//! Use it through the crate `rooftree`, which re-exports it. `read.rs` takes the function apart
//! and says what cannot be a tool; `write.rs` puts the tool together.

mod attribute;
mod expand;
mod parse;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a tool out of an async function.
///
/// The function `fn ticket(…)` is replaced by a function `fn ticket() -> impl Tool` that makes the
/// tool. Its doc comment is what the model reads about it, a doc comment on a parameter is what the
/// model reads about that argument. A parameter of type `Option<T>` may be left out. A parameter of
/// type `ToolContext` is no argument: it is the directory, the cancel token and whatever else a
/// call is given. The function returns a `Result`: what is in `Ok` is written as text if it can be
/// displayed, else as JSON; `Err` is told to the model in the words of its `Display`.
///
/// `#[tool(read_only)]` says that calls only look: they run beside others, and nobody is asked.
/// `#[tool(destructive)]` and `#[tool(remote)]` say that they may destroy something, or act on
/// something elsewhere. Without any of these a tool changes something here.
/// `#[tool(name = "LookUp")]` calls it something else than the function.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as attribute::ToolAttribute);
    let function = parse_macro_input!(function as ItemFn);
    let tool = parse::parse_tool(options, function).map(|tool| expand::expand_tool(&tool));
    tool.unwrap_or_else(|error| error.to_compile_error()).into()
}
