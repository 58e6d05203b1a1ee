//! The sandbox helper as a separate program, for programs that cannot be their own helper: see `sandbox::use_helper`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rooftree_process::sandbox::enter_if_asked();
    eprintln!("this program confines others; it is started by rooftree, not by people");
    ExitCode::from(2)
}
