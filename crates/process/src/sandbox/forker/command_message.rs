//! Messages between the process that wants commands and the forker that runs them, over a socket pair.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            ffi::{OsStrExt, OsStringExt},
            net::UnixStream,
        },
    },
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::ExitReason;

/// Standard input, output and error.
const STREAMS: usize = 3;

/// The longest message that is read: the kernel takes no longer arguments.
const LONGEST: usize = 64 * 1024 * 1024;

/// What the forker says when it is ready.
pub(crate) const FORKER_READY: u8 = b'r';

/// A command for the forker. Its three streams are sent along with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandMessage {
    /// Its working directory.
    pub(crate) directory: OsString,
    /// The file the program was found in, tried before a search along PATH.
    pub(crate) file: OsString,
    /// The program and its arguments.
    pub(crate) words: Vec<OsString>,
    /// All of its environment.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl CommandMessage {
    /// As bytes, their number first.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut add = |text: &OsStr| {
            body.extend(text.len().to_le_bytes());
            body.extend(text.as_bytes());
        };
        add(&self.directory);
        add(&self.file);
        add(OsStr::new(&self.words.len().to_string()));
        self.words.iter().for_each(|word| add(word));
        for (name, value) in &self.variables {
            add(name);
            add(value);
        }
        let mut bytes = body.len().to_le_bytes().to_vec();
        bytes.append(&mut body);
        bytes
    }

    /// From what stands after the number of bytes; none if it is no command.
    fn read(mut body: &[u8]) -> Option<Self> {
        let mut next = || {
            let (length, rest) = body.split_first_chunk()?;
            let (text, rest) = rest.split_at_checked(usize::from_le_bytes(*length))?;
            body = rest;
            Some(OsString::from_vec(text.to_vec()))
        };
        let (directory, file) = (next()?, next()?);
        let count: usize = next()?.to_str()?.parse().ok()?;
        let words = (0..count).map(|_| next()).collect::<Option<Vec<_>>>()?;
        let mut variables = Vec::new();
        while let Some(name) = next() {
            variables.push((name, next()?));
        }
        (!words.is_empty()).then_some(Self {
            directory,
            file,
            words,
            variables,
        })
    }
}

/// Sends the first bytes of a message, and the streams with them; says how many bytes were taken.
pub(crate) fn send_with_streams(
    socket: impl AsFd,
    bytes: &[u8],
    streams: [BorrowedFd<'_>; STREAMS],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&streams)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?)
}

/// The next command and its streams; none when the process that sends them is gone.
pub(crate) fn received(
    socket: &mut UnixStream,
) -> io::Result<Option<(CommandMessage, [OwnedFd; STREAMS])>> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut length = [0; size_of::<usize>()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut length)];
    let taken = recvmsg(&*socket, parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if taken == 0 {
        return Ok(None);
    }
    let mut streams = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(all) = message {
            streams.extend(all);
        }
    }
    socket.read_exact(length.get_mut(taken..).ok_or_else(invalid)?)?;
    let length = usize::from_le_bytes(length);
    if length > LONGEST {
        return Err(invalid());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    let command = CommandMessage::read(&body).ok_or_else(invalid)?;
    let streams = streams.try_into().map_err(|_| invalid())?;
    Ok(Some((command, streams)))
}

/// What the forker says when a command has ended and nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForkerReply {
    /// How it ended: by itself or by a signal.
    pub(crate) ending: ExitReason,
    /// Whether the sandbox is as it was before the command.
    pub(crate) is_untouched: bool,
}

impl ForkerReply {
    pub(crate) const LENGTH: usize = 6;

    pub(crate) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let (kind, code) = match self.ending {
            ExitReason::Exited(code) => (b'e', code),
            ExitReason::Signalled(signal) => (b's', signal),
            ExitReason::TimedOut | ExitReason::Cancelled => (b's', 0),
        };
        let [a, b, c, d] = code.to_le_bytes();
        [kind, u8::from(self.is_untouched), a, b, c, d]
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let [kind, is_untouched, code @ ..]: [u8; Self::LENGTH] = bytes.try_into().ok()?;
        let code = i32::from_le_bytes(code);
        let ending = match kind {
            b'e' => ExitReason::Exited(code),
            b's' => ExitReason::Signalled(code),
            _ => return None,
        };
        Some(Self {
            ending,
            is_untouched: is_untouched == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write};

    use super::*;

    fn command() -> CommandMessage {
        CommandMessage {
            directory: "/a b".into(),
            file: "/bin/sh".into(),
            words: vec!["sh".into(), "".into(), "x\n".into()],
            variables: vec![("A".into(), "".into()), ("B".into(), "=c".into())],
        }
    }

    #[test]
    fn a_command_survives_being_sent() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let null = File::open("/dev/null").unwrap();
        let bytes = command().to_bytes();
        let streams = [null.as_fd(); STREAMS];
        assert_eq!(
            send_with_streams(&ours, &bytes, streams).unwrap(),
            bytes.len()
        );
        let (found, _) = received(&mut theirs).unwrap().unwrap();
        assert_eq!(found, command());
        drop(ours);
        assert!(received(&mut theirs).unwrap().is_none(), "the end");
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for broken in [&b"\x04\0\0\0\0\0\0\0abcd"[..], &[0xff; 8]] {
            let (mut ours, mut theirs) = UnixStream::pair().unwrap();
            ours.write_all(broken).unwrap();
            drop(ours);
            assert!(received(&mut theirs).is_err(), "{broken:?}");
        }
        let bytes = command().to_bytes();
        for length in 0..bytes.len() - 8 {
            let cut = CommandMessage::read(&bytes[8..8 + length]);
            assert_ne!(cut, Some(command()), "{length}");
        }
    }

    #[test]
    fn a_reply_survives_being_sent() {
        for ending in [ExitReason::Exited(7), ExitReason::Signalled(9)] {
            for is_untouched in [true, false] {
                let reply = ForkerReply {
                    ending,
                    is_untouched,
                };
                assert_eq!(ForkerReply::read(&reply.to_bytes()), Some(reply));
            }
        }
        assert_eq!(ForkerReply::read(b"e1"), None);
        assert_eq!(ForkerReply::read(b"x10000"), None);
    }
}
