//! Resolves the session to use: a new one, a named one, or the latest in this directory.

use rooftree_protocol::{Command, ErrorCode, ModelChoice, Problem, Session, command::NewSession};
use rooftree_runtime::{Definitions, Handle, Queries};
use rooftree_store::SessionFilter;

use super::{Arguments, usage};
use crate::{
    control::send_for_session,
    environment::Environment,
    human_format::place,
    session_lookup::{self as find, LookupScope},
};

/// The session a message goes to.
#[derive(Debug)]
pub enum SessionTarget {
    New(NewSession),
    Known(Box<Session>),
}

/// Finds it; opens nothing.
pub async fn find(
    arguments: &Arguments,
    environment: &Environment,
    definitions: &Definitions,
    store: &Queries,
) -> Result<SessionTarget, Problem> {
    let session = match &arguments.session {
        Some(name) => Some(find::session(store, name, LookupScope::Live).await?),
        None if arguments.latest => Some(latest(environment, store).await?),
        None => None,
    };
    let Some(session) = session else {
        let agent = arguments.agent.as_deref().unwrap_or("lead");
        let definition = definitions.find(agent)?;
        let agent = if agent.contains('/') {
            agent.to_owned()
        } else {
            definition.name.clone()
        };
        return Ok(SessionTarget::New(NewSession {
            agent,
            cwd: environment.cwd.clone(),
            name: None,
            model: None,
        }));
    };
    match &arguments.agent {
        Some(agent) if !agent.eq_ignore_ascii_case(&session.agent) => Err(usage(format!(
            "session {} belongs to agent `{}`, not `{agent}`",
            session.id, session.agent
        ))
        .fix("leave out --agent, or leave out --session to open a new one")),
        _ => Ok(SessionTarget::Known(Box::new(session))),
    }
}

impl SessionTarget {
    /// What people should know if they named a directory and the session works in another one.
    pub fn elsewhere(&self, environment: &Environment) -> Option<String> {
        let Self::Known(session) = self else {
            return None;
        };
        let is_ignored = environment.everywhere.cwd.is_some() && session.cwd != environment.cwd;
        is_ignored.then(|| {
            format!(
                "-C does not move a session: this one works in {}",
                place(&session.cwd)
            )
        })
    }

    /// The model that will be used: the one named now, the session's, the definition's, the default.
    pub fn model(
        &self,
        definitions: &Definitions,
        named: Option<&ModelChoice>,
        default: Option<&ModelChoice>,
    ) -> Result<ModelChoice, Problem> {
        let (agent, own) = match self {
            Self::New(new) => (&new.agent, None),
            Self::Known(session) => (
                &session.agent,
                session.model.as_deref().map(str::parse).transpose()?,
            ),
        };
        let defined = definitions.find(agent)?.model.clone();
        named
            .cloned()
            .or(own)
            .or(defined)
            .or_else(|| default.cloned())
            .ok_or_else(|| no_model(agent))
    }

    /// The same session, thinking with the model named now. A new one whose agent has no model of
    /// its own also keeps the default of this moment, because the variable it came from may not be
    /// set the next time.
    pub async fn using(
        self,
        definitions: &Definitions,
        named: Option<ModelChoice>,
        default: Option<&ModelChoice>,
        handle: &Handle,
    ) -> Result<Self, Problem> {
        match (self, named) {
            (Self::New(new), named) => {
                let has_own = definitions.find(&new.agent)?.model.is_some();
                let default = default.filter(|_| !has_own).cloned();
                Ok(Self::New(NewSession {
                    model: named.or(default),
                    ..new
                }))
            }
            (Self::Known(session), Some(model)) => {
                let command = Command::SetModel {
                    session: session.id.clone(),
                    model: Some(model),
                };
                let session = send_for_session(handle, command).await?;
                Ok(Self::Known(Box::new(session)))
            }
            (known, None) => Ok(known),
        }
    }
}

fn no_model(agent: &str) -> Problem {
    let looked =
        "looked at --model, ROOFTREE_MODEL, ROOFTREE_DEFAULT_MODEL and `model` in config.toml";
    Problem::new(ErrorCode::Unauthorized, format!("no usable model for agent `{agent}`"))
        .cause(format!(
            "none is set, no provider has a key, and no model server answers on this machine\n({looked})"
        ))
        .fix(
            "rooftree init   finds keys and model servers of this machine, and sets the model\n\
             rooftree auth login PROVIDER   stores a key\n\
             rooftree run -m PROVIDER/MODEL …   names a model\n\
             ollama serve, llama-server, lms server start or vllm serve   starts a local model server; it needs no key\n\
             rooftree demo   shows it at work without any",
        )
}

async fn latest(environment: &Environment, store: &Queries) -> Result<Session, Problem> {
    let cwd = Some(environment.cwd.clone());
    let filter = SessionFilter {
        cwd,
        top_level: Some(true),
        limit: 1,
        ..SessionFilter::default()
    };
    let found = store
        .sessions(filter)
        .await
        .map_err(|error| error.problem())?
        .pop();
    found.ok_or_else(|| {
        let here = environment.cwd.display();
        Problem::new(
            ErrorCode::SessionNotFound,
            format!("there is no session in {here} to continue"),
        )
        .fix("leave out --continue to open one; rooftree sessions list shows those elsewhere")
    })
}
