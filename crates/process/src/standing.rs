//! Which ways to confine a program work here, found out once, by trying.

use std::{sync::Arc, time::Duration};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{
    Bounds, Ending, Environment, Input, Sandbox, Spawn,
    launch::launch,
    sandbox::{self, Backend, Network},
};

/// How it stands with both ways here: each works, or does not for a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// With bubblewrap.
    pub bubblewrap: Result<(), String>,
    /// With Landlock.
    pub landlock: Result<(), String>,
}

impl Standing {
    /// The best that works.
    pub fn best(&self) -> Option<Backend> {
        let works = [(Backend::Bubblewrap, &self.bubblewrap), (Backend::Landlock, &self.landlock)];
        works.into_iter().find(|(_, result)| result.is_ok()).map(|(backend, _)| backend)
    }

    /// Why nothing works, in one line.
    pub fn reasons(&self) -> String {
        let reason = |result: &Result<(), String>| result.as_ref().err().cloned().unwrap_or("works".into());
        format!("bubblewrap: {}; Landlock: {}", reason(&self.bubblewrap), reason(&self.landlock))
    }
}

/// How it stands here. Tries both the first time.
pub async fn standing() -> Standing {
    Standing { bubblewrap: tried(Backend::Bubblewrap).await, landlock: tried(Backend::Landlock).await }
}

/// Whether bubblewrap is there and is not known to fail. Tries nothing, so it can be asked anywhere.
pub fn has_bubblewrap() -> bool {
    sandbox::bubblewrap().is_some() && BUBBLEWRAP.get().is_none_or(Result::is_ok)
}

/// The best way that works here; else why none does. Tries no more than it has to.
pub async fn available() -> Result<Backend, String> {
    let bubblewrap = tried(Backend::Bubblewrap).await;
    if bubblewrap.is_ok() {
        return Ok(Backend::Bubblewrap);
    }
    let standing = Standing { bubblewrap, landlock: tried(Backend::Landlock).await };
    standing.best().ok_or_else(|| standing.reasons())
}

static BUBBLEWRAP: OnceCell<Result<(), String>> = OnceCell::const_new();
static LANDLOCK: OnceCell<Result<(), String>> = OnceCell::const_new();

/// Whether one way works, remembered for as long as this process lives.
async fn tried(backend: Backend) -> Result<(), String> {
    let cell = match backend {
        Backend::Bubblewrap if sandbox::bubblewrap().is_none() => {
            return Err("it is not installed (bwrap)".into());
        }
        // Whoever names a helper later can still use it.
        Backend::Landlock if sandbox::helper().is_none() => {
            return Err("this program is not made to be its own helper (sandbox::enter_if_asked)".into());
        }
        Backend::Bubblewrap => &BUBBLEWRAP,
        Backend::Landlock => &LANDLOCK,
    };
    cell.get_or_init(|| Box::pin(attempt(backend))).await.clone()
}

/// Programs that do nothing, tried in turn: PATH may lack any of them, or lie in what is hidden, which says
/// nothing about the sandbox.
const TRIALS: [(&str, &[&str]); 4] =
    [("true", &[]), ("/usr/bin/true", &[]), ("/bin/true", &[]), ("/bin/sh", &["-c", ":"])];

/// Really starts something, with everything a real sandbox has.
async fn attempt(backend: Backend) -> Result<(), String> {
    let sandbox = Sandbox {
        network: Network::Off,
        hidden: vec!["/root".into()],
        environment: vec!["PATH".into()],
        ..Sandbox::default()
    };
    let sandbox = Arc::new(sandbox);
    let mut first = None;
    for (program, args) in TRIALS {
        let trial = Spawn {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: "/".into(),
            environment: Environment::default(),
            input: Input::Nothing,
            sandbox: Some(sandbox.clone()),
        };
        match finished(&trial, backend).await {
            Ok(()) => return Ok(()),
            Err(reason) => first = first.or(Some(reason)),
        }
    }
    Err(first.unwrap_or_default())
}

async fn finished(trial: &Spawn, backend: Backend) -> Result<(), String> {
    let bounds = Bounds { time: Some(Duration::from_secs(20)), output: 2_000 };
    let process = launch(trial, Some(backend)).await.map_err(|error| error.to_string())?;
    let finished = process.finish(bounds, &CancellationToken::new(), |_| {}).await;
    let said = finished.output.text();
    match finished.ending {
        Ending::Exited(0) => Ok(()),
        _ if said.trim().is_empty() => Err(format!("it could not be started: {:?}", finished.ending)),
        _ => Err(said.trim().replace('\n', "; ")),
    }
}
