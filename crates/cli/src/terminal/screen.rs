//! Draws lines that stay and, below them, a footer that is redrawn in place.

use std::io::Write;

use super::line::StyledLine;

/// A terminal that is written to from top to bottom, with a foot that moves along.
pub struct TerminalScreen<W> {
    out: W,
    colours: bool,
    /// Rows the foot takes now; the cursor is at the end of the last one.
    foot: usize,
}

impl<W: Write> TerminalScreen<W> {
    /// Draws on this stream.
    pub fn new(out: W, colours: bool) -> Self {
        Self {
            out,
            colours,
            foot: 0,
        }
    }

    /// Prints lines that stay and draws the foot anew below them. No line of the foot may be
    /// wider than the terminal, or the next drawing starts at the wrong row.
    pub fn draw(&mut self, above: &[StyledLine], foot: &[StyledLine]) {
        let mut bytes = self.erase();
        for line in above {
            bytes.push_str(&line.paint(self.colours));
            bytes.push('\n');
        }
        let painted: Vec<String> = foot.iter().map(|line| line.paint(self.colours)).collect();
        bytes.push_str(&painted.join("\n"));
        self.foot = foot.len();
        self.write(&bytes);
    }

    /// Prints as it is, after the foot is gone: a question that ends where the answer is typed.
    pub fn prompt(&mut self, line: &StyledLine) {
        let bytes = self.erase() + &line.paint(self.colours);
        self.foot = 0;
        self.write(&bytes);
    }

    fn erase(&self) -> String {
        match self.foot {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            rows => format!("\r\u{1b}[{}A\u{1b}[J", rows - 1),
        }
    }

    /// One write per drawing, so that nothing half-drawn is seen. A terminal that is gone is
    /// noticed elsewhere; what happens goes on without being shown.
    fn write(&mut self, bytes: &str) {
        let _ = self
            .out
            .write_all(bytes.as_bytes())
            .and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::{super::line::TextStyle, *};

    #[test]
    fn the_foot_is_erased_before_anything_else_is_written() {
        let mut screen = TerminalScreen::new(Vec::new(), false);
        let line = |text: &str| StyledLine::of(TextStyle::Plain, text);
        screen.draw(&[line("a")], &[line("b"), line("c")]);
        screen.draw(&[line("d")], &[line("e")]);
        screen.draw(&[], &[]);
        screen.draw(&[line("f")], &[]);
        assert_eq!(
            String::from_utf8(screen.out).unwrap(),
            "a\nb\nc\r\u{1b}[1A\u{1b}[Jd\ne\r\u{1b}[Jf\n"
        );
    }
}
