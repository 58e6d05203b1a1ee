//! The gate command of a schedule: its exit code says whether the schedule fires.

use std::time::Duration;

use rooftree_store::ScheduleRow;
use serde_json::Value;

use super::shell_command::{EndedCommand, ScheduleCommand};
use crate::runtime_context::RuntimeContext;

/// How long a gate may take.
pub(crate) const GATE_TIME: Duration = Duration::from_secs(30);
/// Bytes of what a gate says and of what it keeps.
const LONGEST: usize = 16 * 1024;

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    /// The schedule fires, with this for the agent to read, and this kept if the run completes.
    Fire {
        message: Option<String>,
        state: Option<String>,
    },
    /// The schedule does not fire.
    Skip,
    /// The gate is broken.
    Error(String),
}

/// Asks the gate of a schedule. Without one the schedule fires.
pub(crate) async fn ask(context: &RuntimeContext, row: &ScheduleRow) -> GateVerdict {
    let Some(gate) = &row.plan.gate else {
        return GateVerdict::Fire {
            message: None,
            state: None,
        };
    };
    let command = ScheduleCommand {
        row,
        line: &gate.command,
        input: row.gate_state.clone().unwrap_or_default(),
        time: GATE_TIME,
    };
    match command.run(context).await {
        Ok(ended) => verdict(&ended),
        Err(words) => GateVerdict::Error(words),
    }
}

/// Exit code 0: fire, 1: skip, anything else is an error. A broken gate must not look like one that says no.
pub(crate) fn verdict(ended: &EndedCommand) -> GateVerdict {
    match ended.code {
        Some(0) => said(ended.printed.trim()),
        Some(1) => GateVerdict::Skip,
        Some(code) => {
            let errors = rooftree_stdx::shorten::shorten_first_line(&ended.errors, 200);
            GateVerdict::Error(format!("exit code {code}: {errors}"))
        }
        None => GateVerdict::Error("it was ended by a signal".to_owned()),
    }
}

/// JSON with `message` and `state`, or plain text.
fn said(printed: &str) -> GateVerdict {
    if printed.len() > LONGEST {
        return GateVerdict::Error(format!("it printed more than {LONGEST} bytes"));
    }
    let Ok(Value::Object(object)) = serde_json::from_str(printed) else {
        return GateVerdict::Fire {
            message: Some(printed.to_owned()).filter(|text| !text.is_empty()),
            state: None,
        };
    };
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    GateVerdict::Fire {
        message: text("message").filter(|text| !text.is_empty()),
        state: text("state"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: Option<i32>, printed: &str) -> GateVerdict {
        verdict(&EndedCommand {
            code,
            printed: printed.to_owned(),
            errors: "no such file\nmore".to_owned(),
        })
    }

    fn fire(message: Option<&str>, state: Option<&str>) -> GateVerdict {
        GateVerdict::Fire {
            message: message.map(str::to_owned),
            state: state.map(str::to_owned),
        }
    }

    #[test]
    fn the_exit_code_of_a_gate_decides_and_its_output_is_read() {
        let long = "x".repeat(LONGEST + 1);
        for (code, printed, wanted) in [
            (Some(0), "", fire(None, None)),
            (Some(0), "three new\n", fire(Some("three new"), None)),
            (
                Some(0),
                r#"{"message": "new", "state": "7"}"#,
                fire(Some("new"), Some("7")),
            ),
            (
                Some(0),
                r#"{"state": {"seen": 7}}"#,
                fire(None, Some(r#"{"seen":7}"#)),
            ),
            (Some(0), "[1, 2]", fire(Some("[1, 2]"), None)),
            (Some(1), r#"{"message": "new"}"#, GateVerdict::Skip),
            (
                Some(2),
                "",
                GateVerdict::Error("exit code 2: no such file".to_owned()),
            ),
            (
                Some(127),
                "",
                GateVerdict::Error("exit code 127: no such file".to_owned()),
            ),
            (
                None,
                "",
                GateVerdict::Error("it was ended by a signal".to_owned()),
            ),
            (
                Some(0),
                long.as_str(),
                GateVerdict::Error(format!("it printed more than {LONGEST} bytes")),
            ),
        ] {
            assert_eq!(ended(code, printed), wanted, "{code:?} {printed}");
        }
    }
}
