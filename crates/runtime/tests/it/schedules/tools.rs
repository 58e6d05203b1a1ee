//! What agents schedule: no more rights than they have, only schedules of agents, memory of their own schedule.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Command, ErrorCode, EventBody, Origin, Part, PermissionMode, Principal,
    ScheduleDraft, Scope, Surface,
    command::{Address, CommandReply, Delivery, NewSession},
    message::text_of,
};
use rooftree_providers::scripted::{ScriptEntry, ScriptedFailureKind, call, fail, say};
use rooftree_runtime::{ScheduleDefaults, schedule_tools};
use rooftree_store::OutboxFilter;
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::BackgroundProcesses;
use serde_json::json;

use super::fixture::{add, draft, history, pass, quiet, scheduled, states, with_connector};

const SCHEDULE_TOOLS: [&str; 8] = [
    "ScheduleCreate",
    "ScheduleList",
    "ScheduleUpdate",
    "ScheduleDelete",
    "ScheduleRun",
    "NextCheck",
    "ScheduleMemoryRead",
    "ScheduleMemoryWrite",
];

fn agent(name: &str, tools: &[&str]) -> AgentDefinition {
    AgentDefinition {
        tools: Scope::only(tools.iter().map(ToString::to_string)),
        ..AgentDefinition::new(name)
    }
}

/// A planner who only schedules, and a worker who has a shell.
fn with_agents(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let worker: Vec<&str> = SCHEDULE_TOOLS.into_iter().chain(["Bash"]).collect();
    scheduled(entries)
        .tools(schedule_tools::with_tools(&tools))
        .agent(agent("planner", &SCHEDULE_TOOLS))
        .agent(agent("worker", &worker))
}

/// A worker who is told to touch a file does it with his shell.
fn touching() -> [ScriptEntry; 2] {
    [
        say("")
            .agent("worker")
            .on("Touch")
            .turn(1)
            .calls([call("Bash", json!({"command": "touch touched"}))]),
        say("Done.").agent("worker").on("Touch").turn(2),
    ]
}

fn planning(agent: &str) -> [ScriptEntry; 2] {
    let input =
        json!({"when": "every 10m", "prompt": "Touch it.", "agent": "worker", "name": "touch"});
    [
        say("")
            .agent(agent)
            .on("Plan")
            .turn(1)
            .calls([call("ScheduleCreate", input)]),
        say("Planned.").agent(agent).on("Plan").turn(2),
    ]
}

async fn planned(runtime: &TestRuntime, agent: &str) -> String {
    let session = runtime.post_as(agent, "Plan it.").await;
    runtime.wait_for_run(&session).await;
    let found = runtime.handle.schedule(&owner(), "touch").await;
    found.unwrap_or_else(|error| panic!("{error:?}")).id
}

fn is_touched(runtime: &TestRuntime) -> bool {
    runtime.path().join("touched").exists()
}

/// A person asks an agent in a chat to make a schedule.
async fn plan_in_chat(runtime: &TestRuntime, agent: &str) {
    let new = NewSession {
        agent: agent.into(),
        cwd: runtime.path().into(),
        name: None,
        model: None,
    };
    let command = Command::Post {
        to: Address::Connector {
            key: "telegram/1/7".into(),
            new,
            chat: Some("telegram:1".parse().unwrap()),
        },
        parts: vec![Part::text("Plan it.")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let who = Principal::local_owner(Surface::Connector);
    match runtime.handle.send(&who, command).await.unwrap() {
        CommandReply::Accepted { session, .. } => runtime.wait_for_run(&session).await,
        other => panic!("{other:?}"),
    };
}

#[tokio::test]
async fn what_an_agent_schedules_in_a_chat_is_answered_in_that_chat() {
    let runtime = with_agents(planning("worker").into_iter().chain(touching())).build();
    with_connector(&runtime, "telegram").await;
    plan_in_chat(&runtime, "worker").await;
    let planned = runtime.handle.schedule(&owner(), "touch").await.unwrap();
    pass(&runtime, 600);
    quiet(&runtime).await;
    assert_eq!(states(&runtime, &planned.id).await, ["completed"]);
    let filter = OutboxFilter {
        tenant: "default".into(),
        limit: 10,
        ..OutboxFilter::default()
    };
    let rows = runtime.store().outbox(filter).await.unwrap();
    let to: Vec<String> = rows.iter().map(|row| row.post.target.to_string()).collect();
    assert_eq!(to, ["telegram:1"], "{rows:?}");
    runtime.close().await;
}

#[tokio::test]
async fn a_schedule_that_an_agent_made_has_no_tool_that_the_agent_lacks() {
    for (maker, may) in [("planner", false), ("worker", true)] {
        let runtime = with_agents(planning(maker).into_iter().chain(touching())).build();
        let id = planned(&runtime, maker).await;
        pass(&runtime, 600);
        quiet(&runtime).await;
        assert_eq!(states(&runtime, &id).await, ["completed"], "{maker}");
        assert_eq!(is_touched(&runtime), may, "{maker}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn a_schedule_runs_in_no_wider_mode_than_the_agent_that_made_it() {
    for (mode, may) in [
        (PermissionMode::AcceptEdits, false),
        (PermissionMode::Bypass, true),
    ] {
        let mut first = with_agents(planning("worker"));
        first.rights.policy.mode = mode;
        // Making a schedule is allowed, running commands is not.
        first
            .rights
            .policy
            .allow
            .push("ScheduleCreate".parse().unwrap());
        let runtime = first.build();
        let id = planned(&runtime, "worker").await;
        let runtime = runtime.reopen(with_agents(touching())).await;
        pass(&runtime, 600);
        quiet(&runtime).await;
        assert_eq!(states(&runtime, &id).await, ["completed"], "{mode:?}");
        assert_eq!(is_touched(&runtime), may, "{mode:?}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn an_agent_changes_and_removes_only_what_agents_made() {
    let change = json!({"schedule": "morning", "prompt": "Touch it."});
    let script = [
        say("").agent("planner").on("Change").turn(1).calls([
            call("ScheduleUpdate", change),
            call("ScheduleDelete", json!({"schedule": "morning"})),
            call("ScheduleRun", json!({"schedule": "morning"})),
        ]),
        say("{{ last.result }}")
            .agent("planner")
            .on("Change")
            .turn(2),
    ];
    let runtime = with_agents(script).build();
    let added = add(&runtime, &draft("every 10m")).await;
    let session = runtime.post_as("planner", "Change it.").await;
    runtime.wait_for_run(&session).await;
    let now = runtime.handle.schedule(&owner(), &added.id).await.unwrap();
    assert_eq!((now.rev, now.prompt), (added.rev, added.prompt));
    runtime.close().await;
}

#[tokio::test]
async fn the_next_time_that_a_run_chooses_is_clamped_to_a_week_and_counts_if_it_completes() {
    for (wanted, completes, seconds) in [
        ("2s", true, 60),
        ("3h", true, 3 * 3600),
        ("4w", true, 7 * 86_400),
        ("3h", false, 12 * 3600),
    ] {
        let last = match completes {
            true => say("Done."),
            false => fail(ScriptedFailureKind::Refused),
        };
        let choose = call("NextCheck", json!({"in": wanted}));
        let script = [
            say("").agent("worker").on("Look").turn(1).calls([choose]),
            last.agent("worker").on("Look").turn(2),
        ];
        let runtime = with_agents(script).build();
        let work = ScheduleDraft {
            agent: Some("worker".into()),
            ..draft("every 12h")
        };
        let added = add(&runtime, &work).await;
        pass(&runtime, 12 * 3600);
        quiet(&runtime).await;
        let now = runtime.handle.schedule(&owner(), &added.id).await.unwrap();
        let wait = now.next_due.unwrap().since(added.next_due.unwrap());
        assert_eq!(wait.as_secs(), seconds, "{wanted} {completes}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn the_names_that_other_programs_have_for_these_tools_do_what_they_say() {
    let script = [
        say("").agent("worker").on("Plan").turn(1).calls([
            call(
                "add_cron",
                json!({"cron": "0 9 * * *", "task": "Sum up.", "name": "digest"}),
            ),
            call(
                "heartbeat_add",
                json!({"prompt": "Look at the disk.", "name": "disk"}),
            ),
            call(
                "scheduled_sessions_create",
                json!({"interval": "every 2h", "message": "Tidy.", "title": "tidy"}),
            ),
        ]),
        say("").agent("worker").on("Plan").turn(2).calls([
            call("cron_read_task", json!({"task_id": "digest"})),
            call("heartbeat_list", json!({})),
            call("scheduled_sessions_list", json!({})),
            call(
                "scheduled_sessions_update",
                json!({"id": "tidy", "prompt": "Tidy up well."}),
            ),
            call("scheduled_sessions_disable", json!({"id": "tidy"})),
        ]),
        say("").agent("worker").on("Plan").turn(3).calls([
            call("scheduled_sessions_run", json!({"id": "tidy"})),
            call("scheduled_sessions_enable", json!({"id": "tidy"})),
            call("scheduled_sessions_run", json!({"id": "tidy"})),
            call("heartbeat_run", json!({})),
            call("cron_read_memory", json!({})),
        ]),
        say("").agent("worker").on("Plan").turn(4).calls([
            call("cron_delete_task", json!({"id": "digest"})),
            call("heartbeat_remove", json!({"id": "disk"})),
            call("scheduled_sessions_delete", json!({"id": "tidy"})),
        ]),
        say("Planned.").agent("worker").on("Plan").turn(5),
        say("").agent("worker").on("Tidy").turn(1).calls([
            call("cron_write_memory", json!({"content": "tidied"})),
            call("cron_read_memory", json!({})),
        ]),
        say("Tidied.").agent("worker").times(9),
    ];
    let runtime = with_agents(script).build();
    let session = runtime.post_as("worker", "Plan it.").await;
    runtime.wait_for_run(&session).await;
    let events = runtime.events(&session).await;
    let results: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ToolCompleted(record) => Some(text_of(&record.content)),
            _ => None,
        })
        .collect();
    let wanted = [
        "digest (sch_",
        "disk (sch_",
        "tidy (sch_",
        "digest (sch_",
        "disk (sch_",
        "tidy (sch_",
        "tidy (sch_",
        "tidy (sch_",
        "is switched off",
        "tidy (sch_",
        "tidy is due now",
        "disk is due now",
        "was not started by a schedule",
        "Removed digest",
        "Removed disk",
        "Removed tidy",
    ];
    assert_eq!(results.len(), wanted.len(), "{results:#?}");
    // Calls that only read are made at the same time, and end in any order.
    let lists = 3..6;
    for (number, (told, words)) in results.iter().zip(wanted).enumerate() {
        let is_told = lists.contains(&number) || told.contains(words);
        assert!(is_told, "{words}: {told}");
    }
    for (shown, hidden) in [
        ("digest (sch_", "tidy"),
        ("disk (sch_", "tidy"),
        ("tidy (sch_", "?"),
    ] {
        let mut lists = results[lists.clone()].iter();
        let found = lists.any(|told| told.contains(shown) && !told.contains(hidden));
        assert!(found, "{shown}: {results:#?}");
    }
    assert!(results[7].contains("switched off"), "{}", results[7]);
    assert!(runtime.handle.schedules(&owner()).await.unwrap().is_empty());
    quiet(&runtime).await;
    runtime.close().await;
}

#[tokio::test]
async fn a_scheduled_run_makes_no_schedule_but_chooses_its_next_time_and_remembers() {
    let script = [
        say("").agent("worker").on("Look").turn(1).calls([
            call(
                "ScheduleCreate",
                json!({"when": "every 1h", "prompt": "More."}),
            ),
            call("NextCheck", json!({"in": "2s"})),
            call("ScheduleMemoryWrite", json!({"text": "seen 7"})),
        ]),
        say("")
            .agent("worker")
            .on("Look")
            .turn(2)
            .calls([call("ScheduleMemoryRead", json!({}))]),
        say("Done.").agent("worker").on("Look").turn(3),
    ];
    let runtime = with_agents(script).build();
    let work = ScheduleDraft {
        agent: Some("worker".into()),
        ..draft("every 12h")
    };
    let added = add(&runtime, &work).await;
    pass(&runtime, 12 * 3600);
    quiet(&runtime).await;
    assert_eq!(runtime.handle.schedules(&owner()).await.unwrap().len(), 1);
    let ran = history(&runtime, &added.id).await.remove(0);
    let events = format!("{:?}", runtime.events(&ran.session.unwrap()).await);
    assert!(events.contains("seen 7"));
    assert!(!events.contains("There is nothing yet"));
    let next = runtime
        .handle
        .schedule(&owner(), &added.id)
        .await
        .unwrap()
        .next_due;
    let wait = next.unwrap().since(ran.ended.unwrap()).as_secs();
    assert_eq!(wait, 60, "clamped to a minute");
    runtime.close().await;
}

#[tokio::test]
async fn a_name_is_taken_once_and_a_chat_has_a_connector_whoever_makes_the_schedule() {
    let input = json!({"name": "Morning", "when": "every 1h", "prompt": "Look."});
    let runtime = with_agents([
        say("")
            .agent("planner")
            .turn(1)
            .calls([call("ScheduleCreate", input)]),
        say("{{ results[0].text }}").agent("planner").turn(2),
    ])
    .build();
    add(&runtime, &draft("every 10m")).await;
    let defaults = || ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().to_owned(),
        zone: "UTC".into(),
    };
    let refused = async |draft: ScheduleDraft| {
        let who = owner();
        let added = runtime.handle.add_schedule(&who, &draft, defaults());
        added.await.unwrap_err().problem()
    };
    let problem = refused(draft("every 2h")).await;
    assert_eq!(problem.code, ErrorCode::Conflict);
    assert!(problem.message.contains("`morning` already"), "{problem:?}");
    let aimed = ScheduleDraft {
        name: Some("evening".into()),
        target: Some("nowhere:7".into()),
        ..draft("every 2h")
    };
    let problem = refused(aimed).await;
    assert!(
        problem.message.contains("no connector `nowhere`"),
        "{problem:?}"
    );

    let session = runtime.post_as("planner", "Plan it.").await;
    let answer = runtime.wait_for_run(&session).await.text;
    assert!(answer.contains("already"), "{answer}");
    assert_eq!(runtime.handle.schedules(&owner()).await.unwrap().len(), 1);
}
