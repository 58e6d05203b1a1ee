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

/// The programs that are looked for.
const PROGRAMS: [&str; 3] = ["bash", "git", "rg"];

fn program(name: &&'static str) -> DoctorCheck {
    let (group, name) = (DoctorGroup::Environment, *name);
    if let Some(path) = on_path(name) {
        return group.good(name, path.display().to_string());
    }
    let fix = format!("install {name} and make sure that PATH names its directory");
    match name {
        "bash" if on_path("sh").is_some() => group
            .warning(
                name,
                "not found; the Bash tool uses sh, which does not know all of bash",
            )
            .fix(fix),
        "bash" => group
            .failure(name, "neither bash nor sh is found, so the Bash tool cannot work")
            .fix(fix),
        "git" => group
            .absent(
                name,
                "not found; without it agents that work apart get a plain copy instead of a worktree, and changes are \
                 brought back without merging",
            )
            .fix(fix),
        _ => group.absent(name, "not found; not required"),
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
