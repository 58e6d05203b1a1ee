//! The process environment of the program: directories, working directory, terminal and global flags.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use nix::unistd::{AccessFlags, access};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{WorkspaceConfig, exposure, memory::MemoryDirs};

/// The administrator's directory of settings for all users of the machine.
const SYSTEM: &str = "/etc/rooftree";

/// Options every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub struct GlobalFlags {
    /// Work in this directory instead of the current one
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Send the command to this server: http://HOST:PORT, or unix: for the one of this machine; also ROOFTREE_SERVER
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// Print only the result, and why it failed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more: all notices, tool arguments
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Use what the project's folder brings: agents, rules, skills, instructions
    #[arg(long, global = true)]
    pub trust: bool,
    /// Plain lines even on a terminal, for logs and screen readers
    #[arg(long, global = true)]
    pub plain: bool,
    /// Write text exactly as it is, with escape sequences and control characters
    #[arg(long, global = true)]
    pub raw: bool,
    /// Never ask anything
    #[arg(long, global = true)]
    pub no_input: bool,
    /// Set anything that config.toml can set, e.g. -c limits.max_turns=20; may be repeated
    #[arg(short, long, global = true, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR says otherwise
    #[default]
    Auto,
    /// Also into a pipe or a file
    Always,
    /// Nowhere
    Never,
}

/// Everything a command needs to know about its surroundings.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where to work: absolute, without links.
    pub cwd: PathBuf,
    /// Where sessions are kept.
    pub database: PathBuf,
    /// Where the machine's settings are.
    pub system: PathBuf,
    /// Where the user's settings are.
    pub settings: PathBuf,
    /// Where indexes of what was searched are kept; they can be made again.
    pub search_cache: PathBuf,
    /// As typed.
    pub everywhere: GlobalFlags,
}

/// Directories of ours.
#[derive(Debug, Default)]
pub struct PrivateDirs {
    /// No command sees them.
    pub directories: Vec<PathBuf>,
    /// Commands have their `/tmp` in it.
    pub scratch: Option<PathBuf>,
}

impl Environment {
    /// Reads flags and variables; touches no file but the working directory.
    pub fn read(everywhere: &GlobalFlags) -> Result<Self, Problem> {
        let cwd = working_directory(everywhere.cwd.as_deref())?;
        let home = directory_named_by("ROOFTREE_HOME").map(|home| cwd_of_process().join(home));
        let below = |xdg: &str, fallback: &str| match &home {
            Some(home) => Ok(home.clone()),
            None => xdg_directory(xdg, fallback),
        };
        Ok(Self {
            cwd,
            system: system(),
            database: below("XDG_DATA_HOME", ".local/share")?.join("rooftree.db"),
            settings: below("XDG_CONFIG_HOME", ".config")?.join("config.toml"),
            search_cache: below("XDG_CACHE_HOME", ".cache")?.join("search"),
            everywhere: everywhere.clone(),
        })
    }

    /// The same around another directory, if that can be entered.
    pub fn moved(&self, directory: Option<&Path>) -> Self {
        let mut moved = self.clone();
        if let Ok(cwd) = working_directory(directory.or(self.everywhere.cwd.as_deref())) {
            moved.cwd = cwd;
        }
        moved
    }

    /// Where agents remember what does not belong to a project.
    pub fn memory(&self) -> MemoryDirs {
        MemoryDirs {
            user: Some(self.database.with_file_name("agent-memory")),
        }
    }

    /// What no command sees, and where commands have their `/tmp`.
    pub fn private(&self) -> PrivateDirs {
        let files = [&self.database, &self.settings, &self.search_cache];
        let directories = files
            .iter()
            .filter_map(|file| Some(file.parent()?.to_owned()))
            .collect();
        PrivateDirs {
            directories,
            scratch: Some(self.search_cache.with_file_name("scratch")),
        }
    }

    /// Where commands of agents find their way back, by this very program.
    pub fn calls(&self) -> exposure::CallSocketConfig {
        let directory = self.search_cache.with_file_name("calls");
        exposure::CallSocketConfig {
            directory,
            program: env::current_exe().ok(),
        }
    }

    /// Where working copies of children are kept, and how large they may be where there is no git.
    pub fn workspaces(&self) -> WorkspaceConfig {
        let directory = self.database.with_file_name("workspaces");
        WorkspaceConfig {
            directory,
            copy_limit_bytes: 500 * 1024 * 1024,
            copy_limit_files: 20_000,
        }
    }

    /// Whether to colour what goes to a stream that is a terminal or not.
    pub fn colours(&self, is_terminal: bool) -> bool {
        match self.everywhere.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if self.everywhere.plain => false,
            ColorChoice::Auto if variable("NO_COLOR").is_some() => false,
            ColorChoice::Auto if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => {
                true
            }
            ColorChoice::Auto => is_terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// A variable that is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The directory of system-wide settings. Tests can override it in debug builds; a release build lets no
/// variable move it, because users must not escape pinned settings.
fn system() -> PathBuf {
    let moved = if cfg!(debug_assertions) {
        directory_named_by("ROOFTREE_TEST_SYSTEM")
    } else {
        None
    };
    moved.unwrap_or_else(|| SYSTEM.into())
}

/// Names of directories need not be text.
fn directory_named_by(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn cwd_of_process() -> PathBuf {
    env::current_dir().unwrap_or_default()
}

fn working_directory(asked: Option<&Path>) -> Result<PathBuf, Problem> {
    let directory = asked.unwrap_or(Path::new("."));
    let can_enter = |found: &PathBuf| access(found, AccessFlags::R_OK | AccessFlags::X_OK).is_ok();
    let found = directory.canonicalize().ok().filter(|found| found.is_dir());
    let found = found.filter(can_enter);
    found.ok_or_else(|| {
        let place = asked.map_or("the current directory".into(), |asked| {
            format!("`{}`", asked.display())
        });
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("cannot work in {place}"),
        )
        .cause("there is no such directory, or it cannot be entered")
        .fix("name an existing one with -C DIR")
    })
}

fn xdg_directory(variable_name: &str, below_home: &str) -> Result<PathBuf, Problem> {
    // The XDG rules say that a relative path there is to be ignored.
    let named = directory_named_by(variable_name).filter(|path| path.is_absolute());
    let home = directory_named_by("HOME");
    // A relative HOME would mean another directory in each working directory.
    let whole = home.clone().filter(|home| home.is_absolute());
    let base = named.or_else(|| Some(whole?.join(below_home)));
    base.map(|base| base.join("rooftree")).ok_or_else(|| {
        let cause = match home {
            Some(home) => format!(
                "HOME is `{}`, which is not an absolute path",
                home.display()
            ),
            None => format!("neither HOME nor {variable_name} is set"),
        };
        Problem::new(
            ErrorCode::InvalidConfig,
            "cannot tell where to keep sessions",
        )
        .cause(cause)
        .fix("set HOME or ROOFTREE_HOME to the absolute path of a directory")
    })
}
