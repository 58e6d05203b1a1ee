//! The time zone of this machine, for times that name none.

use crate::environment::variable;

/// The time zone of this machine.
pub fn system_zone() -> String {
    let named = variable("TZ").filter(|zone| zone.contains('/'));
    let linked = || {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        let target = target.to_str()?.to_owned();
        Some(target.split_once("zoneinfo/")?.1.to_owned())
    };
    named.or_else(linked).unwrap_or_else(|| "UTC".to_owned())
}
