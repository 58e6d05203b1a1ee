//! SemanticSearch: finds what is meant, and keeps up with the disk.

mod keeping_up;
mod meaning;
mod planted;

use serde_json::{Value, json};

use crate::desk::Desk;

/// Where the hits are, the best first: `path name`.
async fn hits(desk: &Desk, input: Value) -> Vec<String> {
    let text = desk.done("semantic_search", input).await;
    let heads = text.lines().filter(|line| line.contains(" (score "));
    heads
        .map(|line| {
            let mut words = line.split(' ');
            let path = words.next().unwrap().rsplit_once(':').unwrap().0;
            let name = words
                .nth(1)
                .filter(|word| !word.starts_with('('))
                .unwrap_or_default();
            format!("{path} {name}").trim_end().to_owned()
        })
        .collect()
}

async fn found(desk: &Desk, query: &str) -> Vec<String> {
    hits(desk, json!({"query": query})).await
}

#[tokio::test]
async fn plain_questions_find_the_function_that_is_meant() {
    let desk = planted::project();
    let table = [
        (
            "where are retries handled",
            "src/net/client.rs send_with_backoff",
        ),
        (
            "how do we verify a password",
            "src/auth/login.py check_credentials",
        ),
        (
            "delete an expired session",
            "src/auth/sessions.py purge_stale",
        ),
        (
            "limit how many requests a user may send",
            "src/net/throttle.go Allow",
        ),
        (
            "parse the configuration file",
            "src/settings/load.rs read_settings",
        ),
        (
            "calculate the total price of a shopping cart with tax",
            "web/cart.js grandTotal",
        ),
        ("compress old log files", "src/ops/rotate.rs gzip_rotated"),
        ("convert between currencies", "web/money.ts exchange"),
        (
            "send a mail when an order is shipped",
            "src/shop/notify.py on_shipped",
        ),
        ("HTTPServer shutdown", "src/net/server.rs HTTPServer"),
    ];
    for (query, expected) in table {
        let best = found(&desk, query).await;
        assert!(
            best.iter().take(3).any(|hit| hit == expected),
            "{query}: {best:#?}"
        );
    }
}

#[tokio::test]
async fn a_hit_says_where_it_is_what_it_is_and_shows_its_lines() {
    let desk = Desk::new();
    desk.put(
        "src/a.rs",
        "use x;\n\n/// Tries again after a while.\npub fn retry_later(n: u32) {\n    wait(n);\n}\n",
    );
    let text = desk
        .done("SemanticSearch", json!({"query": "retry later frobnicate"}))
        .await;
    let (head, rest) = text.split_once('\n').unwrap();
    assert!(
        head.starts_with("src/a.rs:3-6 function retry_later (score "),
        "{text}"
    );
    assert_eq!(
        rest,
        "  3: /// Tries again after a while.\n  4: pub fn retry_later(n: u32) {\n  5:     wait(n);\n  6: }\n[no file has `frobnicate`]"
    );
}

#[tokio::test]
async fn an_identifier_typed_as_it_is_written_comes_first() {
    let desk = Desk::new();
    desk.put(
        "a.ts",
        "// load user, load profile, load user profile data\nfunction other() {\n  load(user.profile)\n}\n",
    );
    desk.put(
        "b.ts",
        "export function loadUserProfile(id) {\n  return 1\n}\n",
    );
    desk.put("c.py", "def load_user_profile(id):\n    return 1\n");
    for query in ["loadUserProfile", "load_user_profile", "LoadUserProfile()"] {
        let best = found(&desk, query).await;
        assert!(
            best[0].starts_with("b.ts") || best[0].starts_with("c.py"),
            "{query}: {best:?}"
        );
        assert!(
            best[1].starts_with("b.ts") || best[1].starts_with("c.py"),
            "{query}: {best:?}"
        );
    }
}

#[tokio::test]
async fn a_search_can_be_narrowed_by_place_kind_and_number() {
    let desk = planted::project();
    let inside = hits(&desk, json!({"query": "send request", "path": "src/net"})).await;
    assert!(
        !inside.is_empty() && inside.iter().all(|hit| hit.starts_with("src/net/")),
        "{inside:?}"
    );
    let file = hits(
        &desk,
        json!({"query": "send request", "path": "src/net/client.rs"}),
    )
    .await;
    assert!(
        !file.is_empty() && file.iter().all(|hit| hit.starts_with("src/net/client.rs")),
        "{file:?}"
    );
    let headings = desk
        .done(
            "SemanticSearch",
            json!({"query": "retries", "kind": "heading"}),
        )
        .await;
    assert!(headings.starts_with("docs/operations.md:"), "{headings}");
    assert_eq!(
        hits(&desk, json!({"query": "request", "limit": 2}))
            .await
            .len(),
        2
    );
}

#[tokio::test]
async fn what_ignore_files_name_and_links_lead_to_is_not_found() {
    let desk = Desk::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.rs"), "fn needle_outside() {}\n").unwrap();
    desk.put(".gitignore", "target/\n*.secret.rs\n");
    desk.put(".git/needle.rs", "fn needle_git() {}\n");
    desk.put("target/needle.rs", "fn needle_built() {}\n");
    desk.put("a.secret.rs", "fn needle_secret() {}\n");
    desk.put("src/needle.rs", "fn needle_here() {}\n");
    std::os::unix::fs::symlink(outside.path(), desk.path("link")).unwrap();
    assert_eq!(found(&desk, "needle").await, ["src/needle.rs needle_here"]);
    assert_eq!(
        hits(&desk, json!({"query": "needle", "path": "target"})).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_path_outside_is_searched_by_itself() {
    let (desk, other) = (Desk::new(), Desk::new());
    other.put("x/needle.rs", "fn needle_there() {}\n");
    other.put("beside.rs", "fn needle_beside() {}\n");
    let expected = format!("{} needle_there", other.path("x/needle.rs").display());
    for path in ["x", "x/needle.rs"] {
        let best = hits(&desk, json!({"query": "needle", "path": other.path(path)})).await;
        assert_eq!(best, [expected.as_str()], "{path}");
    }
}

#[tokio::test]
async fn odd_files_do_not_disturb_a_search() {
    let desk = Desk::new();
    desk.put("latin.rs", b"// caf\xe9 needle\nfn needle_latin() {}\n");
    desk.put(
        "giant.js",
        format!("var needle = '{}'\n", "x needle ".repeat(100_000)),
    );
    desk.put("huge.txt", "needle ".repeat(400_000));
    desk.put("binary", b"needle\0needle\n");
    desk.put("empty.rs", "");
    desk.put("Cargo.lock", "needle\n");
    let best = found(&desk, "needle").await;
    assert_eq!(best[0], "latin.rs needle_latin");
    assert!(
        best.iter()
            .all(|hit| hit.starts_with("latin.rs") || hit.starts_with("giant.js")),
        "{best:?}"
    );
    let text = desk
        .done("SemanticSearch", json!({"query": "needle"}))
        .await;
    assert!(text.len() < 2000, "{} bytes", text.len());
}

#[tokio::test]
async fn nothing_found_and_nothing_there_are_said() {
    let desk = Desk::new();
    let nothing =
        "Nothing here is about `retries`. Other words may find it; Grep finds exact text.";
    assert_eq!(
        desk.done("SemanticSearch", json!({"query": "retries"}))
            .await,
        nothing
    );
    desk.put("a.rs", "fn other() {}\n");
    assert_eq!(
        desk.done("SemanticSearch", json!({"query": "retries"}))
            .await,
        nothing
    );
    assert!(
        desk.done("SemanticSearch", json!({"query": "what is it"}))
            .await
            .starts_with("Nothing here")
    );
    let missing = desk
        .failed("SemanticSearch", json!({"query": "a", "path": "none"}))
        .await;
    assert!(missing.contains("none does not exist"), "{missing}");
    desk.context.cancel.cancel();
    assert_eq!(
        desk.failed("SemanticSearch", json!({"query": "other"}))
            .await,
        "[cancelled]"
    );
}
