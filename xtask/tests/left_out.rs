//! Tells whoever types plain `cargo test` what that leaves out. It has no harness, so nothing hides its words.

use std::{
    env,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let is_silent =
        env::var_os("ROOFTREE_XTASK_TEST").is_some() || env::args().any(|word| word == "--list");
    if is_silent {
        return ExitCode::SUCCESS;
    }
    let status = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("left-out")
        .status();
    if status.is_ok_and(|status| status.success()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
