//! A running program whose standard output is streamed; its standard error is collected separately.
//!
//! There is no read-ahead buffer: a program that writes faster than it is read blocks on its full pipe.

use std::time::Duration;

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    time::{Instant, sleep_until, timeout},
};

use super::{FinishedProcess, LAST_OUTPUT, Process};
use crate::{BoundedOutput, ExitReason, ProcessIdentity, kill};

/// How many bytes of standard error are kept, half from each end.
const ERROR_BYTES: usize = 16 * 1024;
/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;

/// A program that was started to be listened to. Dropping it kills it and all its descendants.
#[derive(Debug)]
pub struct StreamedProcess {
    process: Process,
    errors: pipe::Receiver,
    said: BoundedOutput,
    are_errors_open: bool,
    is_output_open: bool,
    ending: Option<ExitReason>,
    piece: Vec<u8>,
    error_piece: Vec<u8>,
}

impl StreamedProcess {
    pub(crate) fn new(process: Process, errors: pipe::Receiver) -> Self {
        Self {
            process,
            errors,
            said: BoundedOutput::new(ERROR_BYTES),
            are_errors_open: true,
            is_output_open: true,
            ending: None,
            piece: vec![0; PIECE],
            error_piece: vec![0; PIECE],
        }
    }

    /// What to write down so that a later process can clean up after a crash of this one.
    pub fn identity(&self) -> ProcessIdentity {
        self.process.identity()
    }

    /// The next bytes of its standard output; none when there are no more. Dropping the wait loses nothing.
    pub async fn read(&mut self) -> Option<Vec<u8>> {
        while self.ending.is_none() {
            if !self.is_output_open {
                return None;
            }
            tokio::select! {
                biased;
                // First: a flood from a descendant must not hide the leader's end.
                ending = self.process.child.wait() => self.ending = Some(ending),
                read = self.process.output.read(&mut self.piece) => {
                    let bytes = read.ok().and_then(|length| self.piece.get(..length)).unwrap_or_default();
                    self.is_output_open = !bytes.is_empty();
                    if self.is_output_open {
                        return Some(bytes.to_vec());
                    }
                }
                read = self.errors.read(&mut self.error_piece), if self.are_errors_open => {
                    let bytes = read.ok().and_then(|length| self.error_piece.get(..length)).unwrap_or_default();
                    self.are_errors_open = !bytes.is_empty();
                    self.said.push(bytes);
                }
            }
        }
        self.read_rest().await
    }

    /// What lies in the pipe after the leader's end; its descendants must not hold it open.
    async fn read_rest(&mut self) -> Option<Vec<u8>> {
        if !self.is_output_open {
            return None;
        }
        if !self.process.child.is_swept() {
            self.process.child.hang_up();
            kill::end_tree(&self.process.tree, self.ending).await;
        }
        let read = timeout(LAST_OUTPUT, self.process.output.read(&mut self.piece)).await;
        let length = read.ok().and_then(Result::ok).unwrap_or(0);
        self.is_output_open = length > 0;
        self.is_output_open
            .then(|| self.piece.get(..length).unwrap_or_default().to_vec())
    }

    /// Waits so long for it to end by itself, then ends it; nothing of it is left then.
    ///
    /// The output given back is what it wrote to its standard error.
    pub async fn finish(mut self, limit: Duration) -> FinishedProcess {
        let deadline = Instant::now() + limit;
        while self.ending.is_none() {
            tokio::select! {
                biased;
                ending = self.process.child.wait() => self.ending = Some(ending),
                () = sleep_until(deadline) => self.ending = Some(ExitReason::TimedOut),
                // This output is discarded, but it is read so that the program does not block on a full pipe.
                read = self.process.output.read(&mut self.piece), if self.is_output_open => {
                    self.is_output_open = read.is_ok_and(|length| length > 0);
                }
                read = self.errors.read(&mut self.error_piece), if self.are_errors_open => {
                    let bytes = read.ok().and_then(|length| self.error_piece.get(..length)).unwrap_or_default();
                    self.are_errors_open = !bytes.is_empty();
                    self.said.push(bytes);
                }
            }
        }
        self.process
            .end_all(self.ending, &mut self.piece, &mut |_| {})
            .await;
        let _ = timeout(LAST_OUTPUT, self.hear_last_errors()).await;
        let kept_out = std::mem::take(&mut self.process.kept_out);
        FinishedProcess {
            ending: self.ending.unwrap_or(ExitReason::TimedOut),
            output: self.said,
            kept_out,
        }
    }

    async fn hear_last_errors(&mut self) {
        while self.are_errors_open {
            let length = self.errors.read(&mut self.error_piece).await.unwrap_or(0);
            self.are_errors_open = length > 0;
            self.said
                .push(self.error_piece.get(..length).unwrap_or_default());
        }
    }
}
