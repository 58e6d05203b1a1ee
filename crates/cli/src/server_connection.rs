//! The server that commands are sent to: `--server` or `ROOFTREE_SERVER`, and the token for it.
//!
//! The token is never an argument: other processes can read those.

use std::{os::unix::ffi::OsStrExt, path::PathBuf};

use rooftree_client::{RemoteClient, RemoteOptions};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::TokenHash;

use crate::{
    credentials::Credentials,
    environment::{Environment, variable},
};

/// The variable with the token.
pub const TOKEN: &str = "ROOFTREE_TOKEN";
/// The name under which a token is stored.
pub const STORED_AS: &str = "rooftree-server";
/// What begins the address of a Unix socket.
const UNIX: &str = "unix:";

/// A server to send commands to.
pub struct ServerConnection {
    pub client: RemoteClient,
    /// Whether it runs on this machine, under this account.
    pub is_local: bool,
}

impl ServerConnection {
    /// The server that was named; none if commands are for this machine's own database.
    pub fn of(environment: &Environment) -> Result<Option<Self>, Problem> {
        let Some(address) = address(environment) else {
            return Ok(None);
        };
        let (options, is_local) = match address.strip_prefix(UNIX) {
            Some(path) => (socket(path, environment), true),
            None => {
                // An address that is none is told before a token is missed.
                let token = token(environment).map_err(|problem| {
                    let client = RemoteClient::new(RemoteOptions::new(&address));
                    client.err().unwrap_or(problem)
                })?;
                (RemoteOptions::new(&address).token(token), false)
            }
        };
        let client = RemoteClient::new(options)?;
        Ok(Some(Self { client, is_local }))
    }
}

/// What was typed, else what the variable says.
pub fn address(environment: &Environment) -> Option<String> {
    let typed = environment.everywhere.server.clone();
    typed.or_else(|| variable("ROOFTREE_SERVER"))
}

/// In the runtime directory of the account, or below the data directory. Each database has its own.
pub fn socket_path(environment: &Environment) -> PathBuf {
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|directory| directory.is_absolute() && directory.is_dir()) {
        Some(directory) => {
            let database = environment.database.as_os_str().as_bytes();
            let digest = TokenHash::of_pieces(&[database]);
            let name: String = digest
                .0
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            directory.join("rooftree").join(format!("{name}.sock"))
        }
        None => environment
            .database
            .with_file_name("run")
            .join("server.sock"),
    }
}

fn socket(path: &str, environment: &Environment) -> RemoteOptions {
    let path = match path {
        "" => socket_path(environment),
        path => PathBuf::from(path),
    };
    RemoteOptions::new("http://localhost").socket(path)
}

fn token(environment: &Environment) -> Result<String, Problem> {
    let found = Credentials::of(environment).find(STORED_AS, &[TOKEN.to_owned()])?;
    let found = found.map(|found| found.key.reveal().to_owned());
    found.ok_or_else(|| {
        Problem::new(ErrorCode::Unauthorized, "there is no token for the server")
            .cause(format!("{TOKEN} is not set, and none is stored"))
            .fix(format!(
                "on the server: rooftree token create NAME --scope chat,approve\n\
                 here: rooftree auth set {STORED_AS}   stores it, or set {TOKEN}\n\
                 on the same machine: --server unix:   needs no token"
            ))
    })
}
