//! Tokens and links: who makes them, what they may do, when they end, and that none is stored as text.

use std::{fs, time::Duration};

use rooftree_protocol::{AccessScope::*, AuthorizedCaller, ErrorCode, Timestamp};
use rooftree_runtime::{Clock, Error, NewAccessLink, NewAccessToken, RequestKey};
use rooftree_store::{IdempotencyOutcome, StoredAnswer};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};

use super::{admin, bound, person, scopes};

fn runtime() -> TestRuntime {
    TestRuntimeBuilder::new([]).build()
}

fn token(name: &str, wanted: &[rooftree_protocol::AccessScope]) -> NewAccessToken {
    NewAccessToken {
        name: name.into(),
        person: None,
        scopes: scopes(wanted),
        agents: None,
        expires_at: None,
    }
}

fn code<T>(refused: Result<T, Error>) -> ErrorCode {
    match refused {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.problem().code,
    }
}

#[tokio::test]
async fn b18_a_token_stands_for_its_person_until_it_is_revoked_or_expires() {
    let runtime = runtime();
    let handle = &runtime.handle;
    let until = runtime.clock.now().after(Duration::from_secs(60));
    let new = NewAccessToken {
        agents: Some(vec!["helper".into()]),
        expires_at: Some(until),
        ..token("ci", &[Chat])
    };
    let made = handle.create_token(&admin(), new).await.unwrap();
    assert!(made.secret.starts_with("rt_") && made.secret.len() == 67);
    let caller = handle.authenticate(&made.secret).await.unwrap().unwrap();
    assert!(caller.principal.is_owner() && !caller.principal.is_unbound_owner());
    assert_eq!(caller.scopes, scopes(&[Chat]));
    for wrong in ["", "rt_", &made.secret[..66], &made.row.id] {
        assert_eq!(handle.authenticate(wrong).await.unwrap(), None, "{wrong}");
    }
    runtime.clock.advance(Duration::from_secs(60));
    assert_eq!(handle.authenticate(&made.secret).await.unwrap(), None);
    let made = handle
        .create_token(&admin(), token("other", &[Read]))
        .await
        .unwrap();
    assert!(handle.authenticate(&made.secret).await.unwrap().is_some());
    let owner = admin().principal;
    handle.revoke_token(&owner, "other").await.unwrap();
    assert_eq!(handle.authenticate(&made.secret).await.unwrap(), None);
    assert_eq!(
        code(handle.revoke_token(&owner, &made.row.id).await),
        ErrorCode::InvalidArguments
    );
    assert_eq!(
        code(handle.revoke_token(&owner, "nothing").await),
        ErrorCode::TaskNotFound
    );
}

#[tokio::test]
async fn b18_no_token_gives_more_than_its_maker_has() {
    let runtime = runtime();
    let handle = &runtime.handle;
    handle.invite_person(&admin(), "Ann").await.unwrap();
    let with = |wanted, principal| AuthorizedCaller {
        principal,
        scopes: scopes(wanted),
    };
    let denied = [
        with(&[Chat, Approve], admin().principal),
        with(&[Admin], bound(&["helper"])),
        with(&[Admin], person("ann")),
    ];
    for maker in denied {
        let made = handle.create_token(&maker, token("x", &[Read])).await;
        assert_eq!(code(made), ErrorCode::ToolDenied, "{maker:?}");
        assert_eq!(
            code(handle.invite_person(&maker, "Bob").await),
            ErrorCode::ToolDenied
        );
        assert_eq!(
            code(handle.disable_person(&maker, "ann").await),
            ErrorCode::ToolDenied
        );
        let link = handle.create_link(&maker, NewAccessLink::default()).await;
        assert_eq!(code(link), ErrorCode::ToolDenied);
    }
    let of = |person: &str, wanted| NewAccessToken {
        person: Some(person.into()),
        ..token("x", wanted)
    };
    for (new, why) in [
        (of("ann", &[Admin]), "an invited person"),
        (of("ann", &[Metrics]), "an invited person"),
        (of("nobody", &[Read]), "no such person"),
        (token("", &[Read]), "no name"),
        (token("a\nb", &[Read]), "two lines"),
        (token("x", &[]), "no scope"),
    ] {
        assert!(handle.create_token(&admin(), new).await.is_err(), "{why}");
    }
    // A token that a token makes ends with it.
    let until = runtime.clock.now().after(Duration::from_secs(60));
    let short = NewAccessToken {
        expires_at: Some(until),
        ..token("short", &[Admin])
    };
    let short = handle.create_token(&admin(), short).await.unwrap();
    let maker = handle.authenticate(&short.secret).await.unwrap().unwrap();
    let made = handle
        .create_token(&maker, token("below", &[Read]))
        .await
        .unwrap();
    assert_eq!(made.row.expires_at, Some(until));
    let later = NewAccessToken {
        expires_at: Some(Timestamp(until.0 + 1)),
        ..token("later", &[Read])
    };
    assert_eq!(
        code(handle.create_token(&maker, later).await),
        ErrorCode::InvalidArguments
    );
}

#[tokio::test]
async fn a_link_logs_one_browser_in_and_a_disabled_person_is_out_at_once() {
    let runtime = runtime();
    let handle = &runtime.handle;
    let invited = handle.invite_person(&admin(), "Ann").await.unwrap();
    let secret = invited.link.secret;
    assert!(
        handle
            .exchange_link("rl_other", "laptop")
            .await
            .unwrap()
            .is_none()
    );
    let (one, two) = tokio::join!(
        handle.exchange_link(&secret, "laptop"),
        handle.exchange_link(&secret, "phone")
    );
    let devices: Vec<_> = [one.unwrap(), two.unwrap()].into_iter().flatten().collect();
    assert_eq!(
        devices.len(),
        1,
        "of two that use it at once, one is let in"
    );
    let device = &devices[0].secret;
    assert!(
        handle
            .exchange_link(&secret, "again")
            .await
            .unwrap()
            .is_none()
    );
    let ann = handle.authenticate(device).await.unwrap().unwrap();
    assert_eq!(ann.principal.person, "ann");
    assert!(ann.scopes.allow(Approve) && !ann.scopes.allow(Admin) && !ann.scopes.allow(Metrics));
    let own = handle.tokens(&ann.principal).await.unwrap();
    assert_eq!(own.len(), 1, "she sees her devices");
    let late = handle
        .create_link(&admin(), NewAccessLink::default())
        .await
        .unwrap();
    runtime.clock.advance(Duration::from_secs(3600));
    assert!(
        handle
            .exchange_link(&late.secret, "late")
            .await
            .unwrap()
            .is_none()
    );
    let again = NewAccessLink {
        person: Some("ann".into()),
    };
    let link = handle.create_link(&admin(), again).await.unwrap();
    handle.disable_person(&admin(), "ann").await.unwrap();
    assert_eq!(handle.authenticate(device).await.unwrap(), None);
    assert!(
        handle
            .exchange_link(&link.secret, "phone")
            .await
            .unwrap()
            .is_none()
    );
    assert!(handle.disable_person(&admin(), "owner").await.is_err());
}

#[tokio::test]
async fn no_secret_is_stored_or_told() {
    let runtime = runtime();
    let handle = &runtime.handle;
    let made = handle
        .create_token(&admin(), token("ci", &[Chat]))
        .await
        .unwrap();
    let invited = handle.invite_person(&admin(), "Ann").await.unwrap();
    let link = handle
        .create_link(&admin(), NewAccessLink::default())
        .await
        .unwrap();
    let device = handle
        .exchange_link(&link.secret, "laptop")
        .await
        .unwrap()
        .unwrap();
    let secrets = [made.secret, invited.link.secret, link.secret, device.secret];
    let told = format!(
        "{:?} {:?}",
        handle.tokens(&admin().principal).await.unwrap(),
        handle
            .queries(&admin().principal)
            .audit(0, 100)
            .await
            .unwrap()
    );
    assert!(told.contains("link.exchange") && told.contains("token.create"));
    let mut stored = 0;
    for entry in fs::read_dir(runtime.path()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = fs::read(&path) else { continue };
        stored += usize::from(contains(&bytes, device.row.id.as_bytes()));
        for secret in &secrets {
            // The digits alone, too: a prefix may be cut off.
            assert!(
                !contains(&bytes, &secret.as_bytes()[3..]),
                "{}",
                path.display()
            );
            assert!(!told.contains(&secret[3..]));
        }
    }
    assert!(stored > 0, "the files of the database were looked at");
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted)
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_a_principal_and_one_request() {
    let runtime = runtime();
    let handle = &runtime.handle;
    let request = |body: &'static str| RequestKey {
        key: "k",
        method: "POST",
        path: "/api/v1/sessions",
        body: body.as_bytes(),
    };
    let owner = admin().principal;
    let (taken, outcome) = handle.begin_request(&owner, request("a")).await.unwrap();
    assert_eq!(outcome, IdempotencyOutcome::New);
    let answer = StoredAnswer {
        status: 201,
        body: "{}".into(),
    };
    handle
        .end_request(taken, Some(answer.clone()))
        .await
        .unwrap();
    let again = handle.begin_request(&owner, request("a")).await.unwrap().1;
    assert_eq!(again, IdempotencyOutcome::Answered(answer));
    let other = handle.begin_request(&owner, request("b")).await.unwrap().1;
    assert_eq!(other, IdempotencyOutcome::Other);
    let elsewhere = handle
        .begin_request(&person("ann"), request("b"))
        .await
        .unwrap()
        .1;
    assert_eq!(elsewhere, IdempotencyOutcome::New);
    // An answer with a token in it is kept without the token.
    let made = handle
        .create_token(&admin(), token("ci", &[Chat]))
        .await
        .unwrap();
    let keyed = RequestKey {
        key: "token",
        ..request("a")
    };
    let taken = handle.begin_request(&owner, keyed).await.unwrap().0;
    let answer = StoredAnswer {
        status: 201,
        body: format!("{{\"secret\": \"{}\"}}", made.secret),
    };
    handle.end_request(taken, Some(answer)).await.unwrap();
    let kept = handle.begin_request(&owner, keyed).await.unwrap().1;
    let kept = format!("{kept:?}");
    assert!(
        kept.contains("Answered") && !kept.contains(&made.secret[3..]),
        "{kept}"
    );
    let empty = RequestKey {
        key: " ",
        ..request("a")
    };
    assert!(handle.begin_request(&owner, empty).await.is_err());
}
