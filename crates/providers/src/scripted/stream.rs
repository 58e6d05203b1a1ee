//! Streams an answer: deltas, pauses, and a whole reply or an error at the end.

use std::time::Duration;

use futures::{StreamExt, stream};

use crate::{Error, ModelReply, ReplyChunk, ReplyStream};

use super::{SleepFn, entry::ReplyPacing};

/// One step of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamStep {
    /// A pause.
    Wait(Duration),
    /// A chunk of the answer.
    Give(ReplyChunk),
    /// An error.
    Fail(Error),
}

/// The steps of a whole reply.
pub(crate) fn steps(reply: ModelReply, pacing: ReplyPacing) -> Vec<StreamStep> {
    let mut steps = deltas(&reply, usize::MAX, pacing);
    steps.push(StreamStep::Give(ReplyChunk::Reply(reply)));
    steps
}

/// The steps of a stream that ends after some characters, without a whole reply.
pub(crate) fn cut_steps(
    reply: &ModelReply,
    after: Option<usize>,
    pacing: ReplyPacing,
) -> Vec<StreamStep> {
    let length: usize = spoken(reply).map(|(text, _)| text.chars().count()).sum();
    deltas(reply, after.unwrap_or(length / 2), pacing)
}

/// The steps of a failure.
pub(crate) fn fail_steps(error: Error, pacing: ReplyPacing) -> Vec<StreamStep> {
    wait(pacing.delay)
        .into_iter()
        .chain([StreamStep::Fail(error)])
        .collect()
}

/// Turns steps into a stream. Without pauses it never waits for a timer, and dropping it ends everything.
pub(crate) fn stream_steps(steps: Vec<StreamStep>, sleeper: SleepFn) -> ReplyStream {
    let state = (steps.into_iter(), sleeper);
    stream::unfold(state, |(mut steps, sleeper)| async move {
        loop {
            match steps.next()? {
                StreamStep::Wait(pause) => sleeper(pause).await,
                StreamStep::Give(chunk) => return Some((Ok(chunk), (steps, sleeper))),
                // An error is the last item of a stream.
                StreamStep::Fail(error) => {
                    return Some((Err(error), (Vec::new().into_iter(), sleeper)));
                }
            }
        }
    })
    .boxed()
}

/// The first `limit` characters of a reply as deltas, with the pauses before and between them.
fn deltas(reply: &ModelReply, limit: usize, pacing: ReplyPacing) -> Vec<StreamStep> {
    let mut steps: Vec<StreamStep> = wait(pacing.delay).into_iter().collect();
    let mut left = limit;
    let mut first = true;
    for (text, chunk) in spoken(reply) {
        let (text, characters) = head(text, left);
        left -= characters;
        for piece in pieces(text, pacing.chunk.unwrap_or(usize::MAX)) {
            if !first {
                steps.extend(wait(pacing.pace));
            }
            first = false;
            steps.push(StreamStep::Give(chunk(piece.to_owned())));
        }
    }
    steps
}

type MakeChunk = fn(String) -> ReplyChunk;

/// The streamed parts of a reply, with the kind of delta of each. Calls come only with the whole reply.
fn spoken(reply: &ModelReply) -> impl Iterator<Item = (&str, MakeChunk)> {
    use rooftree_protocol::event::ReplyPart;
    reply.parts.iter().filter_map(|part| match part {
        ReplyPart::Text { text } => Some((text.as_str(), ReplyChunk::Text as MakeChunk)),
        ReplyPart::Thinking { text, .. } => {
            Some((text.as_str(), ReplyChunk::Thinking as MakeChunk))
        }
        ReplyPart::Call(_) | ReplyPart::Opaque { .. } => None,
    })
}

fn wait(pause: Option<Duration>) -> Option<StreamStep> {
    pause.filter(|pause| !pause.is_zero()).map(StreamStep::Wait)
}

/// The first characters of a text, and how many there are.
fn head(text: &str, characters: usize) -> (&str, usize) {
    match text.char_indices().nth(characters) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), characters),
        None => (text, text.chars().count()),
    }
}

/// A text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, _) = head(rest, size);
        rest = rest.get(piece.len()..).unwrap_or_default();
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_between_characters_and_lose_nothing() {
        let text = "Grüße, 木木! 🏠";
        for size in [1, 2, 3, 5, 100, usize::MAX] {
            let split: Vec<&str> = pieces(text, size).collect();
            assert_eq!(split.concat(), text, "size {size}");
            assert!(
                split
                    .iter()
                    .all(|piece| !piece.is_empty() && piece.chars().count() <= size),
                "{split:?}"
            );
        }
        assert_eq!(pieces("", 3).count(), 0);
    }
}
