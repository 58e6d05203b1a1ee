//! The attribute macro `#[tool]`: turns an async function into a tool that agents can use.
//!
//! Use it through the crate `rooftree`, which re-exports it. `parse.rs` parses the function
//! and rejects what cannot be a tool; `expand.rs` generates the code.

mod attribute;
mod expand;
mod parse;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a tool out of an async function.
///
/// The function `fn ticket(…)` is replaced by a function `fn ticket() -> impl Tool` that makes the
/// tool. Its doc comment is the tool's description for the model, a doc comment on a parameter describes
/// that argument. A parameter of type `Option<T>` is optional. A parameter of type `ToolContext` is not
/// an argument: it is the working directory, the cancel token and the rest of the call's context.
/// A parameter marked `#[state]` is no argument either: the program gives its value when it makes the tool,
/// `ticket(database)`, and every call gets a clone of it (use an `Arc` for what is shared).
/// The function returns a `Result`: the `Ok` value is written as text if it implements `Display`,
/// else as JSON; `Err` is reported to the model with its `Display` text.
///
/// `#[tool(read_only)]` declares that calls change nothing: they run concurrently, and without asking the user.
/// `#[tool(destructive)]` and `#[tool(remote)]` declare that they may destroy something, or act on
/// something elsewhere. By default a tool changes something on this machine.
/// `#[tool(name = "LookUp")]` gives it another name than the function.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as attribute::ToolAttribute);
    let function = parse_macro_input!(function as ItemFn);
    let tool = parse::parse_tool(options, function).map(|tool| expand::expand_tool(&tool));
    tool.unwrap_or_else(|error| error.to_compile_error()).into()
}
