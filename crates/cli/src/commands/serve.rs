//! Runs the server: resumes unfinished sessions, serves the HTTP API and the OpenAI-compatible API, receives callbacks of
//! external agents.

mod api_catalog;
mod connectors;
pub mod exposure;
mod key_settings;
mod open_page;
mod qr_code;
mod resume;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use clap::Args;
use futures::FutureExt;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::external_agent::{CallbackBaseUrlFn, CallbackRegistry};
use rooftree_runtime::{ApprovalSource, Handle, SystemClock, scheduler};
use rooftree_server::{
    AddressRange, ApiOptions, ExposedAgents, HttpServer, HttpServerOptions, UiSource,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::{
    api_catalog::ConfiguredCatalog,
    resume::{ResumeMode, resumed},
};
use crate::{
    assemble::{CliOverrides, RuntimePlan},
    commands::sandbox_flags::SandboxFlags,
    configured_models::{self, ConfiguredModels, RecordingMode},
    control::owner,
    embeddings,
    environment::{Environment, variable},
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
/// Open files that are asked for; more would only slow down programs that look at all of them.
const MOST_FILES: u64 = 65_536;
/// Maximum number of concurrent requests to agents.
const AT_ONCE: usize = 64;

/// Options of `rooftree serve`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The address to listen on; others than this machine's own need --public-url and a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// The port to listen on; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// The URL under which people reach the server, behind a proxy that speaks TLS
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// A proxy whose X-Forwarded-* and Forwarded headers count: an address or a range such as 10.0.0.0/8
    #[arg(long = "trusted-proxy", value_name = "ADDRESS")]
    pub trusted_proxies: Vec<AddressRange>,
    /// An origin whose pages may use tokens, such as https://app.example; cookies do not count for it
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub allowed_origins: Vec<String>,
    /// A name that leads here, besides addresses, localhost and the public URL; no other is answered
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Print a one-time login link also where standard output is no terminal
    #[arg(long)]
    pub print_link: bool,
    /// Open the page in your browser, logged in
    #[arg(long)]
    pub open: bool,
    /// Also draw the login link as a QR code on the terminal, for a phone; needs --public-url
    #[arg(long)]
    pub qr: bool,
    /// Serve the page's files from this directory, read anew for each request, for work on the page
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub ui_dir: Option<PathBuf>,
    /// Gone: arguments can be read by other programs
    #[arg(long, value_name = "TOKEN", hide = true, num_args = 0..=1, default_missing_value = "")]
    pub token: Option<String>,
    /// How long an answer is held while a permission request is open
    #[arg(long, value_name = "DURATION", value_parser = crate::human_format::some_duration, default_value = "5m")]
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
        return output::print(&output::json_page(&rooftree_server::openapi())?)
            .map(|()| Exit::DONE);
    }
    refuse_token_argument(&arguments)?;
    // Subscribe to signals first: an early one must lead to an orderly shutdown too.
    let mut leaving = ServeStopSignals::listen()?;
    let settings = settings::load(environment)?;
    print_notes(environment, &settings.remarks);
    let models = ConfiguredModels::of(environment, &settings)?;
    let SandboxFlags { sandbox, network } = arguments.confined;
    let chat_token = variable("ROOFTREE_SERVER_TOKEN").filter(|token| !token.trim().is_empty());
    let store = environment.store()?;
    let control = Handle::without_agents(store.clone(), Arc::new(SystemClock));
    let guards = (&control, chat_token.is_some());
    exposure::require_access(arguments.bind, arguments.public_url.as_deref(), guards).await?;
    raise_file_limit();
    let overrides = CliOverrides {
        sandbox,
        network,
        ..default_models(&models, &settings)?
    };
    let (overrides, pinned) = overrides.without_pinned(&settings);
    print_notes(environment, &pinned);
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
        hosts,
        public_url,
        trusted_proxies,
        allowed_origins,
        print_link,
        open,
        qr,
        permission_timeout,
        no_resume,
        ui_dir,
        ..
    } = arguments;
    let server = HttpServer::listen(HttpServerOptions {
        address,
        token: chat_token,
        hosts,
        public_url: public_url.clone(),
        deliver,
    })
    .await;
    let server = server.map_err(|error| error.problem())?;
    let mut server = server
        .with_trusted_proxies(trusted_proxies.into_iter().collect())
        .with_allowed_origins(allowed_origins)
        .with_ui(ui_dir.map_or(UiSource::Embedded, UiSource::Directory));
    exposure::bind_socket(&mut server, environment);
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
    let unreachable = exposure::unreachable(&project.definitions, guards).await?;
    let remarks = project.remarks.iter().chain(&gathered.remarks);
    print_notes(environment, remarks.chain(&unreachable));
    let secrets = Arc::new(secrets::known_besides(
        environment,
        &settings,
        gathered.confided(&project.definitions),
    ));
    let definitions = project.definitions.clone();
    let served_models = models.clone();
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
    let mut runtime = plan.start(environment)?;
    let handle = runtime.handle();
    let loaded = handle.load_api_agents(&owner()).await;
    for found in loaded.map_err(|error| error.problem())? {
        output::print_note(environment, &found.one_line());
    }
    let server = server.with_connectors(connectors::start(&mut runtime, environment));
    let server = server.with_api(ApiOptions {
        handle: handle.clone(),
        definitions: definitions.clone(),
        clock: Arc::new(SystemClock),
        cwd: environment.cwd.clone(),
        catalog: Arc::new(ConfiguredCatalog::look(environment, served_models)?),
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
    let resume = ResumeMode::new(no_resume);
    let announced = async {
        let words = resumed(&runtime, resume, environment).await?;
        let base = public_url.as_deref().unwrap_or(&url);
        let link = exposure::login_link(&control, base, print_link || open || qr).await?;
        if let Some(link) = link.as_deref().filter(|_| open) {
            open_browser(environment, link);
        }
        let code = link.as_deref().filter(|_| qr);
        let code = code.map(|link| draw_code(environment, base, link));
        Ok(announcement(&format!("{url}{words}"), link, code))
    };
    let announced = announced.await;
    // Only now: agents made over the API must be there, and what was interrupted goes on first.
    runtime.add_service(scheduler::service());
    let done = match announced {
        Ok(words) => serve(server, &mut leaving, &words).await,
        Err(problem) => Err(problem),
    };
    runtime.stop().await;
    if open {
        open_page::forget(environment);
    }
    done.map(|()| Exit::DONE)
}

fn print_notes<'a>(environment: &Environment, notes: impl IntoIterator<Item = &'a String>) {
    for note in notes {
        output::print_note(environment, note);
    }
}

/// What is printed when the server is ready: where it listens, how to log in.
fn announcement(listening: &str, link: Option<String>, code: Option<String>) -> String {
    let link = link.map(|link| format!("open {link}\n"));
    let (link, code) = (link.unwrap_or_default(), code.unwrap_or_default());
    format!("listening on {listening}\n{link}{code}")
}

/// Opens the page; where it cannot, it says why.
fn open_browser(environment: &Environment, link: &str) {
    if let Err(why) = open_page::open(environment, link) {
        let words = format!("the page is not opened: {why}; open the link yourself");
        output::print_note(environment, &words);
    }
}

/// The QR code of the link; where there is none, it says why.
fn draw_code(environment: &Environment, base: &str, link: &str) -> String {
    qr_code::drawn(environment, base, link).unwrap_or_else(|why| {
        output::print_note(environment, &format!("no QR code: {why}"));
        String::new()
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

/// Arguments of a process can be read by every other one, so a token is none.
fn refuse_token_argument(arguments: &Arguments) -> Result<(), Problem> {
    if arguments.token.is_none() {
        return Ok(());
    }
    let message = "--token is gone: every program of this machine can read it";
    Err(Problem::new(ErrorCode::InvalidArguments, message).fix(
        "rooftree token create NAME --scope chat makes a token; or set ROOFTREE_SERVER_TOKEN, which is good for /v1",
    ))
}

/// Lets this process have as many open files as it may: each client needs one.
fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let wanted = hard.min(MOST_FILES).max(soft);
        // Where it cannot be raised, fewer clients are served.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard);
    }
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
