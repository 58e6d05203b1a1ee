//! Schedules that an agent makes, lists, changes, removes and has run, with no more rights than it has.

use rooftree_protocol::{
    CallId, OccurrenceInfo, PermissionMode, Principal, ScheduleDraft, ScheduleInfo, Surface,
};
use rooftree_store::{
    AuditEntry, OccurrenceFilter, ScheduleContent, ScheduleFilter, ScheduleRow, ScheduleWrite,
    ScheduleWriteOutcome,
};
use rooftree_tools::arguments::text;
use serde_json::Value;

use super::scheduled_run;
use crate::{
    caller::Caller,
    delegation::scheduled_rights,
    schedules::{self, DraftDefaults, check_against_store, content_of},
};

/// Schedules that one person's agents may make, all in all.
const MOST: usize = 100;
/// Due times that are told of each.
const TOLD: usize = 3;

/// The person for whom the agent works.
fn person(caller: &Caller) -> Principal {
    let account = &caller.session.account;
    Principal {
        tenant: account.tenant.clone(),
        person: account.person.clone(),
        on_behalf_of: Some(format!("agent {}", caller.session.agent)),
        ..Principal::local_owner(Surface::Schedule)
    }
}

fn given(input: &Value, name: &str) -> Option<String> {
    Some(text(input, name).to_owned()).filter(|text| !text.is_empty())
}

fn draft(input: &Value) -> ScheduleDraft {
    ScheduleDraft {
        name: given(input, "name"),
        kind: given(input, "kind"),
        when: given(input, "when"),
        zone: given(input, "zone"),
        agent: given(input, "agent"),
        session: given(input, "session"),
        prompt: given(input, "prompt"),
        gate: given(input, "gate"),
        active_hours: given(input, "active_hours"),
        enabled: input.get("enabled").and_then(Value::as_bool),
        ..ScheduleDraft::default()
    }
}

/// Invariant: a gate is a command that no person is asked about. Only an agent that may run any command sets one.
fn refuse_gate(caller: &Caller, draft: &ScheduleDraft) -> Result<(), String> {
    let may_run = caller.rights.policy.mode == PermissionMode::Bypass
        && caller.resolved.toolset.names().contains(&"Bash");
    if draft.gate.is_none() || may_run {
        return Ok(());
    }
    Err("You may not run commands without asking, so you cannot set a gate.".to_owned())
}

/// A scheduled run makes no schedules: they would multiply.
async fn refuse_nested(caller: &Caller) -> Result<(), String> {
    let is_scheduled = scheduled_run::occurrence(caller).await?.is_some();
    if !is_scheduled {
        return Ok(());
    }
    Err(
        "A scheduled run does not make or change schedules. Use NextCheck for its own next time."
            .to_owned(),
    )
}

fn defaults(caller: &Caller, agent: &str, call: &CallId) -> Result<DraftDefaults, String> {
    let definition = caller.context.definitions().find(agent);
    let definition = definition.map_err(|problem| problem.message)?;
    let rights = scheduled_rights(caller, &definition, call);
    Ok(DraftDefaults {
        agent: definition.name.clone(),
        cwd: caller.session.cwd.clone(),
        zone: "UTC".to_owned(),
        model: caller.model.as_ref().map(ToString::to_string),
        rights: Some(Box::new(rights)),
        now: caller.context.now(),
    })
}

pub(super) async fn create(
    caller: &Caller,
    call: &CallId,
    input: &Value,
) -> Result<String, String> {
    refuse_nested(caller).await?;
    let mut draft = draft(input);
    refuse_gate(caller, &draft)?;
    if rows(caller).await?.len() >= MOST {
        return Err(format!(
            "There are {MOST} schedules already; remove some first."
        ));
    }
    let agent = draft
        .agent
        .clone()
        .unwrap_or_else(|| caller.session.agent.clone());
    let defaults = defaults(caller, &agent, call)?;
    draft.agent = Some(defaults.agent.clone());
    let account = &caller.session.account;
    let checked = check_against_store(&**caller.context.store(), account, &draft, None).await;
    checked.map_err(|error| error.problem().message)?;
    let mut content = content_of(&draft, None, &defaults).map_err(|problem| problem.message)?;
    // Where the agent was asked is where the result goes; it names no other place.
    content.plan.target = caller.session.chat.clone();
    let id = format!("sch_{:032x}", caller.context.entropy());
    let row = write(caller, (&id, None), Some(content), "schedule.add").await?;
    row.map(|row| told(&schedules::info(&row, Vec::new())))
        .ok_or_else(|| "It was not kept.".to_owned())
}

pub(super) async fn list(caller: &Caller, input: &Value) -> Result<String, String> {
    let one = text(input, "schedule");
    let kind = given(input, "kind");
    let mut lines = Vec::new();
    for row in rows(caller).await? {
        let is_other = kind
            .as_ref()
            .is_some_and(|kind| row.plan.kind.word() != kind);
        if is_other || (!one.is_empty() && !is_meant(&row, one)) {
            continue;
        }
        let filter = OccurrenceFilter {
            schedule: row.id.clone(),
            limit: TOLD,
            ..OccurrenceFilter::default()
        };
        let past = caller.context.store().occurrences(filter).await;
        let past = past.map_err(|error| error.to_string())?.into_iter();
        let past = past.map(|row| schedules::occurrence_info(row, "none"));
        lines.push(told(&schedules::info(&row, past.collect())));
    }
    match lines.is_empty() {
        true if one.is_empty() => Ok("There are no schedules.".to_owned()),
        true => Err(format!("There is no schedule `{one}`.")),
        false => Ok(lines.join("\n")),
    }
}

pub(super) async fn update(
    caller: &Caller,
    call: &CallId,
    input: &Value,
) -> Result<String, String> {
    refuse_nested(caller).await?;
    let row = own_row(caller, text(input, "schedule")).await?;
    let draft = ScheduleDraft {
        name: None,
        ..draft(input)
    };
    let defaults = defaults(caller, &row.plan.agent, call)?;
    let mut content =
        content_of(&draft, Some(&row), &defaults).map_err(|problem| problem.message)?;
    // What it does now is this agent's wish, so it has this agent's rights.
    content.plan.rights = defaults.rights;
    let known = (row.id.as_str(), Some(row.revision));
    let row = write(caller, known, Some(content), "schedule.change").await?;
    row.map(|row| told(&schedules::info(&row, Vec::new())))
        .ok_or_else(|| "It was changed meanwhile; look at it again.".to_owned())
}

pub(super) async fn delete(caller: &Caller, name: &str) -> Result<String, String> {
    let row = own_row(caller, name).await?;
    let known = (row.id.as_str(), Some(row.revision));
    write(caller, known, None, "schedule.remove").await?;
    Ok(format!("Removed {}.", row.name))
}

/// Has one run now; by the name `heartbeat_run`, without one, all tasks of heartbeats that agents made.
pub(super) async fn run(caller: &Caller, input: &Value) -> Result<String, String> {
    refuse_nested(caller).await?;
    let name = text(input, "schedule");
    let wanted = match (name, given(input, "kind")) {
        ("", Some(kind)) => rows(caller)
            .await?
            .into_iter()
            .filter(|row| row.plan.kind.word() == kind && row.enabled && row.plan.rights.is_some())
            .collect(),
        ("", None) => return Err("Say which schedule: its id or name.".to_owned()),
        (name, _) => vec![own_row(caller, name).await?],
    };
    let mut told = Vec::new();
    for row in wanted {
        told.push(run_one(caller, row).await?);
    }
    match told.is_empty() {
        true => Err("There is no such schedule.".to_owned()),
        false => Ok(told.join("\n")),
    }
}

async fn run_one(caller: &Caller, row: ScheduleRow) -> Result<String, String> {
    if !row.enabled {
        return Err(format!("{} is switched off.", row.name));
    }
    let content = ScheduleContent {
        name: row.name.clone(),
        plan: row.plan.clone(),
        enabled: row.enabled,
        disabled_reason: row.disabled_reason.clone(),
        next_due: Some(caller.context.now()),
    };
    let known = (row.id.as_str(), Some(row.revision));
    write(caller, known, Some(content), "schedule.run").await?;
    Ok(format!("{} is due now.", row.name))
}

/// The schedules of the person for whom the agent works.
async fn rows(caller: &Caller) -> Result<Vec<ScheduleRow>, String> {
    let account = &caller.session.account;
    let filter = ScheduleFilter {
        tenant: Some(account.tenant.clone()),
        person: Some(account.person.clone()),
        ..ScheduleFilter::default()
    };
    let rows = caller.context.store().schedules(filter).await;
    rows.map_err(|error| error.to_string())
}

fn is_meant(row: &ScheduleRow, name: &str) -> bool {
    row.id == name
        || row.name.eq_ignore_ascii_case(name)
        || (name.len() >= 6 && row.id.ends_with(name))
}

/// Invariant: a schedule that a person made has that person's rights, so an agent changes only those that agents made.
async fn own_row(caller: &Caller, name: &str) -> Result<ScheduleRow, String> {
    let rows = rows(caller).await?;
    let found = rows.into_iter().find(|row| is_meant(row, name));
    let row = found.ok_or_else(|| format!("There is no schedule `{name}`."))?;
    if row.plan.rights.is_none() {
        return Err(format!(
            "{} was made by a person; only a person changes it.",
            row.name
        ));
    }
    Ok(row)
}

async fn write(
    caller: &Caller,
    (id, expected): (&str, Option<u64>),
    content: Option<ScheduleContent>,
    action: &str,
) -> Result<Option<ScheduleRow>, String> {
    let (who, at) = (person(caller), caller.context.now());
    let entry = AuditEntry::done(&who, at, action, id);
    let written = caller.context.store().write_schedule(ScheduleWrite {
        id: id.to_owned(),
        account: caller.session.account.clone(),
        content,
        expected,
        by: who,
        at,
        audit: Some(entry.with("session", caller.session.id.to_string())),
    });
    let outcome = written.await.map_err(|error| error.to_string())?;
    caller.context.schedule_news.tell();
    match outcome {
        ScheduleWriteOutcome::Written(row) => Ok(row.map(|row| *row)),
        ScheduleWriteOutcome::Differs(_) => {
            Err("It was changed meanwhile; look at it again.".to_owned())
        }
    }
}

/// A schedule as an agent reads it.
fn told(info: &ScheduleInfo) -> String {
    let next = match info.next_due {
        Some(due) => format!("next {due}"),
        None if info.enabled => "not due".to_owned(),
        None => "switched off".to_owned(),
    };
    let work = info
        .prompt
        .as_deref()
        .or(info.command.as_deref())
        .unwrap_or_default();
    let last = info.last.as_ref().map(last).unwrap_or_default();
    format!(
        "{} ({}): {}, {next}, agent {}{last}: {}",
        info.name,
        info.id,
        info.words,
        info.agent,
        rooftree_stdx::shorten::shorten_first_line(work, 200)
    )
}

fn last(one: &OccurrenceInfo) -> String {
    let reason = one.reason.as_deref().map(|reason| format!(" ({reason})"));
    format!(", last {}{}", one.execution, reason.unwrap_or_default())
}
