//! Default values, taken from the code that applies them.

use rooftree_protocol::{Limits, Network, PermissionMode, SandboxMode, SpawnThresholds};
use serde_json::{Value, json};

/// The default value of a key; none if it has no default. Null says that there is no limit.
pub fn default_value(key: &str) -> Option<Value> {
    let limits = Limits::default();
    Some(match key {
        "permission.mode" => json!(PermissionMode::default()),
        "permission.wary" => json!(super::WARY),
        "permission.spawn_agents" => json!(SpawnThresholds::default().agents),
        "permission.spawn_cost" => json!(SpawnThresholds::default().cost_usd),
        "permission.spawn_depth" => json!(SpawnThresholds::default().depth),
        "sandbox.mode" => json!(SandboxMode::default()),
        "sandbox.network" => json!(Network::default()),
        "limits.max_turns" => json!(limits.max_turns),
        "limits.timeout" => match limits.run_timeout_secs {
            0 => Value::Null,
            seconds => json!(format!("{seconds}s")),
        },
        "limits.emergency_context" => json!(limits.emergency_context),
        "limits.max_cost" => json!(limits.max_cost_usd),
        "limits.depth" => json!(limits.depth),
        "limits.children" => json!(limits.children),
        "limits.descendants" => json!(limits.descendants),
        "limits.identical_calls" => json!(limits.identical_calls),
        "environment.inherit" => json!("safe"),
        "hooks.confined" => json!("project"),
        "fallbacks" | "environment.keep" => json!([]),
        adds_up if super::merge::ADDING_UP.contains(&adds_up) => json!([]),
        _ => return None,
    })
}
