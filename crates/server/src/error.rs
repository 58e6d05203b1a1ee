//! Errors that keep the server from starting or stop it.

use std::{io, net::SocketAddr, path::PathBuf};

use rooftree_protocol::{ErrorCode, Problem};

/// Why the server does not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process listens there.
    #[error("{0} is taken")]
    Taken(SocketAddr),
    /// The address can be reached from other machines, and nothing keeps them out.
    #[error("refusing to listen on {0} without a public URL and a token")]
    Exposed(SocketAddr),
    /// The Unix socket cannot be made.
    #[error("cannot make the socket {path}")]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Listening stopped.
    #[error("the server stopped")]
    Stopped(#[source] io::Error),
}

impl Error {
    /// The same in words for people.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Taken(_) => Problem::new(ErrorCode::SessionBusy, self.to_string())
                .cause("another program listens there, maybe another `rooftree serve`")
                .fix("stop it, or choose another port with --port"),
            Self::Exposed(_) => Problem::new(ErrorCode::InvalidConfig, self.to_string())
                .cause("other machines can reach this address")
                .fix("make a token with `rooftree token create NAME --scope chat`, and start with --public-url https://NAME; or leave --bind at 127.0.0.1"),
            Self::Socket { source, .. } => {
                Problem::new(ErrorCode::InvalidConfig, self.to_string()).cause(source.to_string())
            }
            Self::Listen { source, .. } => {
                Problem::new(ErrorCode::InvalidArguments, self.to_string())
                    .cause(source.to_string())
            }
            Self::Stopped(source) => {
                Problem::new(ErrorCode::Internal, self.to_string()).cause(source.to_string())
            }
        }
    }
}
