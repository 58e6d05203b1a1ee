//! Opens the page in the person's browser (`serve --open`).

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use rooftree_stdx::{atomic_file, xml};

use crate::environment::Environment;

/// Opens a login link; says why it cannot.
///
/// Arguments of a process can be read by every other one, so the browser gets a file that only the owner may read and
/// that leads to the link.
pub(super) fn open(environment: &Environment, link: &str) -> Result<(), String> {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"]
        .iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_desktop {
        return Err("there is no desktop here".into());
    }
    let path = file(environment);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Rooftree</title><meta http-equiv=\"refresh\" content=\"0; url={}\">\n",
        xml::escape_attribute(link)
    );
    atomic_file::replace_private(&path, page.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let started = Command::new("xdg-open")
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.map_err(|error| format!("cannot start xdg-open: {error}"))?;
    // Its end is waited for, so that no zombie stays.
    thread::spawn(move || child.wait());
    Ok(())
}

/// Removes the file, whose link is good no longer.
pub(super) fn forget(environment: &Environment) {
    // It may never have been written.
    let _ = std::fs::remove_file(file(environment));
}

fn file(environment: &Environment) -> PathBuf {
    environment.database.with_file_name("open.html")
}
