//! Keeps the edges between crates: who may depend on whom, and which outside crates stay in one place.

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::{finding::Finding, repository::Repository};

/// The same table stands in ARCHITECTURE.md with the reasons.
const EDGES: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("stdx", &[]),
    ("process", &[]),
    ("shell", &[]),
    ("markdown", &[]),
    ("schedule", &[]),
    ("connectors", &["markdown"]),
    ("search", &["stdx"]),
    ("secrets", &["protocol", "stdx", "process"]),
    ("workspace", &["protocol", "stdx", "process"]),
    ("providers", &["protocol", "stdx", "process"]),
    ("tools", &["protocol", "stdx", "process", "shell", "search"]),
    ("store", &["protocol", "stdx", "view"]),
    (
        "runtime",
        &[
            "protocol",
            "stdx",
            "process",
            "shell",
            "secrets",
            "workspace",
            "providers",
            "tools",
            "store",
            "view",
            "schedule",
        ],
    ),
    ("view", &["protocol"]),
    ("stream", &["protocol", "view", "store", "runtime"]),
    (
        "client",
        // Only its tests use the server.
        &["protocol", "view", "store", "runtime", "stream", "server"],
    ),
    (
        "server",
        &[
            "protocol",
            "stdx",
            "markdown",
            "view",
            "store",
            "runtime",
            "stream",
            "connectors",
            "schedule",
        ],
    ),
    ("macros", &[]),
    (
        "rooftree",
        &[
            "macros",
            "protocol",
            "stdx",
            "process",
            "providers",
            "tools",
            "store",
            "view",
            "runtime",
            "client",
        ],
    ),
    (
        "cli",
        &[
            "protocol",
            "stdx",
            "process",
            "providers",
            "tools",
            "store",
            "view",
            "runtime",
            "server",
            "client",
            "markdown",
            "connectors",
            "schedule",
            // Only its tests use the library, with a server in another process.
            "rooftree",
        ],
    ),
    (
        "testkit",
        &[
            "protocol",
            "process",
            "providers",
            "tools",
            "store",
            "runtime",
        ],
    ),
    (
        "bench",
        &["protocol", "providers", "tools", "store", "runtime"],
    ),
];

/// Crates of others that would carry knowledge to where it does not belong.
const CONFINED: &[(&str, &[&str], &str)] = &[
    ("rusqlite", &["store", "bench"], "only `store` knows SQL"),
    ("rusqlite_migration", &["store"], "only `store` knows SQL"),
    ("rmcp", &["tools"], "only `tools` knows servers of tools"),
    ("clap", &["cli"], "only `cli` knows the command line"),
    ("rustyline", &["cli"], "only `cli` knows terminals"),
    ("qrcode", &["cli"], "only `cli` knows terminals"),
    (
        "pulldown-cmark",
        &["markdown"],
        "only `markdown` renders Markdown",
    ),
    (
        "anyhow",
        &["cli", "bench"],
        "below `cli`, each crate has its own typed `Error`",
    ),
    (
        "axum",
        &["server", "testkit", "bench"],
        "only `server` knows our URLs",
    ),
    (
        "tokio",
        &[
            "connectors",
            "process",
            "search",
            "workspace",
            "providers",
            "tools",
            "store",
            "runtime",
            "stream",
            "client",
            "server",
            "rooftree",
            "cli",
            "testkit",
            "bench",
        ],
        "`protocol` is plain data",
    ),
];

/// Development may always lean on the testkit.
const TESTKIT: &str = "testkit";

/// Objects to every dependency the tables do not allow.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for name in repository.crates() {
        let place = format!("crates/{name}/Cargo.toml");
        let manifest: Table = repository
            .text(&place)?
            .parse()
            .with_context(|| format!("parse {place}"))?;
        match EDGES.iter().find(|(listed, _)| *listed == name) {
            Some((_, allowed)) => check_crate(name, allowed, &manifest, &mut findings),
            None => findings.push(Finding::new(
                place,
                format!("crate `{name}` has no place among the layers"),
                "a new crate is a decision: write it down in docs/decisions, then add a row to ARCHITECTURE.md \
                 and to EDGES in xtask/src/tidy/edges.rs",
            )),
        }
    }
    Ok(findings)
}

fn check_crate(name: &str, allowed: &[&str], manifest: &Table, findings: &mut Vec<Finding>) {
    let place = format!("crates/{name}/Cargo.toml");
    for Dependency {
        package,
        development,
    } in dependencies(manifest)
    {
        if let Some(ours) = package.strip_prefix("rooftree-") {
            if !(allowed.contains(&ours) || development && ours == TESTKIT) {
                findings.push(Finding::new(
                    &place,
                    not_allowed(name, ours, allowed),
                    edge_fix(ours),
                ));
            }
        } else if let Some((_, homes, why)) =
            CONFINED.iter().find(|(confined, ..)| *confined == package)
            && !development
            && !homes.contains(&name)
        {
            let wrong = format!("`{name}` depends on `{package}`, but {why}");
            findings.push(Finding::new(
                &place,
                wrong,
                format!("move what needs it into {}", homes.join(" or ")),
            ));
        }
    }
}

fn not_allowed(name: &str, ours: &str, allowed: &[&str]) -> String {
    let may = if allowed.is_empty() {
        "nothing of ours".to_owned()
    } else {
        allowed.join(", ")
    };
    format!("`{name}` depends on `{ours}`, but may only depend on {may}")
}

fn edge_fix(ours: &str) -> String {
    if ours == TESTKIT {
        "move it to [dev-dependencies]: the testkit is for tests".to_owned()
    } else {
        format!(
            "move the code that needs `{ours}` up, or pass what it needs in as plain data or a trait object"
        )
    }
}

struct Dependency {
    package: String,
    development: bool,
}

/// Every dependency of a manifest, those for one platform included.
fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let platforms = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values);
    let tables = std::iter::once(manifest).chain(platforms.filter_map(Value::as_table));
    let kinds = [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ];
    let mut found = Vec::new();
    for table in tables {
        for (kind, development) in kinds {
            for (key, value) in table
                .get(kind)
                .and_then(Value::as_table)
                .into_iter()
                .flatten()
            {
                let renamed = value.get("package").and_then(Value::as_str);
                found.push(Dependency {
                    package: renamed.unwrap_or(key).to_owned(),
                    development,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    fn findings(name: &str, manifest: &str) -> Vec<Finding> {
        check(
            &Planted::new()
                .with(&format!("crates/{name}/Cargo.toml"), manifest)
                .repository(),
        )
        .unwrap()
    }

    #[test]
    fn what_the_table_allows_passes() {
        let good = [
            (
                "tools",
                "[dependencies]\nrooftree-protocol.workspace = true\ntokio.workspace = true",
            ),
            (
                "store",
                "[dev-dependencies]\nrooftree-testkit.workspace = true\nanyhow = \"1\"",
            ),
            (
                "cli",
                "[dependencies]\nclap = \"4\"\nrooftree-runtime.workspace = true",
            ),
        ];
        for (name, manifest) in good {
            assert_eq!(findings(name, manifest), [], "{name}");
        }
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_found_however_it_is_written() {
        let bad = [
            ("tools", "[dependencies]\nrooftree-store.workspace = true"),
            (
                "protocol",
                "[dependencies]\nhidden = { package = \"rooftree-process\", path = \"../process\" }",
            ),
            (
                "store",
                "[target.'cfg(unix)'.dependencies]\nrooftree-runtime = { path = \"../runtime\" }",
            ),
            (
                "store",
                "[build-dependencies]\nrooftree-tools = { path = \"../tools\" }",
            ),
            (
                "providers",
                "[dev-dependencies]\nrooftree-store.workspace = true",
            ),
        ];
        for (name, manifest) in bad {
            let told = told(&findings(name, manifest));
            assert!(
                told.contains("may only depend on") && told.contains("fix:"),
                "{name}: {told}"
            );
        }
    }

    #[test]
    fn the_testkit_is_refused_outside_of_tests() {
        let told = told(&findings(
            "runtime",
            "[dependencies]\nrooftree-testkit.workspace = true",
        ));
        assert!(told.contains("move it to [dev-dependencies]"), "{told}");
    }

    #[test]
    fn an_outside_crate_stays_where_its_knowledge_belongs() {
        let told = told(&findings(
            "runtime",
            "[dependencies]\nrusqlite.workspace = true",
        ));
        assert!(
            told.contains("only `store` knows SQL")
                && told.contains("move what needs it into store"),
            "{told}"
        );
    }

    #[test]
    fn a_crate_nobody_decided_on_is_found() {
        assert!(told(&findings("plugins", "[dependencies]")).contains("a new crate is a decision"));
    }
}
