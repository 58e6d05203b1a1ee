//! Call socket of a command: the environment variables by which it calls tools of its agent, and the paths it may see
//! for that.
//!
//! A process that has the token calls tools with the agent's permissions for as long as the command's own call runs.
//! The runtime listens on the socket and decides what is permitted.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use rooftree_process::{ChildEnvironment, Sandbox};

/// The variable that says where the socket is.
pub const SOCKET: &str = "ROOFTREE_CALL_SOCKET";
/// The variable that holds the token.
pub const TOKEN: &str = "ROOFTREE_CALL_TOKEN";

/// The call socket of one running call.
#[derive(Clone, PartialEq, Eq)]
pub struct CallSocketEnv {
    /// The socket that the runtime listens on.
    pub socket: PathBuf,
    /// Token that identifies the call. A secret.
    pub token: String,
    /// What must be visible to use it: the socket's directory, descriptions of tools, the program.
    pub visible: Vec<PathBuf>,
    /// A directory with the program that speaks to the socket.
    pub programs: PathBuf,
}

/// Without the token.
impl fmt::Debug for CallSocketEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WayBack")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl CallSocketEnv {
    /// Adds the variables to the environment of a command.
    pub(crate) fn told(&self, environment: ChildEnvironment) -> ChildEnvironment {
        let path = env::var_os("PATH").unwrap_or_default();
        let places = [self.programs.clone()]
            .into_iter()
            .chain(env::split_paths(&path));
        let joined = env::join_paths(places).unwrap_or(path);
        environment
            .with(SOCKET, &self.socket.to_string_lossy())
            .with(TOKEN, &self.token)
            .with("PATH", &joined.to_string_lossy())
    }

    /// Lets a confined command see it. What lies where the command works is visible there already, and its
    /// owner may replace it.
    pub(crate) fn open(&self, sandbox: &mut Sandbox, cwd: &Path) {
        sandbox.readable.extend(
            self.visible
                .iter()
                .filter(|path| !path.starts_with(cwd))
                .cloned(),
        );
    }
}
