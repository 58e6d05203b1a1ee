//! Markdown renderer with three outputs: styled lines for terminals, rendered while text streams, sanitized HTML, and text
//! with entities for chat platforms.
//!
//! [`MarkdownStream`] takes text as it arrives and returns finished lines; a line that was returned never changes.
//! [`to_html`] renders a whole text for a web page, [`HtmlStream`] the blocks of one that arrives, [`to_parts`] the
//! messages of a chat. All treat their
//! input as untrusted: no control character and no escape sequence gets into a line, and no tag, script, remote image or
//! unknown address scheme into HTML.
//!
//! ```
//! use rooftree_markdown::{LineOptions, MarkdownStream, plain_text, to_html};
//!
//! let mut stream = MarkdownStream::new(LineOptions::new(40));
//! let mut lines = stream.push("- one\n- **tw");
//! lines.extend(stream.push("o**\n"));
//! lines.extend(stream.finish());
//! assert_eq!(plain_text(&lines), "• one\n• two\n");
//! assert_eq!(to_html("*a* <b>"), "<p><em>a</em> &lt;b&gt;</p>\n");
//! ```
//!
//! It knows nothing of sessions or terminals: the caller draws the lines.

mod blocks;
mod entities;
mod entity_document;
mod entity_parts;
mod entity_types;
mod entity_writer;
mod html;
mod html_stream;
mod layout;
mod line;
mod options;
mod stream;
mod syntax;
mod table;
mod visible;
mod wrap;

pub use entities::{to_entities, to_parts};
pub use entity_types::{EntityKind, EntityText, PartLimit, TextEntity};
pub use html::to_html;
pub use html_stream::HtmlStream;
pub use line::{MarkdownLine, MarkdownSpan, SpanStyle, ansi_text, plain_text};
pub use options::{LineOptions, StyleMarks};
pub use stream::{MarkdownStream, to_lines};
