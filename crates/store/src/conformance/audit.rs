//! The audit log: an entry is written with the change it tells, or not at all, and stays as it is.

use rooftree_protocol::{Principal, RuleKind, RuleScope, Surface, Timestamp};

use super::{fixture::*, list, records::task};
use crate::{
    AuditEntry, AuditPhase, NewSessionRow, RuleRow, SessionFilter, SessionPatch, TaskFilter,
};

list![
    an_entry_is_written_with_the_change_it_tells_or_not_at_all,
    entries_are_read_in_order_by_tenant_and_from_any_number_on,
    lists_hold_only_what_belongs_to_the_tenant,
    pages_of_sessions_and_tasks_follow_each_other,
];

fn entry(tenant: &str, action: &str) -> AuditEntry {
    let who = Principal {
        tenant: tenant.into(),
        token: Some("tok_1".into()),
        on_behalf_of: Some("ann".into()),
        ..Principal::local_owner(Surface::Http)
    };
    AuditEntry::done(&who, Timestamp(7), action, "subject").with("number", 3)
}

fn audited(action: &str) -> Option<Box<AuditEntry>> {
    Some(Box::new(entry("default", action)))
}

async fn actions(store: &StoreUnderTest, tenant: &str) -> Vec<String> {
    let rows = store.audit(tenant, 0, 100).await.unwrap();
    rows.into_iter().map(|row| row.entry.action).collect()
}

async fn an_entry_is_written_with_the_change_it_tells_or_not_at_all(store: StoreUnderTest) {
    let new = |number: u128, name: &str| NewSessionRow {
        name: Some(name.into()),
        audit: audited("session.open"),
        ..new_session(number)
    };
    let first = store.open(new(1, "one")).await.unwrap().id;
    let refused = store.open(new(2, "One")).await;
    assert!(refused.is_err(), "the name is taken");
    let patch = |name: &str| SessionPatch {
        name: Some(Some(name.into())),
        audit: audited("session.rename"),
        ..SessionPatch::default()
    };
    store.update(&first, patch("two")).await.unwrap();
    assert!(store.update(&session_id(404), patch("x")).await.is_err());
    assert!(store.fork(&first, 99, new(3, "three")).await.is_err());
    let rule = || RuleRow {
        number: 0,
        kind: RuleKind::Deny,
        rule: "Bash".into(),
        scope: RuleScope::Always,
        by: "ann".into(),
        at: Timestamp(1),
    };
    let add = || Some(entry("default", "rule.add"));
    let number = store.put_rule(rule(), add()).await.unwrap();
    assert_eq!(store.put_rule(rule(), add()).await.unwrap(), number);
    let remove = || Some(entry("default", "rule.remove"));
    assert!(store.remove_rule(number, remove()).await.unwrap());
    assert!(!store.remove_rule(number, remove()).await.unwrap());
    let wanted = ["session.open", "session.rename", "rule.add", "rule.remove"];
    assert_eq!(actions(&store, "default").await, wanted);
}

async fn entries_are_read_in_order_by_tenant_and_from_any_number_on(store: StoreUnderTest) {
    let intent = entry("a", "trust.add").in_phase(AuditPhase::Intent);
    let number = store.add_audit(intent.clone()).await.unwrap();
    store.add_audit(entry("b", "other")).await.unwrap();
    let done = entry("a", "trust.add").in_phase(AuditPhase::Completed(number));
    let last = store.add_audit(done.clone()).await.unwrap();
    let rows = store.audit("a", 0, 100).await.unwrap();
    let entries: Vec<_> = rows.iter().map(|row| row.entry.clone()).collect();
    assert_eq!(entries, [intent, done], "as they were written");
    let later = store.audit("a", number, 100).await.unwrap();
    assert_eq!(later.len(), 1);
    assert_eq!(later.first().map(|row| row.number), Some(last));
    assert_eq!(store.audit("a", 0, 1).await.unwrap().len(), 1);
    assert!(store.audit("c", 0, 100).await.unwrap().is_empty());
}

async fn lists_hold_only_what_belongs_to_the_tenant(store: StoreUnderTest) {
    let mut other = new_session(2);
    other.account.tenant = "other".into();
    other.account.person = "ann".into();
    let mine = store.open(new_session(1)).await.unwrap();
    let other = store.open(other).await.unwrap();
    assert_eq!(other.account.person, "ann");
    let of = |tenant: &str| SessionFilter {
        tenant: Some(tenant.into()),
        ..SessionFilter::default()
    };
    assert_eq!(store.sessions(of("default")).await.unwrap(), [mine]);
    let found = store.sessions(of("other")).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&other));
    store
        .put_task(task("run_x", other.id.clone(), 1))
        .await
        .unwrap();
    for (tenant, count) in [("other", 1), ("default", 0)] {
        let filter = TaskFilter {
            tenant: Some(tenant.into()),
            ..TaskFilter::default()
        };
        assert_eq!(store.tasks(filter).await.unwrap().len(), count, "{tenant}");
    }
}

async fn pages_of_sessions_and_tasks_follow_each_other(store: StoreUnderTest) {
    let mut ids = Vec::new();
    for number in 1_u128..=5 {
        let id = store.open(new_session(number)).await.unwrap().id;
        let task = task(&format!("run_{number}"), id.clone(), 7);
        store.put_task(task).await.unwrap();
        ids.push(id);
    }
    let mut filter = SessionFilter {
        limit: 2,
        ..SessionFilter::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = store.sessions(filter.clone()).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.after = Some(last.into());
        seen.extend(page.into_iter().map(|session| session.id));
    }
    ids.reverse();
    assert_eq!(seen, ids, "the latest first, each once");
    let mut filter = TaskFilter {
        limit: 2,
        ..TaskFilter::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = store.tasks(filter.clone()).await.unwrap();
        let Some(last) = page.last() else { break };
        filter.after = Some(last.id.clone());
        seen.extend(page.into_iter().map(|task| task.id));
    }
    assert_eq!(seen, ["run_5", "run_4", "run_3", "run_2", "run_1"]);
}
