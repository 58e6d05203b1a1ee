//! Tracks what of a reply was streamed already: given the whole reply, the text that is left to show.
//!
//! For clients that can only append: standard output, a terminal's scrollback, an HTTP answer. There is one rule
//! for all of them. A reply that begins with what was shown is continued; one that does not is shown whole.

/// The text of one reply that a client has shown so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamedReply {
    shown: String,
    /// Text of the next attempt so far, while the model repeats what was shown.
    repeated: Option<String>,
}

/// Text to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPiece {
    /// It continues what was shown; may be empty.
    Rest(String),
    /// The reply is another one than what was shown of it, or pieces were missed in the middle: all of it.
    Anew(String),
}

impl StreamedReply {
    /// Takes a delta; returns what to append for it.
    pub fn delta(&mut self, text: &str) -> ReplyPiece {
        let Some(mut repeated) = self.repeated.take() else {
            self.shown.push_str(text);
            return ReplyPiece::Rest(text.to_owned());
        };
        repeated.push_str(text);
        if self.shown.starts_with(&repeated) {
            self.repeated = Some(repeated);
            return ReplyPiece::Rest(String::new());
        }
        self.catch_up(&repeated)
    }

    /// Takes the whole reply; returns what is left of it. The next delta begins the next reply.
    pub fn whole(&mut self, reply: &str) -> ReplyPiece {
        let piece = self.catch_up(reply);
        self.clear();
        piece
    }

    /// The model is asked again for the same reply: what it repeats is not appended twice.
    pub fn restart(&mut self) {
        if !self.shown.is_empty() {
            self.repeated = Some(String::new());
        }
    }

    /// Forgets what was shown: whatever comes next is appended.
    pub fn clear(&mut self) {
        self.shown.clear();
        self.repeated = None;
    }

    /// Whether nothing of the current reply was shown.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    fn catch_up(&mut self, reply: &str) -> ReplyPiece {
        let piece = match reply.strip_prefix(self.shown.as_str()) {
            Some(rest) => ReplyPiece::Rest(rest.to_owned()),
            None => ReplyPiece::Anew(reply.to_owned()),
        };
        reply.clone_into(&mut self.shown);
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::{ReplyPiece::*, *};

    fn after(deltas: &[&str]) -> StreamedReply {
        let mut streamed = StreamedReply::default();
        for delta in deltas {
            assert_eq!(streamed.delta(delta), Rest((*delta).into()));
        }
        streamed
    }

    #[test]
    fn what_was_missed_of_a_reply_comes_with_its_end() {
        let table: [(&[&str], &str, ReplyPiece); 5] = [
            (&["one ", "two"], "one two", Rest("".into())),
            (&["one "], "one two", Rest("two".into())),
            (&[], "one two", Rest("one two".into())),
            (&["two"], "one two", Anew("one two".into())),
            (&[], "", Rest("".into())),
        ];
        for (deltas, whole, left) in table {
            let mut streamed = after(deltas);
            assert_eq!(streamed.whole(whole), left, "{deltas:?} then {whole:?}");
            assert!(streamed.is_empty(), "the next reply begins");
        }
    }

    #[test]
    fn a_model_that_repeats_itself_is_not_shown_twice() {
        let mut same = after(&["The ans"]);
        same.restart();
        assert_eq!(same.delta("The "), Rest("".into()));
        assert_eq!(same.delta("answer"), Rest("wer".into()));
        assert_eq!(same.whole("The answer."), Rest(".".into()));
        let mut other = after(&["The ans"]);
        other.restart();
        assert_eq!(other.delta("No"), Anew("No".into()));
        assert_eq!(other.delta("ne."), Rest("ne.".into()));
        assert_eq!(other.whole("None."), Rest("".into()));
        let mut shorter = after(&["The ans"]);
        shorter.restart();
        assert_eq!(shorter.delta("The"), Rest("".into()));
        assert_eq!(shorter.whole("The"), Anew("The".into()));
    }
}
