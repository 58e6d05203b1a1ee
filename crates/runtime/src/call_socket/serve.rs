//! Serves the call socket, with limits on request size, time, and concurrent connections.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::ErrorCode;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf},
    sync::{Semaphore, mpsc::error::TrySendError, oneshot},
    time::timeout,
};

use super::{CallRequest, CallSessions, CallSocketReply, CallSocketRequest, FRAME, hold};

/// Maximum number of concurrent connections.
const AT_ONCE: usize = 64;
/// Timeout for a client to send its request, or to read the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Accepts connections for as long as the socket is open.
pub(super) async fn serve(listener: UnixListener, sessions: CallSessions) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let sessions = sessions.clone();
                tokio::spawn(async move {
                    answer(stream, &sessions).await;
                    drop(permit);
                });
            }
            // Out of descriptors, mostly: some will be free again.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn answer(stream: UnixStream, sessions: &CallSessions) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let reply = match timeout(PATIENCE, asked(&mut reader)).await {
        Ok(Ok(request)) => heard(request, sessions, &mut reader).await,
        Ok(Err(reply)) => Some(reply),
        Err(_) => Some(CallSocketReply::failed(
            ErrorCode::InvalidArguments,
            "nothing was asked for in time",
        )),
    };
    let Some(mut line) = reply.and_then(|reply| serde_json::to_vec(&reply).ok()) else {
        return;
    };
    line.push(b'\n');
    let _ = timeout(PATIENCE, writer.write_all(&line)).await;
}

/// Parses the request; else returns the error reply.
async fn asked(
    reader: &mut BufReader<OwnedReadHalf>,
) -> Result<CallSocketRequest, CallSocketReply> {
    let no = |words: String| CallSocketReply::failed(ErrorCode::InvalidArguments, words);
    let mut line = Vec::new();
    let most = FRAME as u64 + 1;
    let read = (&mut *reader).take(most).read_until(b'\n', &mut line).await;
    read.map_err(|error| no(format!("it cannot be read: {error}")))?;
    if line.last() != Some(&b'\n') {
        let words = if line.len() > FRAME {
            "it is longer than 1 MiB"
        } else {
            "it ends in the middle"
        };
        return Err(no(words.to_owned()));
    }
    serde_json::from_slice(&line).map_err(|error| no(format!("it is no request: {error}")))
}

/// Forwards the request to the agent; none if the client has disconnected.
async fn heard(
    request: CallSocketRequest,
    sessions: &CallSessions,
    reader: &mut BufReader<OwnedReadHalf>,
) -> Option<CallSocketReply> {
    let session = hold(sessions).get(&request.token).cloned();
    let Some(session) = session else {
        let words = "this token is of no call that is running: it is valid only for commands of the call it was \
                     given to, and only until that call ends";
        return Some(CallSocketReply::failed(ErrorCode::Unauthorized, words));
    };
    let gone = session.ended.child_token();
    // A client that disconnects cancels its request.
    let _leaving = gone.clone().drop_guard();
    let (answer, answered) = oneshot::channel();
    match session.requests.try_send(CallRequest {
        inside: session.call,
        request,
        answer,
        gone: gone.clone(),
    }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => {
            return Some(CallSocketReply::failed(
                ErrorCode::LimitReached,
                "too many calls wait to be made; try again",
            ));
        }
        Err(TrySendError::Closed(_)) => return Some(ended()),
    }
    tokio::select! {
        biased;
        reply = answered => Some(reply.unwrap_or_else(|_| ended())),
        // Nothing more is expected: whatever comes is the end, or noise.
        _ = reader.read_u8() => None,
    }
}

fn ended() -> CallSocketReply {
    CallSocketReply::failed(ErrorCode::Cancelled, "the call it was made from has ended")
}
