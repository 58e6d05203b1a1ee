//! Stays: goes on with what is unfinished, lets agents be asked as models, and hears the callbacks of
//! external agents.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};

use clap::Args;
use futures::FutureExt;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::external_agent::{Callbacks, Door};
use rooftree_runtime::{Asking, Definitions, Runtime, SystemClock};
use rooftree_server::{Agents, Options, Server};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    assemble::{Plan, Wishes},
    commands::confined::Confined,
    embeddings,
    environment::Environment,
    exit::Exit,
    external_agents::{self, PORT},
    household::{self, Household},
    minds::{self, Minds, Tape},
    output, secrets, servers,
    settings::{self, Settings},
    web::Online,
};

/// How often a stream on which nothing happens says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many requests to agents are answered at the same time.
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
    #[arg(long, value_name = "TOKEN", env = "ROOFTREE_SERVER_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// A name that leads here, besides addresses and localhost; agents are not asked by any other
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// How long an answer is held when somebody must permit something first
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, default_value = "5m")]
    pub permission_timeout: Duration,
    #[command(flatten)]
    pub confined: Confined,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    // Listens for these from the start: whoever stops it early must not cut it off.
    let mut leaving = Leaving::listen()?;
    let settings = settings::load(environment)?;
    for remark in &settings.remarks {
        output::mention(environment, remark);
    }
    let minds = Minds::of(environment, &settings)?;
    let Confined { sandbox, network } = arguments.confined;
    let has_token = arguments.token.as_ref().is_some_and(|token| !token.trim().is_empty());
    let wishes = Wishes { sandbox, network, ..wishes(&minds, &settings)? };
    let (wishes, pinned) = wishes.within(&settings);
    for remark in &pinned {
        output::mention(environment, remark);
    }
    let search = embeddings::search(environment, &settings, &minds, &Tape::Off)?;
    let online = Online::of(&settings, &minds.credentials, &minds.catalog)?;
    let base = Arc::new(OnceLock::new());
    let callbacks = Callbacks::new(&external_agents::secret(environment)?, door(base.clone()));
    let address = SocketAddr::new(arguments.bind, arguments.port);
    let deliver = external_agents::deliver(callbacks.clone());
    let Arguments { token, hosts, permission_timeout, .. } = arguments;
    let server = Server::listen(Options { address, token, hosts, deliver }).await;
    let server = server.map_err(|error| error.problem())?;
    let url = format!("http://{}", server.address());
    // Nobody else sets it.
    let _ = base.set(url.clone());
    let agents = external_agents::opener_with(settings.external.clone(), &minds.connections, callbacks)?;
    let minds = Arc::new(minds.with(external_agents::PROVIDER, agents));
    let household = Household::find(environment, &settings, &minds, None)?;
    let gathered = servers::gather(environment, &household::places(environment), &settings, &[])?;
    let unreachable = unreachable(&household.definitions).filter(|_| !has_token);
    for remark in household.remarks.iter().chain(&gathered.remarks).chain(&unreachable) {
        output::mention(environment, remark);
    }
    let store = environment.store()?;
    let secrets =
        Arc::new(secrets::known_besides(environment, &settings, gathered.confided(&household.definitions)));
    let definitions = household.definitions.clone();
    let plan = Plan {
        secrets,
        store,
        minds,
        definitions: household.definitions,
        surroundings: household.surroundings,
        settings,
        wishes,
        search,
        online,
        // Whoever looks with `rooftree permissions` can answer.
        asking: Asking::Client,
        memory: environment.memory(),
        private: environment.private(),
        workspaces: environment.workspaces(),
        calls: environment.calls(),
        mark: crate::external_agents::mark(environment),
        servers: gathered.setup(environment),
        hooks: household.hooks,
        widest_mode: household.widest_mode,
    };
    let runtime = plan.start();
    let server = server.with_agents(Agents {
        handle: runtime.handle(),
        definitions,
        clock: Arc::new(SystemClock),
        cwd: environment.cwd.clone(),
        permission_timeout,
        heartbeat: HEARTBEAT,
        at_once: AT_ONCE,
    });
    let done = serve(server, &runtime, &mut leaving, &url).await;
    runtime.stop().await;
    done.map(|()| Exit::DONE)
}

/// Answers until somebody wants it to end. Callbacks that are under way are still heard.
async fn serve(server: Server, runtime: &Runtime, leaving: &mut Leaving, url: &str) -> Result<(), Problem> {
    let unfinished = runtime.recover().await.map_err(|error| error.problem())?;
    let went_on = match unfinished {
        0 => String::new(),
        1 => "; 1 session goes on".into(),
        count => format!("; {count} sessions go on"),
    };
    output::print(&format!("listening on {url}{went_on}\n"))?;
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

/// Agents that want to be asked over HTTP and cannot be, because nobody can show a token.
fn unreachable(definitions: &Definitions) -> Option<String> {
    let exposed = definitions.iter().filter(|agent| agent.api_exposed).map(|agent| agent.name.clone());
    let exposed: Vec<String> = exposed.collect();
    (!exposed.is_empty()).then(|| {
        format!(
            "nobody can ask {} here without a token; give --token or ROOFTREE_SERVER_TOKEN",
            exposed.join(", ")
        )
    })
}

/// Callbacks come to where the server listens, by whatever name the agent knows it.
fn door(own: Arc<OnceLock<String>>) -> Door {
    Arc::new(move |base| {
        let base = base.or_else(|| own.get().cloned());
        let base = base.ok_or_else(|| Problem::new(ErrorCode::Internal, "the server does not listen yet"));
        async move { base }.boxed()
    })
}

/// The models for sessions that name none, and those to turn to.
fn wishes(minds: &Minds, settings: &Settings) -> Result<Wishes, Problem> {
    let choice = |name: &String| minds.resolve(name).map(|resolved| resolved.choice);
    Ok(Wishes {
        model: minds::default_name(settings).as_ref().map(choice).transpose()?,
        fallbacks: settings.fallbacks.iter().map(choice).collect::<Result<_, _>>()?,
        ..Wishes::default()
    })
}

/// Wishes to end.
struct Leaving {
    terminate: Signal,
    interrupt: Signal,
}

impl Leaving {
    fn listen() -> Result<Self, Problem> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Problem::new(ErrorCode::Internal, "cannot listen for signals").cause(error.to_string())
            })
        };
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn come(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
