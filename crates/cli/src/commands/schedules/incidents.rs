//! Incidents of schedules: lists failures by their cause, and acknowledges them.

use rooftree_protocol::{ErrorCode, IncidentInfo, Problem};
use rooftree_store::IncidentRow;

use super::{ScheduleAcknowledgeArguments, ScheduleIncidentsArguments, changer};
use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem},
    output,
    table::{ColumnShrink, TextTable},
};

impl ListItem for IncidentInfo {
    fn id(&self) -> String {
        self.signature.clone()
    }
}

pub(super) async fn list(
    arguments: &ScheduleIncidentsArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let handle = environment.control()?;
    let rows = handle
        .schedule_incidents(&owner(), &arguments.schedule)
        .await;
    let rows = rows.map_err(|error| error.problem())?;
    let rows: Vec<IncidentInfo> = rows.into_iter().map(IncidentRow::info).collect();
    let look = listing::look(environment);
    listing::print(&rows, arguments.output.format, look, table)?;
    if rows.is_empty() {
        output::print_note(environment, "it has not failed yet");
    }
    Ok(Exit::DONE)
}

pub(super) async fn acknowledge(
    arguments: &ScheduleAcknowledgeArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let who = changer()?;
    let handle = environment.control()?;
    let rows = handle.schedule_incidents(&who, &arguments.schedule).await;
    let rows = rows.map_err(|error| error.problem())?;
    let words = arguments.words.as_deref().unwrap_or_default();
    let wanted: Vec<IncidentInfo> = rows
        .into_iter()
        .map(IncidentRow::info)
        .filter(|one| is_meant(one, words))
        .collect();
    if wanted.is_empty() {
        let message = format!(
            "the schedule `{}` has no such open incident",
            arguments.schedule
        );
        return Err(Problem::new(ErrorCode::TaskNotFound, message)
            .fix("rooftree schedules incidents lists them"));
    }
    for one in &wanted {
        let known = handle.acknowledge_incident(&who, &arguments.schedule, &one.signature);
        known.await.map_err(|error| error.problem())?;
    }
    let signatures: Vec<&str> = wanted.iter().map(|one| one.signature.as_str()).collect();
    if arguments.output.is_json() {
        let page = serde_json::json!({"acknowledged": signatures});
        return output::print(&output::json_page(&page)?).map(|()| Exit::DONE);
    }
    for one in &wanted {
        output::print(&format!("you hear no more of: {}\n", one.words))?;
    }
    Ok(Exit::DONE)
}

/// Whether a person may still be told of it, and it has these words.
fn is_meant(one: &IncidentInfo, words: &str) -> bool {
    let is_open = matches!(one.state.as_str(), "detected" | "alerted");
    let words = words.to_lowercase();
    is_open && (one.signature.contains(&words) || one.words.to_lowercase().contains(&words))
}

fn table(rows: &[IncidentInfo]) -> TextTable {
    let mut table = TextTable::new([
        ("STATE", ColumnShrink::Stiff),
        ("COUNT", ColumnShrink::Stiff),
        ("LAST", ColumnShrink::Stiff),
        ("WHAT", ColumnShrink::Soft),
    ]);
    for row in rows {
        table.row([
            row.state.clone(),
            row.count.to_string(),
            human_format::moment(row.last),
            row.words.clone(),
        ]);
    }
    table
}
