//! Probes once which sandbox backends (bubblewrap, Landlock) work on this machine, by trying them.

use std::{sync::Arc, time::Duration};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::{
    ChildEnvironment, ExitReason, ProcessBounds, ProcessInput, Sandbox, SpawnRequest,
    launch::launch,
    sandbox::{self, SandboxBackend, SandboxNetwork},
};

/// Support for each backend on this machine: it works, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSupport {
    /// With bubblewrap.
    pub bubblewrap: Result<(), String>,
    /// With Landlock.
    pub landlock: Result<(), String>,
}

impl SandboxSupport {
    /// The best that works.
    pub fn best(&self) -> Option<SandboxBackend> {
        let works = [
            (SandboxBackend::Bubblewrap, &self.bubblewrap),
            (SandboxBackend::Landlock, &self.landlock),
        ];
        works
            .into_iter()
            .find(|(_, result)| result.is_ok())
            .map(|(backend, _)| backend)
    }

    /// Why nothing works, in one line.
    pub fn reasons(&self) -> String {
        let reason =
            |result: &Result<(), String>| result.as_ref().err().cloned().unwrap_or("works".into());
        format!(
            "bubblewrap: {}; Landlock: {}",
            reason(&self.bubblewrap),
            reason(&self.landlock)
        )
    }
}

/// Support on this machine. Probes both backends at the first call.
pub async fn sandbox_support() -> SandboxSupport {
    SandboxSupport {
        bubblewrap: tried(SandboxBackend::Bubblewrap).await,
        landlock: tried(SandboxBackend::Landlock).await,
    }
}

/// Whether bubblewrap is there and is not known to fail. Tries nothing, so it can be asked anywhere.
pub fn has_bubblewrap() -> bool {
    sandbox::bubblewrap().is_some() && BUBBLEWRAP.get().is_none_or(Result::is_ok)
}

/// The best way that works here; else why none does. Tries no more than it has to.
pub async fn available_backend() -> Result<SandboxBackend, String> {
    let bubblewrap = tried(SandboxBackend::Bubblewrap).await;
    if bubblewrap.is_ok() {
        return Ok(SandboxBackend::Bubblewrap);
    }
    let support = SandboxSupport {
        bubblewrap,
        landlock: tried(SandboxBackend::Landlock).await,
    };
    support.best().ok_or_else(|| support.reasons())
}

static BUBBLEWRAP: OnceCell<Result<(), String>> = OnceCell::const_new();
static LANDLOCK: OnceCell<Result<(), String>> = OnceCell::const_new();

/// Whether a backend works; the result is cached for the lifetime of this process.
async fn tried(backend: SandboxBackend) -> Result<(), String> {
    let cell = match backend {
        SandboxBackend::Bubblewrap if sandbox::bubblewrap().is_none() => {
            return Err("it is not installed (bwrap)".into());
        }
        // Not cached: a helper that is set later can still be used.
        SandboxBackend::Landlock if sandbox::helper().is_none() => {
            return Err(
                "this program is not made to be its own helper (sandbox::enter_if_asked)".into(),
            );
        }
        SandboxBackend::Bubblewrap => &BUBBLEWRAP,
        SandboxBackend::Landlock => &LANDLOCK,
    };
    cell.get_or_init(|| Box::pin(attempt(backend)))
        .await
        .clone()
}

/// Programs that do nothing, tried in turn: PATH may lack any of them, or lie in what is hidden, which says
/// nothing about the sandbox.
const TRIALS: [(&str, &[&str]); 4] = [
    ("true", &[]),
    ("/usr/bin/true", &[]),
    ("/bin/true", &[]),
    ("/bin/sh", &["-c", ":"]),
];

/// Really starts something, with everything a real sandbox has.
async fn attempt(backend: SandboxBackend) -> Result<(), String> {
    let sandbox = Sandbox {
        network: SandboxNetwork::Off,
        hidden: vec!["/root".into()],
        environment: vec!["PATH".into()],
        ..Sandbox::default()
    };
    let sandbox = Arc::new(sandbox);
    let mut first = None;
    for (program, args) in TRIALS {
        let trial = SpawnRequest {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: "/".into(),
            environment: ChildEnvironment::default(),
            input: ProcessInput::Nothing,
            sandbox: Some(sandbox.clone()),
        };
        match finished(&trial, backend).await {
            Ok(()) => return Ok(()),
            Err(reason) => first = first.or(Some(reason)),
        }
    }
    Err(first.unwrap_or_default())
}

async fn finished(trial: &SpawnRequest, backend: SandboxBackend) -> Result<(), String> {
    let bounds = ProcessBounds {
        time: Some(Duration::from_secs(20)),
        output: 2_000,
    };
    let process = launch(trial, Some(backend))
        .await
        .map_err(|error| error.to_string())?;
    let finished = process
        .finish(bounds, &CancellationToken::new(), |_| {})
        .await;
    let said = finished.output.text();
    match finished.ending {
        ExitReason::Exited(0) => Ok(()),
        _ if said.trim().is_empty() => {
            Err(format!("it could not be started: {:?}", finished.ending))
        }
        _ => Err(said.trim().replace('\n', "; ")),
    }
}
