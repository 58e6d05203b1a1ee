//! Runs the server: resumes unfinished sessions, serves the OpenAI-compatible API, receives callbacks of
//! external agents.

mod api_catalog;

use std::{
    net::{IpAddr, SocketAddr},
    os::unix::process::CommandExt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use clap::Args;
use futures::FutureExt;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::external_agent::{CallbackBaseUrlFn, CallbackRegistry};
use rooftree_runtime::{AgentRuntime, ApprovalSource, Definitions, SystemClock, UnfinishedSession};
use rooftree_server::{ApiOptions, ExposedAgents, HttpServer, HttpServerOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::api_catalog::ConfiguredCatalog;
use crate::{
    assemble::{CliOverrides, RuntimePlan},
    commands::sandbox_flags::SandboxFlags,
    configured_models::{self, ConfiguredModels, RecordingMode},
    control::owner,
    embeddings,
    environment::Environment,
    exit::Exit,
    external_agents::{self, PORT},
    mcp_servers, output,
    project_agents::{self, ProjectAgents},
    secrets,
    settings::{self, Settings},
    web::WebAccess,
};

/// Heartbeat interval of an idle stream.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a request waits for its turn before it is refused.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent requests to agents.
const AT_ONCE: usize = 64;

/// Options of `rooftree serve`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The address to listen on; others than this machine's own need a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// What requests other than callbacks must show as a bearer token
    #[arg(
        long,
        value_name = "TOKEN",
        env = "ROOFTREE_SERVER_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
    /// A name that leads here, besides addresses and localhost; agents are not asked by any other
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// How long an answer is held while a permission request is open
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5m")]
    pub permission_timeout: Duration,
    /// Print the OpenAPI document of the HTTP API, and do nothing else
    #[arg(long)]
    pub print_openapi: bool,
    /// Leave sessions that were interrupted as they are, instead of going on with them
    #[arg(long)]
    pub no_resume: bool,
    #[command(flatten)]
    pub confined: SandboxFlags,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    if arguments.print_openapi {
        output::print(&output::json_page(&rooftree_server::openapi())?)?;
        return Ok(Exit::DONE);
    }
    hide_token(&arguments, environment);
    // Subscribe to signals first: an early one must lead to an orderly shutdown too.
    let mut leaving = ServeStopSignals::listen()?;
    let settings = settings::load(environment)?;
    for remark in &settings.remarks {
        output::print_note(environment, remark);
    }
    let models = ConfiguredModels::of(environment, &settings)?;
    let SandboxFlags { sandbox, network } = arguments.confined;
    let has_token = arguments
        .token
        .as_ref()
        .is_some_and(|token| !token.trim().is_empty());
    let overrides = CliOverrides {
        sandbox,
        network,
        ..default_models(&models, &settings)?
    };
    let (overrides, pinned) = overrides.without_pinned(&settings);
    for remark in &pinned {
        output::print_note(environment, remark);
    }
    let search = embeddings::search(environment, &settings, &models, &RecordingMode::Off)?;
    let online = WebAccess::of(&settings, &models.credentials, &models.catalog)?;
    let base = Arc::new(OnceLock::new());
    let callbacks = CallbackRegistry::new(
        &external_agents::secret(environment)?,
        callback_address(base.clone()),
    );
    let address = SocketAddr::new(arguments.bind, arguments.port);
    let deliver = external_agents::deliver(callbacks.clone());
    let Arguments {
        token,
        hosts,
        permission_timeout,
        no_resume,
        ..
    } = arguments;
    let server = HttpServer::listen(HttpServerOptions {
        address,
        token,
        hosts,
        deliver,
    })
    .await;
    let server = server.map_err(|error| error.problem())?;
    let url = format!("http://{}", server.address());
    // It is set only here, so this cannot fail.
    let _ = base.set(url.clone());
    let agents =
        external_agents::opener_with(settings.external.clone(), &models.connections, callbacks)?;
    let models = Arc::new(models.with(external_agents::PROVIDER, agents));
    let project = ProjectAgents::find(environment, &settings, &models, None)?;
    let gathered = mcp_servers::gather(
        environment,
        &project_agents::places(environment),
        &settings,
        &[],
    )?;
    let unreachable = unreachable(&project.definitions).filter(|_| !has_token);
    for remark in project
        .remarks
        .iter()
        .chain(&gathered.remarks)
        .chain(&unreachable)
    {
        output::print_note(environment, remark);
    }
    let store = environment.store()?;
    let secrets = Arc::new(secrets::known_besides(
        environment,
        &settings,
        gathered.confided(&project.definitions),
    ));
    let definitions = project.definitions.clone();
    let plan = RuntimePlan {
        secrets,
        store,
        models,
        project,
        settings,
        overrides,
        search,
        online,
        // `rooftree permissions` can answer.
        approvals: ApprovalSource::Client,
        memory: environment.memory(),
        servers: gathered.setup(environment),
    };
    let runtime = plan.start(environment)?;
    let handle = runtime.handle();
    let loaded = handle.load_api_agents(&owner()).await;
    for found in loaded.map_err(|error| error.problem())? {
        output::print_note(environment, &found.one_line());
    }
    let server = server.with_api(ApiOptions {
        handle: handle.clone(),
        definitions: definitions.clone(),
        clock: Arc::new(SystemClock),
        cwd: environment.cwd.clone(),
        catalog: Arc::new(ConfiguredCatalog::look(environment)?),
    });
    let server = server.with_agents(ExposedAgents {
        handle,
        definitions,
        clock: Arc::new(SystemClock),
        cwd: environment.cwd.clone(),
        permission_timeout,
        heartbeat: HEARTBEAT,
        at_once: AT_ONCE,
        queue_timeout: QUEUE_TIMEOUT,
    });
    let resume = if no_resume {
        ResumeMode::Nothing
    } else {
        ResumeMode::Everything
    };
    let done = match resumed(&runtime, resume, environment).await {
        Ok(words) => {
            serve(
                server,
                &mut leaving,
                &format!("listening on {url}{words}\n"),
            )
            .await
        }
        Err(problem) => Err(problem),
    };
    runtime.stop().await;
    done.map(|()| Exit::DONE)
}

/// Which unfinished sessions the server resumes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResumeMode {
    Everything,
    Nothing,
}

/// Resumes unfinished sessions, names each with its mode, and says why one stays unfinished. Returns how many
/// there are, in words.
async fn resumed(
    runtime: &AgentRuntime,
    resume: ResumeMode,
    environment: &Environment,
) -> Result<String, Problem> {
    let unfinished = match resume {
        ResumeMode::Everything => runtime.recover().await,
        ResumeMode::Nothing => runtime.unfinished().await,
    };
    let unfinished = unfinished.map_err(|error| error.problem())?;
    let mut count = 0_u32;
    for one in &unfinished {
        let UnfinishedSession {
            session,
            title,
            mode,
            problem,
        } = one;
        let about = title.as_deref().unwrap_or("a message waits");
        let words = match problem {
            Some(problem) => format!("stays unfinished: {}: {}", session.id, problem.message),
            None if resume == ResumeMode::Nothing => {
                format!("stays unfinished: {} ({about})", session.id)
            }
            None => {
                count += 1;
                format!(
                    "goes on: {} ({}, mode {mode}): {about}",
                    session.id, session.agent
                )
            }
        };
        output::print_note(environment, &words);
    }
    Ok(match (count, resume) {
        (_, ResumeMode::Nothing) if !unfinished.is_empty() => {
            "; --no-resume: nothing goes on".to_owned()
        }
        (0, _) => String::new(),
        (1, _) => "; 1 session goes on".to_owned(),
        (count, _) => format!("; {count} sessions go on"),
    })
}

/// Serves requests until a stop is asked for. Callbacks already in progress are still processed.
async fn serve(
    server: HttpServer,
    leaving: &mut ServeStopSignals,
    words: &str,
) -> Result<(), Problem> {
    output::print(words)?;
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(server.run(stop.clone()));
    let served = tokio::select! {
        served = &mut serving => served,
        () = leaving.come() => {
            stop.cancel();
            serving.await
        }
    };
    served.map_err(|error| error.problem())
}

/// Restarts this program with the token in its environment, if it was given as an argument: arguments of a
/// process can be read by every other one. If that fails, a note says so.
fn hide_token(arguments: &Arguments, environment: &Environment) {
    let Some(token) = &arguments.token else {
        return;
    };
    let mut given = std::env::args_os().skip(1);
    let (mut kept, mut is_shown) = (Vec::new(), false);
    while let Some(argument) = given.next() {
        let text = argument.to_string_lossy();
        match (text.as_ref() == "--token", text.starts_with("--token=")) {
            (true, _) => (is_shown, _) = (true, given.next()),
            (_, true) => is_shown = true,
            _ => kept.push(argument),
        }
    }
    if is_shown {
        let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        let mut again = std::process::Command::new(program);
        let error = again.args(kept).env("ROOFTREE_SERVER_TOKEN", token).exec();
        let words =
            "--token can be read by every program of this machine; use ROOFTREE_SERVER_TOKEN";
        output::print_note(environment, &format!("{words} ({error})"));
    }
}

/// Agents that are exposed over HTTP but cannot be reached, because the server has no token.
fn unreachable(definitions: &Definitions) -> Option<String> {
    let exposed = definitions
        .iter()
        .filter(|agent| agent.api_exposed)
        .map(|agent| agent.name.clone());
    let exposed: Vec<String> = exposed.collect();
    (!exposed.is_empty()).then(|| {
        format!(
            "no client can ask {} here without a token; give --token or ROOFTREE_SERVER_TOKEN",
            exposed.join(", ")
        )
    })
}

/// Callbacks come to where the server listens, by whatever name the agent knows it.
fn callback_address(own: Arc<OnceLock<String>>) -> CallbackBaseUrlFn {
    Arc::new(move |base| {
        let base = base.or_else(|| own.get().cloned());
        let base =
            base.ok_or_else(|| Problem::new(ErrorCode::Internal, "the server does not listen yet"));
        async move { base }.boxed()
    })
}

/// The models for sessions that name none, and those to turn to.
fn default_models(models: &ConfiguredModels, settings: &Settings) -> Result<CliOverrides, Problem> {
    let choice = |name: &String| models.resolve(name).map(|resolved| resolved.choice);
    Ok(CliOverrides {
        model: configured_models::default_name(settings)
            .as_ref()
            .map(choice)
            .transpose()?,
        fallbacks: settings
            .models
            .fallbacks
            .iter()
            .map(choice)
            .collect::<Result<_, _>>()?,
        ..CliOverrides::default()
    })
}

/// Stop signals of the server: SIGINT and SIGTERM.
struct ServeStopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ServeStopSignals {
    fn listen() -> Result<Self, Problem> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Problem::new(ErrorCode::Internal, "cannot listen for signals")
                    .cause(error.to_string())
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    async fn come(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
