//! The control surface as the command line uses it: a handle for commands, queries for reading, and who sends them.

use std::sync::Arc;

use rooftree_client::{EmbeddedClient, RuntimeClient};
use rooftree_protocol::{
    Command, ErrorCode, Principal, Problem, Session, Surface, command::CommandReply,
};
use rooftree_runtime::{AuditedFileChange, Handle, Queries, SystemClock};
use rooftree_store::{SqliteStore, Store};

use crate::{
    environment::{Environment, variable},
    output,
    server_connection::ServerConnection,
};

/// The person at the command line: the owner of this installation.
pub fn owner() -> Principal {
    Principal::local_owner(Surface::Cli)
}

/// The same under the name of the account, as others are told who answered or made a rule.
pub fn named_owner() -> Principal {
    let name = variable("USER").or_else(|| variable("LOGNAME"));
    Principal {
        on_behalf_of: Some(name.unwrap_or_else(|| "user".into())),
        ..owner()
    }
}

/// A client of the runtime of this process, which acts as the owner.
pub fn client(handle: &Handle) -> Arc<dyn RuntimeClient> {
    client_as(handle, owner())
}

fn client_as(handle: &Handle, who: Principal) -> Arc<dyn RuntimeClient> {
    let embedded = EmbeddedClient::new(handle.clone(), Arc::new(SystemClock), who);
    Arc::new(embedded)
}

/// Sends a command that makes or changes a session, to a runtime wherever it is.
pub async fn changed_session(
    client: &dyn RuntimeClient,
    command: Command,
) -> Result<Session, Problem> {
    session_in(client.send(command).await?)
}

/// Sends a command; says what went wrong in words for people.
pub async fn send(handle: &Handle, command: Command) -> Result<CommandReply, Problem> {
    let sent = handle.send(&owner(), command).await;
    sent.map_err(|error| error.problem())
}

/// Sends a command that makes or changes a session.
pub async fn send_for_session(handle: &Handle, command: Command) -> Result<Session, Problem> {
    session_in(send(handle, command).await?)
}

fn session_in(reply: CommandReply) -> Result<Session, Problem> {
    match reply {
        CommandReply::Session(session) => Ok(*session),
        other => Err(Problem::new(
            ErrorCode::Internal,
            format!("a command about a session was answered with {other:?}"),
        )),
    }
}

impl Environment {
    /// The server that was named, else the database of this machine to read, if there is one.
    pub fn client(&self) -> Result<Option<Arc<dyn RuntimeClient>>, Problem> {
        if let Some(server) = ServerConnection::of(self)? {
            return Ok(Some(Arc::new(server.client)));
        }
        let handle = self.reading()?;
        Ok(handle.as_ref().map(client))
    }

    /// The same to change something; in the database of this machine as this principal.
    pub fn changing_client(
        &self,
        who: Principal,
    ) -> Result<Option<Arc<dyn RuntimeClient>>, Problem> {
        if let Some(server) = ServerConnection::of(self)? {
            return Ok(Some(Arc::new(server.client)));
        }
        if !self.database.exists() {
            return Ok(None);
        }
        Ok(Some(client_as(&self.control()?, who)))
    }

    /// A handle without agents on the database, which is made if it is not there. It needs no model.
    pub fn control(&self) -> Result<Handle, Problem> {
        let store = self.store()?;
        Ok(Handle::without_agents(store, Arc::new(SystemClock)))
    }

    /// What there is to read, if there is a database. Reading never makes one, and works on a medium that cannot be
    /// written to.
    pub fn queries(&self) -> Result<Option<Queries>, Problem> {
        let handle = self.reading()?;
        Ok(handle.map(|handle| handle.queries(&owner())))
    }

    /// The same as a handle, to watch with.
    pub fn reading(&self) -> Result<Option<Handle>, Problem> {
        let read = |store: Arc<dyn Store>| Handle::without_agents(store, Arc::new(SystemClock));
        if !self.database.exists() {
            return Ok(None);
        }
        match SqliteStore::open_read_only(&self.database) {
            Ok(store) if store.integrity_problems().is_empty() => Ok(Some(read(Arc::new(store)))),
            // A list that lacks something must not look whole.
            Ok(store) => {
                let problems = store.integrity_problems().join("; ");
                Err(rooftree_store::Error::Damaged(problems).problem())
            }
            // An older database must be brought up to date first, and that is writing.
            Err(_) => Ok(Some(read(self.store()?))),
        }
    }

    /// Changes files of the user or project, with an entry in the audit log before and after. A database that cannot
    /// be used does not prevent a change of settings.
    pub async fn change_files<T>(
        &self,
        action: &str,
        subject: impl ToString,
        work: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        let change = AuditedFileChange {
            action,
            subject: subject.to_string(),
        };
        let begun = match self.control() {
            Ok(handle) => {
                let intent = handle.begin_file_change(&owner(), &change).await;
                intent.map(|intent| (handle, intent))
            }
            Err(problem) => Err(problem),
        };
        let done = work.await;
        match begun {
            Ok((handle, intent)) => {
                let problem = done.as_ref().err();
                handle.end_file_change(intent, problem).await;
            }
            Err(problem) => {
                let words = format!("this change is not in the audit log: {}", problem.message);
                output::print_note(self, &words);
            }
        }
        done
    }
}
