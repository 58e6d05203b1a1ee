//! The control surface: every change names who made it, on an event or in the audit log, with and without agents.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Answer, Command, Effect, Event, EventBody, Origin, Part, PermissionMode,
    PermissionScope, Principal, Problem, RuleKind, RuleScope, SessionId, Surface,
    command::{Address, CommandReply, Delivery, ExportedSession, NewSession},
};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::{AuditedFileChange, Handle, redacting_store::RedactingStore};
use rooftree_store::{AuditPhase, AuditRow, SessionFilter, SqliteStore, Store, TaskFilter};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::Toolset;
use serde_json::json;

fn alice() -> Principal {
    Principal {
        token: Some("tok_1".into()),
        on_behalf_of: Some("alice".into()),
        ..Principal::local_owner(Surface::Http)
    }
}

fn stranger() -> Principal {
    Principal {
        tenant: "other".into(),
        ..alice()
    }
}

async fn audit(handle: &Handle, who: &Principal) -> Vec<AuditRow> {
    handle.queries(who).audit(0, 1_000).await.unwrap()
}

async fn actions(handle: &Handle) -> Vec<String> {
    let rows = audit(handle, &owner()).await;
    rows.into_iter().map(|row| row.entry.action).collect()
}

/// Who is named on the last event of this name.
async fn sender(runtime: &TestRuntime, session: &SessionId, name: &str) -> Option<Principal> {
    let events = runtime.events(session).await;
    let event = events.iter().rfind(|event| event.body.name() == name);
    event.unwrap().who.as_deref().cloned()
}

async fn opened(runtime: &TestRuntime, name: &str) -> SessionId {
    let new = NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: Some(name.into()),
        model: None,
    };
    let CommandReply::Session(session) = runtime.command(Command::Open(new)).await else {
        panic!("a session was opened");
    };
    session.id
}

/// A handle of a process without agents on the same database.
fn elsewhere(runtime: &TestRuntime) -> Handle {
    let store = SqliteStore::open(runtime.path().join("rooftree.db")).unwrap();
    Handle::without_agents(Arc::new(store), runtime.clock.clone())
}

/// A session whose run is held in a call for good.
async fn held() -> (TestRuntime, SessionId) {
    let (held, _) = ProbeTool::gated("Held", Effect::ReadOnly);
    let runtime = TestRuntimeBuilder::new([say("").calls([call("Held", json!({}))])])
        .tools(Toolset::new([held]))
        .build();
    let session = runtime.post("go").await;
    while !runtime.transcript(&session).await.contains("Held") {
        tokio::task::yield_now().await;
    }
    (runtime, session)
}

#[tokio::test]
async fn a_clear_that_must_not_disturb_is_refused_while_another_process_works() {
    let (runtime, session) = held().await;
    let clear = |unless_busy| Command::Clear {
        session: session.clone(),
        unless_busy,
    };
    let handle = elsewhere(&runtime);
    let refused = handle.send(&alice(), clear(true)).await.unwrap_err();
    let code = rooftree_protocol::ErrorCode::SessionBusy;
    assert_eq!(refused.problem().code, code);
    let reply = handle.send(&alice(), clear(false)).await.unwrap();
    assert_eq!(reply, CommandReply::Forwarded);
    runtime.wait_for_event(&session, "session.cleared").await;
}

#[tokio::test]
async fn a_person_widens_and_narrows_the_mode_of_a_session_and_the_journal_says_who() {
    let change = || say("").calls([call("Change", json!({}))]);
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let runtime = TestRuntimeBuilder::new([change(), say("done"), change(), say("done")])
        .tools(tools)
        .asking(PermissionMode::Ask)
        .build();
    let session = opened(&runtime, "mine").await;
    let set = |mode| Command::SetMode {
        session: session.clone(),
        mode,
    };
    let widen = set(Some(PermissionMode::AcceptEdits));
    let reply = runtime.handle.send(&alice(), widen).await.unwrap();
    assert_eq!(reply, CommandReply::Done);
    runtime.wait_for_event(&session, "permission.mode").await;
    assert_eq!(
        sender(&runtime, &session, "permission.mode").await,
        Some(alice())
    );
    runtime.post_to(&session, "go").await;
    runtime.wait_for_run(&session).await;
    let told = runtime.transcript(&session).await;
    assert!(!told.contains("asks"), "{told}");
    runtime.handle.send(&alice(), set(None)).await.unwrap();
    runtime.post_to(&session, "again").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
}

/// A lead that delegates to a helper, which first waits and then changes something, in a process of mode `ask`.
fn delegating(is_background: bool) -> (TestRuntime, rooftree_testkit::ProbeGate) {
    let (wait, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let tools = Toolset::new([wait, ProbeTool::open("Change", Effect::LocalMutation)]);
    let task =
        json!({"subagent_type": "helper", "prompt": "go", "run_in_background": is_background});
    let runtime = TestRuntimeBuilder::new([
        say("").agent("lead").calls([call("Task", task)]),
        say("").agent("lead").calls([call("Change", json!({}))]),
        say("done").agent("lead").times(5),
        say("").agent("helper").calls([call("Wait", json!({}))]),
        say("").agent("helper").calls([call("Change", json!({}))]),
        say("changed").agent("helper"),
    ])
    .with_delegation(tools)
    .agent(AgentDefinition {
        description: "The helper.".into(),
        ..AgentDefinition::new("helper")
    })
    .asking(PermissionMode::Ask)
    .build();
    (runtime, gate)
}

async fn widen(runtime: &TestRuntime, session: &SessionId) {
    let command = Command::SetMode {
        session: session.clone(),
        mode: Some(PermissionMode::Bypass),
    };
    runtime.handle.send(&alice(), command).await.unwrap();
    runtime.wait_for_event(session, "permission.mode").await;
}

/// Waits until the helper has begun to wait, lets it go on, and sees that it asks.
async fn helper_asks(runtime: &TestRuntime, lead: &SessionId, gate: &rooftree_testkit::ProbeGate) {
    gate.open(1);
    let child = loop {
        match runtime.children(lead).await.pop() {
            Some(child) => break child.id,
            None => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
        }
    };
    let asked = runtime.wait_for_event(&child, "permission.requested").await;
    let EventBody::PermissionRequested { tool, .. } = &asked.body else {
        panic!("{asked:?}");
    };
    assert_eq!(tool, "Change");
}

#[tokio::test]
async fn a_wider_mode_of_a_persons_session_does_not_reach_agents_it_delegates_to_later() {
    let (runtime, gate) = delegating(false);
    let session = opened(&runtime, "mine").await;
    widen(&runtime, &session).await;
    runtime.post_to(&session, "go").await;
    helper_asks(&runtime, &session, &gate).await;
}

#[tokio::test]
async fn a_wider_mode_of_a_persons_session_does_not_reach_a_background_agent_at_work() {
    let (runtime, gate) = delegating(true);
    let session = opened(&runtime, "mine").await;
    runtime.post_to(&session, "go").await;
    while gate.started() < 1 {
        tokio::task::yield_now().await;
    }
    widen(&runtime, &session).await;
    helper_asks(&runtime, &session, &gate).await;
}

#[tokio::test]
async fn every_change_of_rows_has_an_entry_in_the_audit_log_also_without_agents() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let handle = elsewhere(&runtime);
    let alice = alice();
    let send = |command| handle.send(&alice, command);
    let id = || session.clone();
    let fork = Command::Fork {
        session: id(),
        at: None,
        name: None,
        agent: None,
        message: None,
    };
    let rename = Command::Rename {
        session: id(),
        name: Some("kept".into()),
    };
    let model = Command::SetModel {
        session: id(),
        model: "scripted/other".parse().ok(),
    };
    let rule = Command::AddRule {
        kind: RuleKind::Deny,
        rule: "Bash".into(),
        scope: RuleScope::Always,
    };
    send(rename).await.unwrap();
    send(model).await.unwrap();
    send(fork).await.unwrap();
    let CommandReply::Rule { number } = send(rule.clone()).await.unwrap() else {
        panic!("a rule has a number");
    };
    send(rule).await.unwrap();
    send(Command::RemoveRule { number }).await.unwrap();
    send(Command::RemoveRule { number }).await.unwrap();
    let exported = ExportedSession {
        session: handle
            .queries(&owner())
            .session(&session)
            .await
            .unwrap()
            .unwrap(),
        events: runtime.events(&session).await,
        blobs: Vec::new(),
    };
    let import = Command::Import {
        archive: Box::new(exported),
        cwd: runtime.path().into(),
        name: None,
    };
    let CommandReply::Session(imported) = send(import).await.unwrap() else {
        panic!("a session was imported");
    };
    send(Command::Delete { session: id() }).await.unwrap();
    send(Command::Restore { session: id() }).await.unwrap();
    let wanted = [
        "session.rename",
        "session.model",
        "session.fork",
        "rule.add",
        "rule.remove",
        "session.import",
        "session.delete",
        "session.restore",
    ];
    assert_eq!(
        actions(&handle).await,
        wanted,
        "what changed nothing has no entry"
    );
    for row in audit(&handle, &owner()).await {
        assert_eq!(row.entry.who, alice, "{row:?}");
        assert_eq!(row.entry.phase, AuditPhase::Done, "{row:?}");
    }
    let told = runtime.events(&imported.id).await;
    assert!(
        told.iter().all(|event| event.who.is_none()),
        "a file names nobody of this installation"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_change_that_is_refused_leaves_no_entry() {
    let runtime = TestRuntimeBuilder::new([]).build();
    opened(&runtime, "taken").await;
    let session = opened(&runtime, "free").await;
    let before = actions(&runtime.handle).await;
    let rename = Command::Rename {
        session,
        name: Some("Taken".into()),
    };
    assert!(runtime.handle.send(&owner(), rename).await.is_err());
    assert_eq!(actions(&runtime.handle).await, before);
}

#[tokio::test]
async fn what_a_command_leads_to_in_the_journal_names_its_sender() {
    let alice = || Principal {
        person: "alice".into(),
        ..alice()
    };
    let (held, _keeper) = ProbeTool::gated("Held", Effect::ReadOnly);
    let plan = TestRuntimeBuilder::new([
        say("").calls([call("Change", json!({}))]),
        say("").calls([call("Held", json!({}))]),
    ])
    .tools(Toolset::new([
        held,
        ProbeTool::open("Change", Effect::LocalMutation),
    ]));
    let runtime = plan.asking(PermissionMode::Ask).build();
    let post = Command::Post {
        to: Address::Create(NewSession {
            agent: "lead".into(),
            cwd: runtime.path().into(),
            name: None,
            model: None,
        }),
        parts: vec![Part::text("go")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let CommandReply::Accepted { session, .. } = runtime.handle.send(&alice(), post).await.unwrap()
    else {
        panic!("the message is accepted");
    };
    let asked = runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!("a permission is asked for");
    };
    let permit = Command::Permit {
        session: session.clone(),
        permission: id.clone(),
        answer: Answer::allow(PermissionScope::Once),
    };
    runtime.handle.send(&alice(), permit).await.unwrap();
    runtime
        .wait_for_event(&session, "permission.resolved")
        .await;
    while !runtime.transcript(&session).await.contains("Held") {
        tokio::task::yield_now().await;
    }
    let cancel = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    runtime.handle.send(&alice(), cancel).await.unwrap();
    runtime.wait_for_run(&session).await;
    let clear = Command::Clear {
        session: session.clone(),
        unless_busy: false,
    };
    runtime.handle.send(&alice(), clear).await.unwrap();
    runtime.wait_for_event(&session, "session.cleared").await;
    for name in [
        "message.user",
        "permission.resolved",
        "run.completed",
        "session.cleared",
    ] {
        assert_eq!(
            sender(&runtime, &session, name).await,
            Some(alice()),
            "{name}"
        );
    }
    assert_eq!(sender(&runtime, &session, "run.started").await, None);
    let session = runtime.store().session(&session).await.unwrap().unwrap();
    assert_eq!(session.account.person, "alice");
    runtime.verify().await;
}

#[tokio::test]
async fn a_command_left_for_another_process_keeps_its_sender() {
    let (runtime, session) = held().await;
    let cancel = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    let reply = elsewhere(&runtime).send(&alice(), cancel).await.unwrap();
    assert_eq!(reply, CommandReply::Forwarded);
    runtime.wait_for_run(&session).await;
    let who = sender(&runtime, &session, "run.completed").await;
    assert_eq!(who, Some(alice()));
}

#[tokio::test]
async fn clearing_without_agents_names_its_sender_too() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let clear = || Command::Clear {
        session: session.clone(),
        unless_busy: false,
    };
    let handle = elsewhere(&runtime);
    while handle.send(&alice(), clear()).await.unwrap() != CommandReply::Done {
        tokio::task::yield_now().await;
    }
    let who = sender(&runtime, &session, "session.cleared").await;
    assert_eq!(who, Some(alice()));
    runtime.verify().await;
}

#[tokio::test]
async fn another_tenant_finds_nothing_and_changes_nothing() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let queries = runtime.handle.queries(&stranger());
    assert_eq!(queries.session(&session).await.unwrap(), None);
    assert!(
        queries
            .sessions(SessionFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(queries.runs(Default::default()).await.unwrap().is_empty());
    assert!(
        queries
            .tasks(TaskFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(queries.search("hi", 9).await.unwrap().is_empty());
    assert!(queries.events(&session, 0, 9).await.is_err());
    assert!(queries.owner(&session).await.is_err());
    let id = || session.clone();
    let to = Address::Id { id: id() };
    let commands = [
        Command::Post {
            to,
            parts: vec![Part::text("hello")],
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
            context: None,
        },
        Command::Rename {
            session: id(),
            name: None,
        },
        Command::SetModel {
            session: id(),
            model: None,
        },
        Command::SetMode {
            session: id(),
            mode: None,
        },
        Command::Delete { session: id() },
        Command::Restore { session: id() },
        Command::Clear {
            session: id(),
            unless_busy: false,
        },
        Command::Compact {
            session: id(),
            focus: None,
        },
        Command::Prompt {
            to: Address::Id { id: id() },
            parts: vec![Part::text("hello")],
            restriction: rooftree_protocol::SkillNote {
                name: "/x".into(),
                allow: None,
                deny: Vec::new(),
            },
        },
        Command::Resume { session: id() },
        Command::HandBack {
            session: id(),
            summary: Default::default(),
        },
        Command::Pin {
            session: id(),
            pinned: true,
        },
        Command::SetAttributes {
            session: id(),
            attributes: Default::default(),
        },
        Command::Cancel {
            session: id(),
            run: None,
        },
        Command::Fork {
            session: id(),
            at: None,
            name: None,
            agent: None,
            message: None,
        },
    ];
    let before: Vec<Event> = runtime.events(&session).await;
    for command in commands {
        let words = format!("{command:?}");
        for handle in [&runtime.handle, &elsewhere(&runtime)] {
            let refused = handle.send(&stranger(), command.clone()).await;
            let problem = refused.expect_err(&words).problem();
            assert_eq!(
                problem.code,
                rooftree_protocol::ErrorCode::SessionNotFound,
                "{words}"
            );
        }
    }
    assert_eq!(runtime.events(&session).await, before);
    assert!(audit(&runtime.handle, &stranger()).await.is_empty());
}

#[tokio::test]
async fn pages_of_sessions_follow_each_other_without_gap_or_repetition() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let mut all = Vec::new();
    for number in 0..7 {
        all.push(opened(&runtime, &format!("s{number}")).await);
    }
    let queries = runtime.handle.queries(&owner());
    let mut filter = SessionFilter {
        limit: 3,
        ..SessionFilter::default()
    };
    let (mut seen, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let page = queries.sessions_page(filter.clone()).await.unwrap();
        sizes.push(page.rows.len());
        seen.extend(page.rows.into_iter().map(|session| session.id));
        let Some(next) = page.next else { break };
        filter.after = Some(next);
        // One that was listed already is changed meanwhile: it is not listed again.
        runtime.clock.advance(std::time::Duration::from_secs(1));
        let rename = Command::Rename {
            session: seen[0].clone(),
            name: Some(format!("renamed {}", seen.len())),
        };
        runtime.command(rename).await;
    }
    seen.sort();
    all.sort();
    assert_eq!((seen, sizes), (all, vec![3, 3, 1]));
}

#[tokio::test]
async fn a_change_of_files_has_an_intent_and_an_end() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let handle = elsewhere(&runtime);
    let change = |subject: &str| AuditedFileChange {
        action: "trust.add",
        subject: subject.into(),
    };
    let before = async {
        let rows = audit(&handle, &owner()).await;
        assert_eq!(rows.len(), 1, "the intent is stored before the work begins");
        Ok(7)
    };
    let done = handle.change_files(&alice(), change("/a"), before).await;
    assert_eq!(done.unwrap(), 7);
    let failing = async {
        let code = rooftree_protocol::ErrorCode::InvalidConfig;
        Err::<(), _>(Problem::new(code, "cannot write"))
    };
    let failed = handle.change_files(&alice(), change("/b"), failing).await;
    assert!(failed.is_err());
    let rows = audit(&handle, &owner()).await;
    let phases: Vec<_> = rows.iter().map(|row| row.entry.phase).collect();
    let (first, third) = (rows[0].number, rows[2].number);
    assert_eq!(
        phases,
        [
            AuditPhase::Intent,
            AuditPhase::Completed(first),
            AuditPhase::Intent,
            AuditPhase::Failed(third)
        ]
    );
    assert_eq!(rows[3].entry.detail["problem"], "cannot write");
}

#[tokio::test]
async fn no_secret_gets_into_the_audit_log() {
    let runtime = TestRuntimeBuilder::new([]).build();
    let secret = &["sk-ant-", "api03-Zq8mT2vK9xR4", "wN7pL1cB6yH3jD5fG0sA"].concat();
    let store = SqliteStore::open(runtime.path().join("rooftree.db")).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let store = Arc::new(RedactingStore::new(store, Arc::default()));
    let handle = Handle::without_agents(store, runtime.clock.clone());
    let rule = Command::AddRule {
        kind: RuleKind::Allow,
        rule: format!("Bash(curl -H {secret})"),
        scope: RuleScope::Always,
    };
    handle.send(&owner(), rule).await.unwrap();
    let change = AuditedFileChange {
        action: "settings.set",
        subject: secret.clone(),
    };
    let work = async { Ok(()) };
    handle.change_files(&owner(), change, work).await.unwrap();
    let rows = audit(&handle, &owner()).await;
    assert_eq!(rows.len(), 3);
    assert!(!format!("{rows:?}").contains(secret), "{rows:?}");
}

/// A session whose run asks whether it may change something.
async fn asking() -> (TestRuntime, SessionId, rooftree_protocol::PermissionId) {
    let runtime = TestRuntimeBuilder::new([say("").calls([call("Change", json!({}))]), say("ok")])
        .tools(Toolset::new([ProbeTool::open(
            "Change",
            Effect::LocalMutation,
        )]))
        .asking(PermissionMode::Ask)
        .build();
    let session = runtime.post("go").await;
    let asked = runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!("a permission is asked for");
    };
    (runtime, session, id.clone())
}

#[tokio::test]
async fn another_tenant_neither_stops_nor_deletes_nor_answers_what_is_at_work() {
    let (runtime, session, permission) = asking().await;
    let permit = || Command::Permit {
        session: session.clone(),
        permission: permission.clone(),
        answer: Answer::allow(PermissionScope::Once),
    };
    let id = || session.clone();
    for command in [
        Command::Cancel {
            session: id(),
            run: None,
        },
        Command::Delete { session: id() },
        permit(),
    ] {
        let refused = runtime.handle.send(&stranger(), command.clone()).await;
        assert!(refused.is_err(), "{command:?}");
    }
    runtime.handle.send(&alice(), permit()).await.unwrap();
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.text, "ok", "it went on undisturbed");
    let by = sender(&runtime, &session, "permission.resolved").await;
    assert_eq!(by, Some(alice()));
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_begins_names_who_cancelled_it() {
    let (held, keeper) = ProbeTool::gated("Held", Effect::ReadOnly);
    let replies = [say("").calls([call("Held", json!({}))]), say("first")];
    let runtime = TestRuntimeBuilder::new(replies)
        .tools(Toolset::new([held]))
        .build();
    let session = runtime.post("go").await;
    while !runtime.transcript(&session).await.contains("Held") {
        tokio::task::yield_now().await;
    }
    let post = Command::Post {
        to: Address::Id {
            id: session.clone(),
        },
        parts: vec![Part::text("again")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let CommandReply::Accepted { message, .. } = runtime.command(post).await else {
        panic!("the message is queued");
    };
    let cancel = Command::Cancel {
        session: session.clone(),
        run: Some(rooftree_protocol::RunId::derived_from(message.as_str())),
    };
    runtime.handle.send(&alice(), cancel).await.unwrap();
    keeper.open(1);
    runtime.wait_for_nth_run(&session, 2).await;
    let events = runtime.events(&session).await;
    let ends = events
        .iter()
        .filter(|event| event.body.name() == "run.completed");
    let senders: Vec<_> = ends.map(|event| event.who.as_deref().cloned()).collect();
    assert_eq!(senders, [None, Some(alice())]);
}

#[tokio::test]
async fn a_clear_names_its_own_sender_also_if_another_stops_the_run() {
    let (runtime, session) = held().await;
    let cancel = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    let clear = Command::Clear {
        session: session.clone(),
        unless_busy: false,
    };
    let (cancelled, cleared) = (owner(), alice());
    let (first, second) = tokio::join!(
        runtime.handle.send(&cancelled, cancel),
        runtime.handle.send(&cleared, clear)
    );
    first.unwrap();
    second.unwrap();
    runtime.wait_for_event(&session, "session.cleared").await;
    let by = sender(&runtime, &session, "session.cleared").await;
    assert_eq!(by, Some(alice()));
    let by = sender(&runtime, &session, "run.completed").await;
    let either = [Some(owner()), Some(alice())];
    assert!(either.contains(&by), "one of them stopped it: {by:?}");
}

#[tokio::test]
async fn what_a_deleted_session_left_can_still_be_stopped() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let delete = Command::Delete {
        session: session.clone(),
    };
    runtime.command(delete).await;
    let stop = Command::StopProcess {
        session: session.clone(),
        process: rooftree_protocol::ProcessId::from_entropy(7),
    };
    let handle = elsewhere(&runtime);
    handle.send(&alice(), stop).await.unwrap();
    let last = actions(&handle).await.pop();
    assert_eq!(last.as_deref(), Some("process.stop"));
}

#[tokio::test]
async fn no_secret_gets_into_the_name_of_a_sender() {
    let secret = ["sk-ant-", "api03-Zq8mT2vK9xR4", "wN7pL1cB6yH3jD5fG0sA"].concat();
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let leaking = Principal {
        on_behalf_of: Some(secret.clone()),
        ..alice()
    };
    let send = |command| runtime.handle.send(&leaking, command);
    let rename = Command::Rename {
        session: session.clone(),
        name: Some("named".into()),
    };
    let rule = Command::AddRule {
        kind: RuleKind::Deny,
        rule: "Bash".into(),
        scope: RuleScope::Always,
    };
    let clear = Command::Clear {
        session: session.clone(),
        unless_busy: false,
    };
    let post = Command::Post {
        to: Address::Id {
            id: session.clone(),
        },
        parts: vec![Part::text("again")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Silent,
        context: None,
    };
    for command in [rename, rule, post, clear] {
        send(command).await.unwrap();
    }
    runtime.wait_for_event(&session, "session.cleared").await;
    let told = format!(
        "{:?} {:?} {:?}",
        audit(&runtime.handle, &owner()).await,
        runtime.events(&session).await,
        runtime.handle.queries(&owner()).rules().await.unwrap()
    );
    assert!(told.contains("tok_1") && !told.contains(&secret), "{told}");
}
