//! Tells the linker to write addresses that move with the program in short: two megabytes less to read at every start.
//!
//! Loaders know that form since version 2.36 of the C library, so it is used where this one is as new. Linkers
//! that do not know it say so and go on.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_at_home = env::var("TARGET").ok() == env::var("HOST").ok();
    if target("OS") == "linux" && target("ENV") == "gnu" && is_at_home && c_library() >= (2, 36) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library; none is older than any.
fn c_library() -> (u32, u32) {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let said = asked
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let version = said
        .trim()
        .strip_prefix("glibc ")
        .and_then(|version| version.split_once('.'));
    version
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .unwrap_or_default()
}
