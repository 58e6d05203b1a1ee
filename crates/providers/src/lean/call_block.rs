//! Finds where a block that may contain a call begins and ends. Pure, over the text received so far.

use super::parse_call::JsonStringState;

/// Characters a block can end with.
pub(super) const ENDS: [char; 3] = ['`', '}', '>'];

/// The opening of a result, which only the runtime writes.
const RESULT: &str = "<result of=";

const FENCE: &str = "```";
const TAG: &str = "<tool_call>";
const END_TAG: &str = "</tool_call>";

/// What the beginning of a line may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockStart {
    /// Ordinary text.
    Nothing,
    /// Not decidable yet.
    Perhaps,
    /// The beginning or the end of a code block that is not a call.
    Code,
    /// A result that the model made up.
    Invented,
    /// A block with JSON, which begins at `start`.
    Block { start: usize, closer: BlockCloser },
}

/// The delimiter that ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockCloser {
    /// A fence.
    Fence,
    /// The closing tag.
    Tag,
    /// The matching brace.
    Brace,
}

/// Classifies the text at the start of a line.
pub(super) fn opening(text: &str, in_code: bool) -> BlockStart {
    let line = text.trim_start_matches([' ', '\t']);
    let at = |rest: &str| text.len() - rest.len();
    if line.is_empty() || (line.len() < FENCE.len() && FENCE.starts_with(line)) {
        return BlockStart::Perhaps;
    }
    if let Some(rest) = line.strip_prefix(FENCE) {
        if in_code {
            return BlockStart::Code;
        }
        let body = rest
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
            .trim_start();
        return match body.chars().next() {
            None => BlockStart::Perhaps,
            Some('{' | '[') => BlockStart::Block {
                start: at(body),
                closer: BlockCloser::Fence,
            },
            Some(_) => BlockStart::Code,
        };
    }
    if in_code {
        return BlockStart::Nothing;
    }
    if line.starts_with(RESULT) {
        return BlockStart::Invented;
    }
    if let Some(rest) = line.strip_prefix(TAG) {
        return BlockStart::Block {
            start: at(rest),
            closer: BlockCloser::Tag,
        };
    }
    match line.strip_prefix('{').map(str::trim_start) {
        Some(key)
            if ["\"tool\"", "\"name\""]
                .iter()
                .any(|known| key.starts_with(known)) =>
        {
            BlockStart::Block {
                start: at(line),
                closer: BlockCloser::Brace,
            }
        }
        Some(key)
            if ["\"tool\"", "\"name\""]
                .iter()
                .any(|known| known.starts_with(key)) =>
        {
            BlockStart::Perhaps
        }
        None if TAG.starts_with(line) || RESULT.starts_with(line) => BlockStart::Perhaps,
        _ => BlockStart::Nothing,
    }
}

/// The JSON of a block and where the block ends; none if it does not end yet.
pub(super) fn end(body: &str, closer: BlockCloser) -> Option<(&str, usize)> {
    match closer {
        BlockCloser::Tag => {
            let at = body.find(END_TAG)?;
            Some((body.get(..at)?, at + END_TAG.len()))
        }
        BlockCloser::Fence => {
            let at = fence_behind(body)?;
            Some((body.get(..at)?, at + FENCE.len()))
        }
        BlockCloser::Brace => {
            let at = balanced(body)?;
            Some((body.get(..at)?, at))
        }
    }
}

/// The closing fence: behind complete JSON, or at the beginning of a line if the JSON is broken.
fn fence_behind(body: &str) -> Option<usize> {
    let (mut strings, mut depth) = (JsonStringState::default(), 0_usize);
    let mut is_line_start = false;
    for (at, letter) in body.char_indices() {
        let is_fence = letter == '`' && body.get(at..).is_some_and(|rest| rest.starts_with(FENCE));
        if is_fence && (is_line_start || (depth == 0 && !strings.is_inside)) {
            return Some(at);
        }
        if !strings.is_inside {
            depth = deeper(depth, letter);
        }
        strings.pass(letter);
        is_line_start = letter == '\n' || (is_line_start && letter.is_whitespace());
    }
    None
}

/// The end of the first JSON object.
fn balanced(body: &str) -> Option<usize> {
    let (mut strings, mut depth) = (JsonStringState::default(), 0_usize);
    for (at, letter) in body.char_indices() {
        if !strings.is_inside {
            depth = deeper(depth, letter);
        }
        strings.pass(letter);
        if depth == 0 && letter == '}' && !strings.is_inside {
            return Some(at + 1);
        }
    }
    None
}

fn deeper(depth: usize, letter: char) -> usize {
    match letter {
        '{' | '[' => depth + 1,
        '}' | ']' => depth.saturating_sub(1),
        _ => depth,
    }
}
