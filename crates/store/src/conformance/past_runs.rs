//! Past runs of an agent: what forecasts are made of.

use rooftree_protocol::{Account, EventBody, RunStatus, Usage, event::RunEnd};

use super::{fixture::*, list};
use crate::NewSessionRow;

list![past_runs_of_an_agent_are_the_last_ones_of_its_sessions_of_one_account];

async fn past_runs_of_an_agent_are_the_last_ones_of_its_sessions_of_one_account(
    store: StoreUnderTest,
) {
    let (mine, others) = (
        Account::default(),
        Account {
            person: "ann".into(),
            ..Account::default()
        },
    );
    let mut costs = 0..;
    for (number, agent, account, runs) in [
        (1, "scout", &mine, 3),
        (2, "scout", &mine, 2),
        (3, "scout", &others, 1),
        (4, "lead", &mine, 1),
    ] {
        let new = NewSessionRow {
            agent: agent.into(),
            account: account.clone(),
            ..new_session(number)
        };
        let session = store.open(new).await.unwrap().id;
        let claim = claim(&store, &session).await;
        for run in 0..runs {
            let id = run_id(number * 10 + run);
            let at = u64::try_from(run).unwrap() * 2;
            let cost = f64::from(costs.next().unwrap());
            let usage = Usage {
                cost_usd: cost,
                ..Usage::none()
            };
            let delegated = Usage {
                input: 7,
                ..Usage::none()
            };
            let end = RunEnd {
                usage,
                delegated,
                ..RunEnd::new(RunStatus::Completed)
            };
            let mut end = event(&session, at + 2, EventBody::RunCompleted(end));
            end.run = Some(id.clone());
            store
                .append(&claim, batch(vec![started(&session, at + 1, &id), end]))
                .await
                .unwrap();
        }
        store.release(claim).await.unwrap();
    }
    let past = async |account: &Account, agent: &str, limit| {
        let past = store.past_runs(account, agent, limit).await.unwrap();
        assert!(
            past.iter()
                .all(|used| used.input == 7 && used.cost_complete)
        );
        past.into_iter()
            .map(|used| used.cost_usd)
            .collect::<Vec<_>>()
    };
    assert_eq!(past(&mine, "scout", 20).await, [4.0, 3.0, 2.0, 1.0, 0.0]);
    assert_eq!(past(&mine, "scout", 2).await, [4.0, 3.0]);
    assert_eq!(past(&others, "scout", 20).await, [5.0]);
    assert_eq!(past(&mine, "nobody", 20).await, [] as [f64; 0]);
}
