//! Schedules: adds, lists, shows, runs, pauses and removes them. The server fires them.

mod checks;
mod incidents;
mod shown;

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Principal, Problem, ScheduleDraft};
use rooftree_runtime::{Handle, ScheduleChange, ScheduleDefaults};
use serde::Serialize;

use self::{
    checks::{kept_model, note_unknown_event, server_state},
    shown::{history_table, page, preview_page, table},
};
use crate::{
    commands::{agents::note_unknown_agent, token::local_owner},
    control::owner,
    environment::Environment,
    exit::Exit,
    listing::{self, ListItem, ListOutput, PageOutput},
    output,
    system_zone::system_zone,
};

/// The agent of a schedule that names none.
const AGENT: &str = "lead";

/// Options of `schedules`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: ScheduleAction,
}

#[derive(Debug, Subcommand)]
enum ScheduleAction {
    /// List schedules: when they are due, how their last run went
    #[command(visible_alias = "ls")]
    List(ScheduleListArguments),
    /// Add a schedule: `rooftree schedules add "weekdays at 9" "Summarise my inbox"`
    Add(Box<ScheduleAddArguments>),
    /// Show one: plan, next due times, last runs
    Show(OneScheduleArguments),
    /// Show when a schedule or a written form such as `every 2h` is due next
    Next(ScheduleNextArguments),
    /// Have it run now, by the server
    Run(OneScheduleArguments),
    /// Switch it off
    Pause(OneScheduleArguments),
    /// Switch it on again
    Resume(OneScheduleArguments),
    /// Remove it with its history
    #[command(visible_alias = "remove")]
    Rm(OneScheduleArguments),
    /// Show what became of its due times
    History(ScheduleHistoryArguments),
    /// List its failures by their cause
    Incidents(ScheduleIncidentsArguments),
    /// Hear no more of its failures: of all that are open, or of one cause
    Acknowledge(ScheduleAcknowledgeArguments),
}

#[derive(Args, Debug)]
struct ScheduleListArguments {
    #[command(flatten)]
    output: ListOutput,
}

#[derive(Args, Debug)]
struct ScheduleAddArguments {
    /// When: 20m, `every 2h`, `tomorrow 8:00`, `weekdays at 9`, `0 9 * * 1-5`, `on run-ended:AGENT`
    when: String,
    /// What the agent is told
    #[arg(required_unless_present = "command")]
    prompt: Option<String>,
    /// What to call it
    #[arg(long)]
    name: Option<String>,
    /// Whose work it is
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// The time zone that is meant, such as Europe/Berlin
    #[arg(long)]
    zone: Option<String>,
    /// The session: new each time, reuse one of its own, or the id of one
    #[arg(long, value_name = "new|reuse|ID")]
    session: Option<String>,
    /// Run this command instead of asking a model
    #[arg(long, value_name = "LINE", conflicts_with = "prompt")]
    command: Option<String>,
    /// A command that decides each time: exit code 0 fire, 1 skip, anything else an error
    #[arg(long, value_name = "LINE")]
    gate: Option<String>,
    /// Make it a task of the agent's heartbeat: all that are due are one message
    #[arg(long)]
    heartbeat: bool,
    /// The model
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// What the agent reads: all, or no instructions, rules, skills and memory; heartbeats read little
    #[arg(long, value_name = "full|light")]
    context: Option<String>,
    /// The chat to which the result is delivered, such as telegram:123
    #[arg(long, value_name = "CONNECTOR:CHAT")]
    target: Option<String>,
    /// The chat to which failures are told
    #[arg(long, value_name = "CONNECTOR:CHAT")]
    fail_target: Option<String>,
    /// If the run before is not over: skip or queue
    #[arg(long, value_name = "skip|queue")]
    overlap: Option<String>,
    /// Due times that no scheduler saw: none or once
    #[arg(long, value_name = "none|once")]
    catch_up: Option<String>,
    /// The part of the day in which it fires, such as 08:00-22:00
    #[arg(long, value_name = "FROM-TO")]
    active_hours: Option<String>,
    /// Tokens that one run may use
    #[arg(long, value_name = "TOKENS")]
    run_tokens: Option<u64>,
    /// Tokens that it may use within 24 hours
    #[arg(long, value_name = "TOKENS")]
    day_tokens: Option<u64>,
    /// US dollars that one run may cost
    #[arg(long, value_name = "USD")]
    run_cost: Option<f64>,
    /// US dollars that it may cost within 24 hours
    #[arg(long, value_name = "USD")]
    day_cost: Option<f64>,
    #[command(flatten)]
    output: PageOutput,
}

#[derive(Args, Debug)]
struct OneScheduleArguments {
    /// Its name, its id or the end of the id
    schedule: String,
    #[command(flatten)]
    output: PageOutput,
}

#[derive(Args, Debug)]
struct ScheduleNextArguments {
    /// Its name, its id, or a written form
    schedule: String,
    /// The time zone that is meant
    #[arg(long)]
    zone: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

#[derive(Args, Debug)]
struct ScheduleHistoryArguments {
    /// Its name, its id or the end of the id
    schedule: String,
    /// At most this many
    #[arg(short = 'n', long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    output: ListOutput,
}

#[derive(Args, Debug)]
struct ScheduleIncidentsArguments {
    /// Its name, its id or the end of the id
    schedule: String,
    #[command(flatten)]
    output: ListOutput,
}

#[derive(Args, Debug)]
struct ScheduleAcknowledgeArguments {
    /// Its name, its id or the end of the id
    schedule: String,
    /// Words of the cause, as `incidents` shows it
    words: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// A schedule in a list.
#[derive(Serialize)]
#[serde(transparent)]
struct ListedSchedule(rooftree_protocol::ScheduleInfo);

impl ListItem for ListedSchedule {
    fn id(&self) -> String {
        self.0.id.clone()
    }
}

/// A due time in a list.
#[derive(Serialize)]
#[serde(transparent)]
struct ListedOccurrence(rooftree_protocol::OccurrenceInfo);

impl ListItem for ListedOccurrence {
    fn id(&self) -> String {
        self.0.due.0.to_string()
    }
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        ScheduleAction::List(arguments) => list(&arguments, environment).await,
        ScheduleAction::Add(arguments) => add(*arguments, environment).await,
        ScheduleAction::Show(arguments) => show(&arguments, environment).await,
        ScheduleAction::Next(arguments) => next(&arguments, environment).await,
        ScheduleAction::Run(arguments) => run(&arguments, environment).await,
        ScheduleAction::Pause(arguments) => switch(&arguments, environment, Switch::Off).await,
        ScheduleAction::Resume(arguments) => switch(&arguments, environment, Switch::On).await,
        ScheduleAction::Rm(arguments) => remove(&arguments, environment).await,
        ScheduleAction::History(arguments) => history(&arguments, environment).await,
        ScheduleAction::Incidents(arguments) => incidents::list(&arguments, environment).await,
        ScheduleAction::Acknowledge(arguments) => {
            incidents::acknowledge(&arguments, environment).await
        }
    }
}

/// Whether a schedule is switched on or off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

/// The person at the command line, who alone changes schedules here: what an agent schedules it asks for with its
/// tools, with its own rights.
fn changer() -> Result<Principal, Problem> {
    Ok(local_owner()?.principal)
}

async fn list(
    arguments: &ScheduleListArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let rows = match environment.reading()? {
        Some(handle) => handle.schedules(&owner()).await,
        None => Ok(Vec::new()),
    };
    let rows = rows.map_err(|error| error.problem())?;
    let rows: Vec<ListedSchedule> = rows.into_iter().map(ListedSchedule).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    if rows.is_empty() {
        let words = "no schedules: rooftree schedules add \"weekdays at 9\" \"Summarise my inbox\"";
        output::print_note(environment, words);
    }
    Ok(Exit::DONE)
}

async fn add(arguments: ScheduleAddArguments, environment: &Environment) -> Result<Exit, Problem> {
    let who = changer()?;
    let defaults = ScheduleDefaults {
        agent: AGENT.to_owned(),
        cwd: environment.cwd.clone(),
        zone: system_zone(),
    };
    let is_json = arguments.output.is_json();
    let (when, on) = time_or_event(arguments.when);
    let model = match arguments.command {
        Some(_) => None,
        None => {
            let agent = arguments.agent.as_deref().unwrap_or(AGENT);
            let of = (agent, arguments.heartbeat);
            kept_model(arguments.model, of, environment)?
        }
    };
    let draft = ScheduleDraft {
        name: arguments.name,
        kind: arguments.heartbeat.then(|| "heartbeat".to_owned()),
        when,
        on,
        zone: arguments.zone,
        agent: arguments.agent,
        session: arguments.session,
        prompt: arguments.prompt,
        command: arguments.command,
        gate: arguments.gate,
        model,
        context: arguments.context,
        target: arguments.target,
        fail_target: arguments.fail_target,
        overlap: arguments.overlap,
        catch_up: arguments.catch_up,
        active_hours: arguments.active_hours,
        run_tokens: arguments.run_tokens,
        day_tokens: arguments.day_tokens,
        run_usd: arguments.run_cost,
        day_usd: arguments.day_cost,
        ..ScheduleDraft::default()
    };
    let handle = environment.control()?;
    let added = handle.add_schedule(&who, &draft, defaults).await;
    let added = added.map_err(|error| error.problem())?;
    note_unknown_agent(environment, &added.agent);
    if let Some(on) = &draft.on {
        note_unknown_event(environment, &handle, &who, on).await?;
    }
    if is_json {
        output::print(&output::json_page(&added)?)?;
    } else {
        output::print(&page(&added))?;
        let words = format!(
            "it fires while `rooftree serve` runs{}",
            server_state(environment)
        );
        output::print_note(environment, &words);
    }
    Ok(Exit::DONE)
}

/// `on run-ended:AGENT` names an event; everything else is a time.
fn time_or_event(when: String) -> (Option<String>, Option<String>) {
    let on = when.strip_prefix("on ").map(str::trim);
    match on.filter(|on| on.starts_with("run-ended") || on.starts_with("webhook:")) {
        Some(on) => (None, Some(on.to_owned())),
        None => (Some(when), None),
    }
}

async fn show(
    arguments: &OneScheduleArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let found = environment
        .control()?
        .schedule(&owner(), &arguments.schedule)
        .await;
    let found = found.map_err(|error| error.problem())?;
    let text = if arguments.output.is_json() {
        output::json_page(&found)?
    } else {
        page(&found)
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

async fn next(
    arguments: &ScheduleNextArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let handle = environment.control()?;
    if let Ok(found) = handle.schedule(&owner(), &arguments.schedule).await {
        let preview = rooftree_protocol::SchedulePreview {
            words: found.words,
            spec: found.spec,
            next: found.next,
        };
        return print_preview(&preview, &found.zone, arguments.output);
    }
    if let (None, Some(event)) = time_or_event(arguments.schedule.clone()) {
        let preview = rooftree_protocol::SchedulePreview {
            words: format!("on {event}: it has no set times"),
            spec: serde_json::Value::Null,
            next: Vec::new(),
        };
        return print_preview(&preview, "UTC", arguments.output);
    }
    let zone = arguments.zone.clone().unwrap_or_else(system_zone);
    let preview = handle.preview_schedule(&arguments.schedule, &zone)?;
    print_preview(&preview, &zone, arguments.output)
}

fn print_preview(
    preview: &rooftree_protocol::SchedulePreview,
    zone: &str,
    form: PageOutput,
) -> Result<Exit, Problem> {
    let text = if form.is_json() {
        output::json_page(preview)?
    } else {
        preview_page(preview, zone)
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

async fn run(arguments: &OneScheduleArguments, environment: &Environment) -> Result<Exit, Problem> {
    let who = changer()?;
    let ran = environment
        .control()?
        .run_schedule(&who, &arguments.schedule)
        .await;
    let ran = ran.map_err(|error| error.problem())?;
    if arguments.output.is_json() {
        return output::print(&output::json_page(&ran)?).map(|()| Exit::DONE);
    }
    output::print(&format!("{} is due now\n", ran.name))?;
    let words = format!("`rooftree serve` runs it{}", server_state(environment));
    output::print_note(environment, &words);
    Ok(Exit::DONE)
}

async fn switch(
    arguments: &OneScheduleArguments,
    environment: &Environment,
    to: Switch,
) -> Result<Exit, Problem> {
    let who = changer()?;
    let draft = ScheduleDraft {
        enabled: Some(to == Switch::On),
        ..ScheduleDraft::default()
    };
    let handle = environment.control()?;
    let changed = changed(&handle, &who, &arguments.schedule, &draft).await?;
    if arguments.output.is_json() {
        return output::print(&output::json_page(&changed)?).map(|()| Exit::DONE);
    }
    let state = if changed.enabled { "on" } else { "off" };
    output::print(&format!("{} is switched {state}\n", changed.name))?;
    Ok(Exit::DONE)
}

async fn changed(
    handle: &Handle,
    who: &Principal,
    id: &str,
    draft: &ScheduleDraft,
) -> Result<rooftree_protocol::ScheduleInfo, Problem> {
    let outcome = handle.change_schedule(who, id, draft).await;
    match outcome.map_err(|error| error.problem())? {
        ScheduleChange::Changed(Some(info)) => Ok(*info),
        ScheduleChange::Changed(None) | ScheduleChange::Differs(_) => Err(Problem::new(
            ErrorCode::Conflict,
            "somebody else changed the schedule at the same moment",
        )
        .fix("try again")),
    }
}

async fn remove(
    arguments: &OneScheduleArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = changer()?;
    let handle = environment.control()?;
    let found = handle.schedule(&who, &arguments.schedule).await;
    let found = found.map_err(|error| error.problem())?;
    let removed = handle.remove_schedule(&who, &found.id, None).await;
    removed.map_err(|error| error.problem())?;
    if arguments.output.is_json() {
        let page = serde_json::json!({"removed": found.id});
        return output::print(&output::json_page(&page)?).map(|()| Exit::DONE);
    }
    output::print(&format!("removed {}\n", found.name))?;
    Ok(Exit::DONE)
}

async fn history(
    arguments: &ScheduleHistoryArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let handle = environment.control()?;
    let rows = handle
        .schedule_history(&owner(), &arguments.schedule, None, arguments.limit)
        .await;
    let rows = rows.map_err(|error| error.problem())?;
    let rows: Vec<ListedOccurrence> = rows.into_iter().map(ListedOccurrence).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, history_table)?;
    if rows.is_empty() {
        output::print_note(environment, "it has not been due yet");
    }
    Ok(Exit::DONE)
}
