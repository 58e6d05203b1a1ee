//! Estimates how much of a model's context window a conversation takes, corrected by the reported usage.

use rooftree_protocol::{Part, event::ReplyPart};
use rooftree_providers::{ModelMessage, may_be_sent};

/// Tokens counted per image, whatever its size in bytes.
const IMAGE_TOKENS: u64 = 1_200;
/// Bytes of a file for one token: much of a document is not words.
const FILE_BYTES_PER_TOKEN: u64 = 16;
/// Maximum tokens counted per file; beyond it most models do not get the file.
const FILE_TOKENS: u64 = 50_000;
/// Characters per token, before the first report.
const CHARS_PER_TOKEN: u64 = 4;

/// Turns estimates into tokens, and learns how far off they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContextWindow {
    pub(crate) limit: u64,
    /// Reported tokens per estimated token.
    ratio: f64,
}

impl ContextWindow {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, ratio: 1.0 }
    }

    /// Tokens for an estimate, as far as is known by now.
    pub(crate) fn tokens(&self, estimate: u64) -> u64 {
        (estimate as f64 * self.ratio) as u64
    }

    /// Whether an estimate fills more than this share of the window.
    pub(crate) fn is_tight(&self, estimate: u64, percent: u8) -> bool {
        self.tokens(estimate) > self.limit.saturating_mul(u64::from(percent)) / 100
    }

    /// Learns from what a provider counted for a request that was estimated. Half of the old
    /// belief stays, so that one odd report does not turn it over.
    pub(crate) fn calibrate(&mut self, estimate: u64, reported: u64) {
        if estimate > 100 && reported > 0 {
            let seen = (reported as f64 / estimate as f64).clamp(0.2, 5.0);
            self.ratio = (self.ratio + seen) / 2.0;
        }
    }
}

/// Estimated tokens of a text.
pub(crate) fn weigh_text(text: &str) -> u64 {
    text.len() as u64 / CHARS_PER_TOKEN + 1
}

/// Estimated tokens of a message.
pub(crate) fn weigh(message: &ModelMessage) -> u64 {
    match message {
        ModelMessage::User(parts) => weigh_parts(parts),
        ModelMessage::Assistant { parts, .. } => parts.iter().map(weigh_reply_part).sum(),
        ModelMessage::Results(results) => results
            .iter()
            .map(|result| weigh_parts(&result.content) + 8)
            .sum(),
    }
}

fn weigh_parts(parts: &[Part]) -> u64 {
    let part = |part: &Part| match part {
        Part::Text { text } => weigh_text(text),
        Part::Image { .. } => IMAGE_TOKENS,
        Part::File { bytes, .. } if may_be_sent(part) => {
            24 + (bytes / FILE_BYTES_PER_TOKEN).min(FILE_TOKENS)
        }
        Part::File { name, .. } => weigh_text(name) + 24,
    };
    parts.iter().map(part).sum()
}

fn weigh_reply_part(part: &ReplyPart) -> u64 {
    match part {
        ReplyPart::Text { text } | ReplyPart::Thinking { text, .. } => weigh_text(text),
        ReplyPart::Call(call) => weigh_text(&call.tool) + weigh_text(&call.input.to_string()) + 8,
        ReplyPart::Opaque { item, .. } => weigh_text(&item.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rooftree_protocol::BlobId;

    #[test]
    fn an_image_counts_the_same_whatever_its_size() {
        let image = |bytes| Part::Image {
            blob: BlobId::from_entropy(1),
            media_type: "image/png".into(),
            bytes,
        };
        let small = weigh(&ModelMessage::User(vec![image(10)]));
        let large = weigh(&ModelMessage::User(vec![image(50_000_000)]));
        assert_eq!(small, large);
        assert_eq!(small, IMAGE_TOKENS);
    }

    #[test]
    fn reports_correct_the_estimate() {
        let mut window = ContextWindow::new(8_000);
        assert_eq!(window.tokens(1_000), 1_000);
        for _ in 0..8 {
            window.calibrate(1_000, 1_500);
        }
        assert!(
            (1_480..=1_500).contains(&window.tokens(1_000)),
            "{}",
            window.tokens(1_000)
        );
    }
}
