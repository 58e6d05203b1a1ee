//! Runs the server as a systemd service of the user: installs, removes and shows the unit of `rooftree serve`.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use clap::{Args, Subcommand};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;

use crate::{
    environment::{Environment, variable},
    exit::Exit,
    output,
};

/// Name of the unit.
const UNIT: &str = "rooftree.service";
/// First line of every unit that is written here; no other is replaced or removed.
const MARK: &str = "# Written by `rooftree service install`.";
/// Variables that decide where settings and sessions are; the service gets them as they are now.
const PLACES: [&str; 3] = ["ROOFTREE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// Options of `service`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: ServiceAction,
}

#[derive(Debug, Subcommand)]
enum ServiceAction {
    /// Write the unit, start it now and at each login
    Install(ServiceInstallArguments),
    /// Stop the service and remove its unit
    Uninstall,
    /// Say whether it is installed and runs (exit 1 if it does not)
    Status,
}

/// Options of `service install`.
#[derive(Args, Debug)]
struct ServiceInstallArguments {
    /// Only print the unit; nothing is written or started
    #[arg(long)]
    print: bool,
    /// Options of `rooftree serve`, after `--`
    #[arg(value_name = "OPTION", last = true)]
    serve: Vec<String>,
}

/// Does it.
pub fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        ServiceAction::Install(arguments) => install(&arguments, environment),
        ServiceAction::Uninstall => uninstall(environment),
        ServiceAction::Status => status(),
    }
}

fn install(
    arguments: &ServiceInstallArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let text = unit(&arguments.serve, environment)?;
    if arguments.print {
        return output::print(&text).map(|()| Exit::DONE);
    }
    refuse_agents()?;
    let path = path()?;
    // Nothing is written where nothing could start it.
    manager(&["show-environment"])?;
    refuse_foreign(&path)?;
    atomic_file::replace(&path, text.as_bytes()).map_err(|error| cannot("write", &path, &error))?;
    output::print(&format!("wrote {}:\n{text}", path.display()))?;
    manager(&["daemon-reload"])?;
    manager(&["enable", UNIT])?;
    manager(&["restart", UNIT])?;
    let told = "the server runs; `rooftree service status` shows it, `loginctl enable-linger` lets it run while you are logged out";
    output::print_note(environment, told);
    Ok(Exit::DONE)
}

fn uninstall(environment: &Environment) -> Result<Exit, Problem> {
    refuse_agents()?;
    let path = path()?;
    if !path.exists() {
        return Err(missing(&path));
    }
    refuse_foreign(&path)?;
    manager(&["disable", "--now", UNIT])?;
    fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?;
    manager(&["daemon-reload"])?;
    output::print_note(environment, &format!("removed {}", path.display()));
    Ok(Exit::DONE)
}

fn status() -> Result<Exit, Problem> {
    let path = path()?;
    if !path.exists() {
        return Err(missing(&path));
    }
    manager(&["show-environment"])?;
    let told = systemctl(&["is-active", UNIT])?;
    let state = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    output::print(&format!("{state} ({})\n", path.display()))?;
    Ok(if told.status.success() {
        Exit::DONE
    } else {
        Exit::FAILED
    })
}

/// Invariant: a program that an agent started leaves nothing behind that runs without it.
fn refuse_agents() -> Result<(), Problem> {
    rooftree_process::AgentAncestry::refuse_this_process().map_err(|why| {
        let message = "a program that an agent started cannot change services";
        Problem::new(ErrorCode::ToolDenied, message).cause(why.to_string())
    })
}

/// Where units of the user are.
fn path() -> Result<PathBuf, Problem> {
    let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".config"));
    let config = config.filter(|path| path.is_absolute()).or_else(home);
    config
        .map(|config| config.join("systemd/user").join(UNIT))
        .ok_or_else(|| Problem::new(ErrorCode::InvalidConfig, "HOME is not set"))
}

/// The unit: `rooftree serve` of this program in this directory.
fn unit(serve: &[String], environment: &Environment) -> Result<String, Problem> {
    let program = env::current_exe().map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot tell where this program is")
            .cause(error.to_string())
    })?;
    let mut words = vec![program.display().to_string(), "serve".into()];
    words.extend(serve.iter().cloned());
    if let Some(word) = words.iter().find(|word| word.contains(['\n', '\r', '\0'])) {
        let message = format!("`{}` cannot stand in a unit", word.escape_debug());
        return Err(Problem::new(ErrorCode::InvalidArguments, message));
    }
    let command: Vec<String> = words
        .iter()
        .map(|word| quoted(&word.replace('$', "$$")))
        .collect();
    let places = PLACES
        .iter()
        .filter_map(|name| Some((name, variable(name)?)));
    let places: String = places
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    Ok(format!(
        "{MARK}\n[Unit]\nDescription=Rooftree server\n\n[Service]\nWorkingDirectory={}\n{places}ExecStart={}\n\
         Restart=on-failure\nRestartSec=2\nKillMode=mixed\nTimeoutStopSec=30\n\n[Install]\nWantedBy=default.target\n",
        environment.cwd.display().to_string().replace('%', "%%"),
        command.join(" "),
    ))
}

/// A word as units have it: in quotes, with `%` for itself.
fn quoted(word: &str) -> String {
    let word = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{word}\"")
}

/// Asks the user's service manager; what it refuses is a problem.
fn manager(arguments: &[&str]) -> Result<(), Problem> {
    let told = systemctl(arguments)?;
    if told.status.success() {
        return Ok(());
    }
    let cause = String::from_utf8_lossy(&told.stderr).trim().to_owned();
    let message = format!("`systemctl --user {}` failed", arguments.join(" "));
    Err(Problem::new(ErrorCode::InvalidConfig, message)
        .cause(cause)
        .fix("start `rooftree serve` as your system starts programs; `rooftree service install --print` shows the unit"))
}

fn systemctl(arguments: &[&str]) -> Result<Output, Problem> {
    let told = Command::new("systemctl")
        .arg("--user")
        .args(arguments)
        .output();
    told.map_err(|error| {
        let cause = match error.kind() {
            ErrorKind::NotFound => "there is no `systemctl`: this machine does not use systemd".to_owned(),
            _ => error.to_string(),
        };
        Problem::new(ErrorCode::InvalidConfig, "cannot ask systemd").cause(cause).fix(
            "start `rooftree serve` as your system starts programs; `rooftree service install --print` shows the unit",
        )
    })
}

/// Invariant: a unit that another program or the user wrote is neither replaced nor removed.
fn refuse_foreign(path: &Path) -> Result<(), Problem> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => {
            let message = format!("{} was not written by this program", path.display());
            Err(Problem::new(ErrorCode::InvalidConfig, message).fix("remove or rename it first"))
        }
        Err(error) => Err(cannot("read", path, &error)),
    }
}

fn missing(path: &Path) -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "the service is not installed")
        .cause(format!("there is no {}", path.display()))
        .fix("rooftree service install")
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        ErrorCode::StoreFailed,
        format!("cannot {what} {}", path.display()),
    )
    .cause(error.to_string())
}
