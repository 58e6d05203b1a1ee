//! Integration tests of the Markdown renderer: lines, streaming, HTML.

mod html;
mod lines;
mod streaming;
