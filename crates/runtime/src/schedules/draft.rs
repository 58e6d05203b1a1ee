//! Makes the stored content of a schedule from a draft: parses its times, checks its fields, fills in what is absent.

use std::path::PathBuf;

use rooftree_protocol::{
    ChatTarget, ErrorCode, Mandate, Problem, PromptContext, ScheduleDraft, SessionId, Timestamp,
};
use rooftree_schedule::{ActiveHours, ScheduleSpec};
use rooftree_store::{
    CatchUp, GateCommand, Overlap, Pacing, ScheduleBudget, ScheduleContent, ScheduleEvent,
    ScheduleKind, SchedulePlan, ScheduleRow, ScheduledSession, ScheduledWork,
};
use serde_json::Value;

use super::{due_after, parsed, refused};

/// How often a heartbeat beats that says nothing else.
const HEARTBEAT: &str = "every 30m";
/// Tokens that one heartbeat may use, if nothing else is said.
const HEARTBEAT_RUN_TOKENS: u64 = 20_000;
/// Tokens that a heartbeat may use within a day, if nothing else is said.
const HEARTBEAT_DAY_TOKENS: u64 = 400_000;
/// How events are written.
const EVENTS: &str = "write on: webhook:NAME, run-ended, run-ended:AGENT or run-ended:AGENT:failed";
/// Bytes of a prompt or a command.
const LONGEST: usize = 64 * 1024;

/// What a draft that says nothing about it means.
pub(crate) struct DraftDefaults {
    /// The agent.
    pub(crate) agent: String,
    /// Where it works.
    pub(crate) cwd: PathBuf,
    /// The time zone.
    pub(crate) zone: String,
    /// The model it would use now.
    pub(crate) model: Option<String>,
    /// The most its runs may do, if an agent makes it.
    pub(crate) rights: Option<Box<Mandate>>,
    /// Now.
    pub(crate) now: Timestamp,
}

/// The content that a draft makes of a schedule, or of a new one.
pub(crate) fn content_of(
    draft: &ScheduleDraft,
    known: Option<&ScheduleRow>,
    defaults: &DraftDefaults,
) -> Result<ScheduleContent, Problem> {
    let mut plan = match known {
        Some(row) => row.plan.clone(),
        None => new_plan(draft, defaults)?,
    };
    if known.is_some() {
        set_times(&mut plan, draft, defaults)?;
        set_work(&mut plan, draft)?;
    }
    set_place(&mut plan, draft)?;
    set_rules(&mut plan, draft)?;
    set_budget(&mut plan, draft);
    let enabled = draft
        .enabled
        .unwrap_or_else(|| known.is_none_or(|row| row.enabled));
    let is_same_time = draft.when.is_none() && draft.enabled.is_none();
    let kept = known.filter(|_| is_same_time).map(|row| row.next_due);
    let next_due = kept.unwrap_or_else(|| due_after(&plan, defaults.now));
    let name = draft
        .name
        .clone()
        .or_else(|| known.map(|row| row.name.clone()))
        .unwrap_or_else(|| usual_name(&plan));
    if name.trim().is_empty() {
        return Err(invalid("a schedule has a name"));
    }
    Ok(ScheduleContent {
        name,
        // Switched off by a person: that needs no reason.
        disabled_reason: known
            .filter(|_| !enabled && draft.enabled.is_none())
            .and_then(|row| row.disabled_reason.clone()),
        plan,
        enabled,
        next_due,
    })
}

fn new_plan(draft: &ScheduleDraft, defaults: &DraftDefaults) -> Result<SchedulePlan, Problem> {
    let kind = kind(draft)?;
    let mut plan = SchedulePlan {
        spec: None,
        zone: defaults.zone.clone(),
        agent: defaults.agent.clone(),
        cwd: defaults.cwd.clone(),
        session: ScheduledSession::New,
        work: work(draft)?.ok_or_else(|| {
            invalid("a schedule needs a prompt or a command").fix("say what to do")
        })?,
        gate: None,
        model: defaults.model.clone(),
        context: usual_context(&kind),
        rights: defaults.rights.clone(),
        target: None,
        fail_target: None,
        overlap: Overlap::Skip,
        catch_up: CatchUp::Once,
        max_age_secs: 86_400,
        budget: usual_budget(&kind),
        active_hours: None,
        pacing: Pacing::default(),
        kind,
    };
    set_times(&mut plan, draft, defaults)?;
    if plan.spec.is_none() && !matches!(plan.kind, ScheduleKind::Event { .. }) {
        return Err(
            invalid("a schedule needs a time").fix("say when: `20m`, `every 2h`, `weekdays at 9`")
        );
    }
    Ok(plan)
}

fn usual_budget(kind: &ScheduleKind) -> ScheduleBudget {
    if *kind != ScheduleKind::Heartbeat {
        return ScheduleBudget::default();
    }
    ScheduleBudget {
        run_tokens: Some(HEARTBEAT_RUN_TOKENS),
        day_tokens: Some(HEARTBEAT_DAY_TOKENS),
        ..ScheduleBudget::default()
    }
}

/// A heartbeat beats often and mostly finds nothing, so it reads little.
fn usual_context(kind: &ScheduleKind) -> PromptContext {
    match kind {
        ScheduleKind::Heartbeat => PromptContext::Light,
        ScheduleKind::Time | ScheduleKind::Event { .. } => PromptContext::Full,
    }
}

fn kind(draft: &ScheduleDraft) -> Result<ScheduleKind, Problem> {
    match (draft.kind.as_deref(), draft.on.as_deref()) {
        (None | Some("event"), Some(on)) => Ok(ScheduleKind::Event { on: event(on)? }),
        (Some("event"), None) => {
            Err(invalid("a schedule of kind `event` says what it waits for").fix(EVENTS))
        }
        (Some(_), Some(_)) => Err(invalid("`on` is for schedules of kind `event`")),
        (Some("heartbeat"), None) => Ok(ScheduleKind::Heartbeat),
        (None | Some("time" | "at" | "every" | "cron"), None) => Ok(ScheduleKind::Time),
        (Some(other), None) => Err(invalid(format!("`{other}` is no kind of schedule"))
            .fix("write time, heartbeat or event")),
    }
}

fn event(on: &str) -> Result<ScheduleEvent, Problem> {
    let (word, of) = on.split_once(':').unwrap_or((on, ""));
    match word {
        "webhook" if !of.is_empty() => Ok(ScheduleEvent::Webhook {
            name: of.to_owned(),
        }),
        "run-ended" => run_ended(of),
        _ => Err(invalid(format!("`{on}` is no event")).fix(EVENTS)),
    }
}

fn run_ended(of: &str) -> Result<ScheduleEvent, Problem> {
    let (agent, status) = of.split_once(':').unwrap_or((of, ""));
    let is_named = !matches!(agent, "" | "*");
    let status = match status {
        "" => None,
        word => {
            let status = serde_json::from_value(Value::String(word.to_owned()));
            Some(status.map_err(|_| invalid(format!("no run ends as `{word}`")).fix(EVENTS))?)
        }
    };
    Ok(ScheduleEvent::RunEnded {
        agent: is_named.then(|| agent.to_owned()),
        status,
    })
}

fn set_times(
    plan: &mut SchedulePlan,
    draft: &ScheduleDraft,
    defaults: &DraftDefaults,
) -> Result<(), Problem> {
    if let Some(zone) = &draft.zone {
        plan.zone.clone_from(zone);
    }
    let is_heartbeat = plan.kind == ScheduleKind::Heartbeat;
    let usual = (is_heartbeat && plan.spec.is_none()).then_some(HEARTBEAT);
    let Some(when) = draft.when.as_deref().or(usual) else {
        return Ok(());
    };
    if matches!(plan.kind, ScheduleKind::Event { .. }) {
        return Err(invalid("an event makes this schedule due, and no time"));
    }
    let mut spec = parsed(when, &plan.zone, defaults.now)?;
    if let (true, ScheduleSpec::Every { anchor_ms, .. }) = (is_heartbeat, &mut spec) {
        // All heartbeats of one interval are due at the same moments, so that they are one message.
        *anchor_ms = Some(0);
    }
    plan.spec = Some(serde_json::to_value(&spec).unwrap_or(Value::Null));
    Ok(())
}

fn set_work(plan: &mut SchedulePlan, draft: &ScheduleDraft) -> Result<(), Problem> {
    if let Some(work) = work(draft)? {
        plan.work = work;
    }
    Ok(())
}

fn work(draft: &ScheduleDraft) -> Result<Option<ScheduledWork>, Problem> {
    let work = match (&draft.prompt, &draft.command) {
        (Some(_), Some(_)) => {
            return Err(invalid("a schedule has a prompt or a command, not both"));
        }
        (Some(text), None) => ScheduledWork::Prompt { text: text.clone() },
        (None, Some(command)) => ScheduledWork::Command {
            command: command.clone(),
        },
        (None, None) => return Ok(None),
    };
    let (ScheduledWork::Prompt { text } | ScheduledWork::Command { command: text }) = &work;
    if text.trim().is_empty() || text.len() > LONGEST {
        return Err(invalid(format!(
            "a prompt or command has between 1 and {LONGEST} bytes"
        )));
    }
    Ok(Some(work))
}

fn set_place(plan: &mut SchedulePlan, draft: &ScheduleDraft) -> Result<(), Problem> {
    if let Some(agent) = &draft.agent {
        plan.agent.clone_from(agent);
    }
    if let Some(cwd) = &draft.cwd {
        plan.cwd.clone_from(cwd);
    }
    if let Some(model) = &draft.model {
        plan.model = Some(model.clone()).filter(|model| !model.is_empty());
    }
    match draft.context.as_deref() {
        None => {}
        Some("full") => plan.context = PromptContext::Full,
        Some("light") => plan.context = PromptContext::Light,
        Some(other) => {
            return Err(invalid(format!("`{other}` is no context")).fix("write full or light"));
        }
    }
    match draft.session.as_deref() {
        None => {}
        Some("new") => plan.session = ScheduledSession::New,
        Some("reuse") => plan.session = ScheduledSession::Reuse,
        Some(id) => {
            plan.session = ScheduledSession::Known {
                id: SessionId::parse(id)?,
            };
        }
    }
    Ok(())
}

fn set_rules(plan: &mut SchedulePlan, draft: &ScheduleDraft) -> Result<(), Problem> {
    if let Some(gate) = &draft.gate {
        plan.gate = Some(gate.trim())
            .filter(|gate| !gate.is_empty())
            .map(|gate| GateCommand {
                command: gate.to_owned(),
            });
    }
    if let Some(target) = &draft.target {
        plan.target = chat(target)?;
    }
    if let Some(target) = &draft.fail_target {
        plan.fail_target = chat(target)?;
    }
    match draft.overlap.as_deref() {
        None => {}
        Some("skip") => plan.overlap = Overlap::Skip,
        Some("queue") => plan.overlap = Overlap::Queue,
        Some(other) => {
            return Err(invalid(format!("`{other}` is no overlap rule")).fix("write skip or queue"));
        }
    }
    match draft.catch_up.as_deref() {
        None => {}
        Some("none") => plan.catch_up = CatchUp::None,
        Some("once") => plan.catch_up = CatchUp::Once,
        Some(other) => {
            return Err(invalid(format!("`{other}` is no catch-up rule")).fix("write none or once"));
        }
    }
    plan.max_age_secs = draft.max_age_secs.unwrap_or(plan.max_age_secs);
    if let Some(hours) = &draft.active_hours {
        plan.active_hours = match hours.trim() {
            "" => None,
            hours => {
                let parsed = ActiveHours::parse(hours, &plan.zone);
                let parsed = parsed.map_err(|error| refused(&error))?;
                serde_json::to_value(parsed).ok()
            }
        };
    }
    Ok(())
}

fn set_budget(plan: &mut SchedulePlan, draft: &ScheduleDraft) {
    let budget = &mut plan.budget;
    budget.run_tokens = draft.run_tokens.or(budget.run_tokens);
    budget.day_tokens = draft.day_tokens.or(budget.day_tokens);
    budget.run_usd = draft.run_usd.or(budget.run_usd);
    budget.day_usd = draft.day_usd.or(budget.day_usd);
}

fn chat(target: &str) -> Result<Option<ChatTarget>, Problem> {
    let target = target.trim();
    (!target.is_empty()).then(|| target.parse()).transpose()
}

/// The beginning of what is done.
fn usual_name(plan: &SchedulePlan) -> String {
    let (ScheduledWork::Prompt { text } | ScheduledWork::Command { command: text }) = &plan.work;
    rooftree_stdx::shorten::shorten_first_line(text, 40)
}

fn invalid(message: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, message)
}
