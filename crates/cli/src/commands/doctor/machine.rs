//! Checks the machine: operating system, terminal, and the programs that tools call.

use std::{
    env,
    io::{self, IsTerminal},
    path::PathBuf,
};

use nix::unistd::{AccessFlags, access};

use super::check::{DoctorCheck, DoctorGroup};

/// Narrower terminals cut most of what is printed.
const NARROW: u16 = 40;

/// All of it.
pub fn checks() -> Vec<DoctorCheck> {
    let mut checks = vec![system(), terminal()];
    checks.extend(PROGRAMS.iter().map(program));
    checks
}

fn system() -> DoctorCheck {
    let words = format!("{} {}", env::consts::OS, env::consts::ARCH);
    match env::consts::OS {
        "linux" => DoctorGroup::Environment.good("system", words),
        _ => DoctorGroup::Environment.warning("system", format!("{words} is not tested yet")),
    }
}

fn terminal() -> DoctorCheck {
    if !io::stdout().is_terminal() {
        return DoctorGroup::Environment.absent("terminal", "output does not go to one");
    }
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col >= NARROW => {
            DoctorGroup::Environment.good("terminal", format!("{}×{}", size.ws_col, size.ws_row))
        }
        Ok(size) if size.ws_col > 0 => DoctorGroup::Environment
            .warning(
                "terminal",
                format!("{}×{} is narrow", size.ws_col, size.ws_row),
            )
            .fix(format!("make it at least {NARROW} columns wide")),
        _ => DoctorGroup::Environment.absent("terminal", "its size is unknown"),
    }
}

/// A program that is looked for.
struct RequiredProgram {
    name: &'static str,
    /// What is missing without it; none if nothing is.
    needed_for: Option<&'static str>,
}

const PROGRAMS: [RequiredProgram; 3] = [
    RequiredProgram {
        name: "bash",
        needed_for: Some("the Bash tool"),
    },
    RequiredProgram {
        name: "git",
        needed_for: None,
    },
    RequiredProgram {
        name: "rg",
        needed_for: None,
    },
];

fn program(program: &RequiredProgram) -> DoctorCheck {
    match (on_path(program.name), program.needed_for) {
        (Some(path), _) => DoctorGroup::Environment.good(program.name, path.display().to_string()),
        (None, None) => {
            DoctorGroup::Environment.absent(program.name, "not found; nothing of ours needs it")
        }
        (None, Some(what)) => DoctorGroup::Environment
            .failure(program.name, format!("not found, so {what} cannot work"))
            .fix(format!(
                "install {} and make sure that PATH names its directory",
                program.name
            )),
    }
}

/// Where a program is, if it can be started.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let runs = |file: &PathBuf| file.is_file() && access(file, AccessFlags::X_OK).is_ok();
    env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(runs)
}
