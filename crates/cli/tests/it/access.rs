//! `rooftree token` and `rooftree person`: who gets access, and that it can be taken away.

use crate::sessions::fixture::House;

#[test]
fn tokens_are_made_listed_and_revoked() {
    let house = House::new();
    assert_eq!(house.rooftree(&["token", "list"]).well(), "");
    let made = house.rooftree(&[
        "token",
        "create",
        "ci",
        "--scope",
        "chat,approve",
        "--agent",
        "lead",
        "--expires",
        "30d",
    ]);
    assert!(made.err.contains("not shown again"), "{made:?}");
    let secret = made.well();
    assert!(
        secret.starts_with("rt_") && secret.trim().len() == 67,
        "{secret}"
    );
    let rows = house.rooftree(&["token", "list", "-o", "json"]).json();
    assert_eq!(rows[0]["name"], "ci");
    assert_eq!(rows[0]["scopes"], serde_json::json!(["chat", "approve"]));
    assert_eq!(rows[0]["agents"], serde_json::json!(["lead"]));
    assert!(rows[0]["expires_at"].is_string() && rows[0].get("digest").is_none());
    let table = house.rooftree(&["token", "list"]).well();
    assert!(
        table.contains("chat,approve") && !table.contains(secret.trim()),
        "{table}"
    );
    let json = house
        .rooftree(&["token", "create", "x", "--scope", "read", "-o", "json"])
        .json();
    assert!(json["secret"].as_str().unwrap().starts_with("rt_"));
    assert_eq!(
        house
            .rooftree(&["token", "revoke", "ci"])
            .well()
            .split(' ')
            .next(),
        Some("revoked")
    );
    let again = house.rooftree(&["token", "revoke", "ci"]);
    assert!(
        again.code != 0 && again.err.contains("token list"),
        "{again:?}"
    );
    let all = house.rooftree(&["token", "list", "--all"]).well();
    assert!(all.contains("revoked"), "{all}");
    let audit = house.rooftree(&["audit"]).well();
    assert!(
        audit.contains("token.create") && audit.contains("token.revoke"),
        "{audit}"
    );
}

#[test]
fn bad_requests_say_what_to_do() {
    let house = House::new();
    let wrong = house
        .rooftree(&["token", "create", "x", "--scope", "everything"])
        .ended(2);
    assert!(wrong.contains("read") || wrong.contains("scope"), "{wrong}");
    house.rooftree(&["token", "create", "x"]).ended(2);
    house.rooftree(&["person", "invite", "Ann"]).well();
    let admin = [
        "token", "create", "x", "--scope", "admin", "--person", "ann",
    ];
    let told = house.rooftree(&admin).ended(2);
    assert!(told.contains("invited person"), "{told}");
    let told = house.rooftree(&["person", "disable", "owner"]).ended(2);
    assert!(told.contains("owner"), "{told}");
    let told = house.rooftree(&["serve", "--token", "sesame"]).ended(2);
    assert!(
        told.contains("rooftree token create") && told.contains("ROOFTREE_SERVER_TOKEN"),
        "{told}"
    );
}

#[test]
fn persons_are_invited_by_a_link_and_disabled() {
    let house = House::new();
    let url = "https://agents.example.org";
    let link = house
        .rooftree(&["person", "invite", "Ann Lee", "--url", url])
        .well();
    assert!(
        link.starts_with("https://agents.example.org/#k=rl_"),
        "{link}"
    );
    let rows = house.rooftree(&["person", "list", "-o", "json"]).json();
    let ids: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].clone())
        .collect();
    assert_eq!(rows[0]["name"], "Ann Lee", "{ids:?}");
    assert_eq!(rows[1]["role"], "owner");
    assert!(
        house
            .rooftree(&["person", "link"])
            .well()
            .starts_with("http://127.0.0.1:7663/#k=rl_")
    );
    house
        .rooftree(&[
            "token", "create", "phone", "--scope", "chat", "--person", "ann-lee",
        ])
        .well();
    house.rooftree(&["person", "disable", "ann-lee"]).well();
    assert_eq!(
        house.rooftree(&["token", "list"]).well(),
        "",
        "hers has ended"
    );
    assert!(house.rooftree(&["person", "link", "ann-lee"]).code != 0);
}

#[test]
fn other_binds_need_a_public_url_and_somebody_who_may_come_in() {
    let house = House::new();
    let serve = ["serve", "--bind", "0.0.0.0", "--port", "0"];
    let told = house.rooftree(&serve).ended(3);
    assert!(told.contains("--public-url"), "{told}");
    let public = [&serve[..], &["--public-url", "https://agents.example.org"]].concat();
    let told = house.rooftree(&public).ended(3);
    assert!(told.contains("rooftree token create"), "{told}");
    let wrong = [&serve[..], &["--public-url", "agents.example.org"]].concat();
    let told = house.rooftree(&wrong).ended(2);
    assert!(told.contains("https URL"), "{told}");
}

#[test]
fn a_program_that_an_agent_started_makes_no_token() {
    let house = House::new();
    for arguments in [
        &["token", "create", "x", "--scope", "admin"][..],
        &["person", "invite", "Eve"],
        &["person", "link"],
    ] {
        let mut command = house.command(arguments);
        let output = command.env("ROOFTREE_SPAWN", "1.2.3").output().unwrap();
        assert_eq!(output.status.code(), Some(6), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("started by an agent"), "{told}");
    }
    assert_eq!(house.rooftree(&["token", "list", "--all"]).well(), "");
}

#[test]
fn an_address_that_no_browser_opens_invites_nobody() {
    let house = House::new();
    for url in ["agents.example.org", "https://", "ftp://x", "https://a b"] {
        let refused = house.rooftree(&["person", "invite", "Ann", "--url", url]);
        assert!(
            refused.code == 2 && refused.err.contains("https://agents.example.org"),
            "{refused:?}"
        );
    }
    let persons = house.rooftree(&["person", "list", "-o", "ids"]).well();
    assert!(!persons.contains("ann"), "{persons}");
    let wrong = house.rooftree(&["token", "create", "x", "--scope", "read", "--expires", "30"]);
    assert!(wrong.code == 2 && wrong.err.contains("10m"), "{wrong:?}");
}
