//! Definitions: what files say, who goes before whom, and what a model reads of it.

mod complaints;
mod dialects;
mod folder;
mod imports;
mod precedence;
mod prompts;
mod reloading;
