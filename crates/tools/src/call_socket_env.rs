//! The way back from a command to the agent that runs it: how the command finds it, and what it may see for it.
//!
//! Whoever has the token calls tools with the agent's rights for as long as the command's own call runs.
//! Who answers, and what is permitted, only the runtime knows.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use rooftree_process::{ChildEnvironment, Sandbox};

/// The variable that says where the socket is.
pub const SOCKET: &str = "ROOFTREE_CALL_SOCKET";
/// The variable that holds the token.
pub const TOKEN: &str = "ROOFTREE_CALL_TOKEN";

/// The way back to one running call.
#[derive(Clone, PartialEq, Eq)]
pub struct CallSocketEnv {
    /// Where somebody listens.
    pub socket: PathBuf,
    /// Says which call it is. A secret.
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
    /// Tells a command about it.
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
