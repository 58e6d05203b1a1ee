//! Turns the streamed text of an answer into terminal lines: rendered Markdown, or the source wrapped at words.

use rooftree_markdown::{LineOptions, MarkdownLine, MarkdownStream, to_lines};

use super::{
    line::StyledLine,
    sanitize::{TextSanitizer, clean},
    wrap::LineWrapper,
};
use crate::environment::Environment;

/// Rows of the unfinished block that are drawn above the status line.
const TAIL_ROWS: usize = 8;

/// How answers are shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Rendered, with styles as colours or, without colours, as marks.
    Rendered { colours: bool },
    /// As the model wrote it: `--raw`, `--plain`.
    Source,
}

impl AnswerFormat {
    /// The format for a terminal, by the flags and variables of the environment.
    pub fn of(environment: &Environment) -> Self {
        if environment.everywhere.raw || environment.everywhere.plain {
            Self::Source
        } else {
            Self::Rendered {
                colours: environment.colours(true),
            }
        }
    }

    fn options(columns: usize, colours: bool) -> LineOptions {
        let options = LineOptions::new(columns);
        if colours {
            options
        } else {
            options.without_colours()
        }
    }

    /// A whole answer for standard output.
    pub fn whole(self, text: &str, columns: usize) -> String {
        match self {
            Self::Source => clean(text),
            Self::Rendered { colours } => {
                let lines = to_lines(&clean(text), Self::options(columns, colours));
                let painted: Vec<String> = styled(lines)
                    .iter()
                    .map(|line| line.paint(colours))
                    .collect();
                painted.join("\n")
            }
        }
    }
}

/// An answer on its way to the terminal.
pub struct AnswerRenderer {
    cleaner: TextSanitizer,
    format: AnswerFormat,
    flow: AnswerFlow,
}

enum AnswerFlow {
    Rendered(Box<MarkdownStream>),
    Source(LineWrapper),
}

impl AnswerRenderer {
    /// An answer in this format.
    pub fn new(format: AnswerFormat) -> Self {
        let flow = match format {
            AnswerFormat::Rendered { colours } => {
                let options = AnswerFormat::options(0, colours);
                AnswerFlow::Rendered(Box::new(MarkdownStream::new(options)))
            }
            AnswerFormat::Source => AnswerFlow::Source(LineWrapper::default()),
        };
        Self {
            cleaner: TextSanitizer::default(),
            format,
            flow,
        }
    }

    /// Takes a piece in; returns the lines that will not change any more.
    pub fn push(&mut self, piece: &str, columns: usize) -> Vec<StyledLine> {
        let clean = self.cleaner.push(piece);
        match &mut self.flow {
            AnswerFlow::Rendered(stream) => {
                stream.set_columns(columns);
                styled(stream.push(&clean))
            }
            AnswerFlow::Source(flow) => flow
                .push(&clean, columns)
                .into_iter()
                .map(StyledLine::of_text)
                .collect(),
        }
    }

    /// The lines that may still change; of many only the last ones.
    pub fn tail(&self) -> Vec<StyledLine> {
        match &self.flow {
            AnswerFlow::Rendered(stream) => {
                let mut lines = styled(stream.tail());
                lines.drain(..lines.len().saturating_sub(TAIL_ROWS));
                lines
            }
            AnswerFlow::Source(flow) if flow.rest().is_empty() => Vec::new(),
            AnswerFlow::Source(flow) => vec![StyledLine::of_text(flow.rest().to_owned())],
        }
    }

    /// Nothing more comes: the lines that are left.
    pub fn finish(&mut self) -> Vec<StyledLine> {
        let lines = match &mut self.flow {
            AnswerFlow::Rendered(stream) => styled(stream.finish()),
            AnswerFlow::Source(flow) => {
                flow.finish().map(StyledLine::of_text).into_iter().collect()
            }
        };
        *self = Self::new(self.format);
        lines
    }
}

fn styled(lines: Vec<MarkdownLine>) -> Vec<StyledLine> {
    lines.into_iter().map(StyledLine::of_markdown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_rendered_or_left_as_it_is() {
        let text = "# T\n\n- **a** `b`";
        let shown = |format: AnswerFormat| format.whole(text, 40);
        assert_eq!(
            shown(AnswerFormat::Rendered { colours: true }),
            "\u{1b}[1mT\u{1b}[0m\n\n\u{1b}[2m• \u{1b}[0m\u{1b}[1ma\u{1b}[0m \u{1b}[36mb\u{1b}[0m"
        );
        assert_eq!(
            shown(AnswerFormat::Rendered { colours: false }),
            "# T\n\n• **a** `b`"
        );
        assert_eq!(shown(AnswerFormat::Source), text);
    }

    #[test]
    fn fuzz_the_rendering_of_markdown() {
        let seeds: &[&[u8]] = &[
            b"# T\n\ntext **b** *e* ~~s~~ `c` [l](http://x) ![i](j)\n",
            b"- a\n  - b\n    1. c\n- [x] d\n\n> q\n> > r\n",
            b"| a | b |\n|:-|-:|\n| 1 | 2 |\n\n---\n",
            b"```rust\nfn f() {}\n```\n\n    code\n<b>x</b>\n[r]: http://y\n",
            "日本語 👨\u{200d}👩 &#27;[2J \u{1b}]0;t\u{7}".as_bytes(),
        ];
        let words = [
            "\n", "- ", "1. ", "> ", "```", "|--|", "**", "[", "](", "\t", "&#27;", "<", "===",
            "\u{9b}",
        ];
        rooftree_testkit::fuzz::run(seeds, &words, |input| {
            let text = String::from_utf8_lossy(input);
            let whole = to_lines(&text, LineOptions::new(33));
            let mut stream = MarkdownStream::new(LineOptions::new(33));
            let mut lines = Vec::new();
            for letter in text.chars() {
                lines.extend(stream.push(letter.encode_utf8(&mut [0; 4])));
            }
            lines.extend(stream.finish());
            assert_eq!(lines, whole);
            let is_clean = |line: &MarkdownLine| !line.text().chars().any(char::is_control);
            assert!(whole.iter().all(is_clean));
            rooftree_markdown::to_html(&text);
        });
    }
}
