//! Services of a runtime: started in one order, stopped in the reverse order.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use rooftree_runtime::Service;
use rooftree_testkit::TestRuntimeBuilder;

type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, what: &str, name: &str) {
    log.lock().unwrap().push(format!("{what} {name}"));
}

/// A service that notes when it is started and stopped. Stopping takes some turns of the executor.
fn noted(name: &'static str, log: &Log) -> Service {
    let log = log.clone();
    Service::new(name, move |_| {
        note(&log, "start", name);
        Box::new(move || {
            async move {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                note(&log, "stop", name);
            }
            .boxed()
        })
    })
}

#[tokio::test]
async fn services_are_stopped_in_the_reverse_order_of_their_start() {
    let log = Log::default();
    let mut plan = TestRuntimeBuilder::new([]);
    plan.services = vec![
        noted("first", &log),
        noted("second", &log),
        noted("third", &log),
    ];
    let runtime = plan.build();
    assert_eq!(
        *log.lock().unwrap(),
        ["start first", "start second", "start third"]
    );
    runtime.close().await;
    assert_eq!(
        log.lock().unwrap()[3..],
        ["stop third", "stop second", "stop first"]
    );
}

#[tokio::test]
async fn agents_start_last_and_so_stop_before_everything_they_use() {
    let mut plan = TestRuntimeBuilder::new([]);
    plan.services = vec![noted("given", &Log::default())];
    let runtime = plan.build();
    assert_eq!(
        runtime.services(),
        [
            "given",
            "session hooks",
            "call socket",
            "mcp servers",
            "process tasks",
            "background processes",
            "session actions",
            "agents",
        ]
    );
    runtime.close().await;
}
