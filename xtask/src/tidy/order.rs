//! Keeps modules in order: none uses a module to its left, and none uses itself by a detour.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::modules::{Edge, Modules};
use crate::{finding::Finding, repository::Repository};

/// Crates whose modules have a declared order: a module uses only those to its right,
/// and those in one group do not use each other.
const ORDERS: &[(&str, &[&[&str]])] = &[(
    "runtime",
    &[
        &["assembly"],
        &["runtime"],
        &["services"],
        &["handle"],
        &["router"],
        &["delegation", "people_tools", "memory_tools", "skill_tools"],
        &["agent"],
        &["caller", "inbox", "tasks", "unfinished_sessions"],
        &["interrupted_runs", "rights"],
        &["runtime_context"],
        &["effective_rights"],
        &[
            "runtime_options",
            "cached_answers",
            "resolved_agent",
            "post_turn",
            "mcp_scope",
            "delegation_registry",
            "resting_sessions",
        ],
        &[
            "definitions",
            "call_socket",
            "memory",
            "signals",
            "board",
            "bus",
            "rate_limiter",
            "inquiries",
            "redacting_store",
            "saved_rules",
        ],
        &["exposure", "hooks"],
        &[
            "chat_activity",
            "checks",
            "clock",
            "error",
            "hand_back",
            "message_mark",
            "surroundings",
            "visibility",
        ],
    ],
)];

/// Objects to uses against the order and to cycles in any crate.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let sources = repository
        .crates()
        .map(|name| (name, format!("crates/{name}/src")));
    for (name, src) in sources.chain([("xtask", "xtask/src".to_owned())]) {
        let modules = Modules::read(repository, &src)?;
        let edges = modules.edges();
        if let Some((_, order)) = ORDERS.iter().find(|(ordered, _)| *ordered == name) {
            unknown(&modules, order, &mut findings);
            against_order(&edges, order, &mut findings);
        }
        cycles(&edges, &mut findings);
    }
    Ok(findings)
}

fn rank(order: &[&[&str]], module: &str) -> Option<usize> {
    order.iter().position(|group| group.contains(&module))
}

fn spelled(order: &[&[&str]]) -> String {
    order
        .iter()
        .map(|group| group.join(", "))
        .collect::<Vec<_>>()
        .join(" → ")
}

fn unknown(modules: &Modules, order: &[&[&str]], findings: &mut Vec<Finding>) {
    for (module, path) in modules
        .top_level()
        .filter(|(module, _)| rank(order, module).is_none())
    {
        let fix = "give it its place in ORDERS in xtask/src/tidy/order.rs and in ARCHITECTURE.md";
        findings.push(Finding::new(
            path,
            format!(
                "module `{module}` has no place in the order {}",
                spelled(order)
            ),
            fix,
        ));
    }
}

fn against_order(edges: &[Edge], order: &[&[&str]], findings: &mut Vec<Finding>) {
    for edge in edges.iter().filter(|edge| edge.parent.is_empty()) {
        if let (Some(from), Some(to)) = (rank(order, &edge.from), rank(order, &edge.to))
            && from >= to
        {
            findings.push(Finding::new(
                &edge.place,
                format!(
                    "`{}` uses `{}`, against the order {}",
                    edge.from,
                    edge.to,
                    spelled(order)
                ),
                "move what is needed to the right, or let the module on the left pass it in",
            ));
        }
    }
}

/// Reports one cycle per knot of modules.
fn cycles(edges: &[Edge], findings: &mut Vec<Finding>) {
    let mut levels: BTreeMap<&[String], Vec<&Edge>> = BTreeMap::new();
    for edge in edges {
        levels.entry(&edge.parent).or_default().push(edge);
    }
    for edges in levels.values() {
        let mut reported = BTreeSet::new();
        for edge in edges {
            if reported.contains(edge.from.as_str()) {
                continue;
            }
            if let Some(way_back) = way(edges, &edge.to, &edge.from) {
                reported.extend(way_back.iter().copied());
                let circle = [&[edge.from.as_str()], way_back.as_slice()]
                    .concat()
                    .join(" → ");
                findings.push(Finding::new(
                    &edge.place,
                    format!("modules use each other in a circle: {circle}"),
                    "move what both need into a module of its own, or pass it in as an argument",
                ));
            }
        }
    }
}

/// The shortest way from one module to another along the edges, both ends included.
fn way<'a>(edges: &[&'a Edge], from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let end = way.last().copied()?;
            if end == to {
                return Some(way);
            }
            for edge in edges.iter().filter(|edge| edge.from == end) {
                if seen.insert(&edge.to) {
                    longer.push([way.as_slice(), &[edge.to.as_str()]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    fn findings(name: &str, files: &[(&str, &str)]) -> Vec<Finding> {
        let empty = Planted::new().with(&format!("crates/{name}/Cargo.toml"), "");
        let plant = |planted: Planted, (path, text): &(&str, &str)| {
            planted.with(&format!("crates/{name}/src/{path}"), text)
        };
        check(&files.iter().fold(empty, plant).repository()).unwrap()
    }

    #[test]
    fn uses_to_the_right_pass() {
        let files = [
            ("handle.rs", "use crate::{router::Router, error::Error};"),
            ("router.rs", "use crate::{inbox::Inbox, agent};"),
            ("agent.rs", "use crate::bus;"),
            ("inbox.rs", ""),
            ("bus.rs", ""),
            ("error.rs", ""),
        ];
        assert_eq!(findings("runtime", &files), []);
    }

    #[test]
    fn a_use_to_the_left_or_within_a_group_is_found_with_its_line() {
        let left = findings(
            "runtime",
            &[
                ("bus.rs", "\nuse crate::handle::Handle;"),
                ("handle.rs", ""),
            ],
        );
        let told_left = told(&left);
        assert!(
            told_left.contains("crates/runtime/src/bus.rs:2")
                && told_left.contains("against the order"),
            "{told_left}"
        );
        let beside = findings(
            "runtime",
            &[("clock.rs", "use crate::error::Error;"), ("error.rs", "")],
        );
        assert!(told(&beside).contains("`clock` uses `error`"));
    }

    #[test]
    fn a_module_without_a_place_is_told_where_to_get_one() {
        let told = told(&findings("runtime", &[("schedule.rs", "")]));
        assert!(told.contains("ORDERS in xtask/src/tidy/order.rs"), "{told}");
    }

    #[test]
    fn a_circle_is_found_once_in_any_crate_and_on_any_level() {
        let files = [
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "use crate::a;"),
        ];
        let found = findings("store", &files);
        assert!(told(&found).contains("a → b → c → a"), "{}", told(&found));
        assert_eq!(found.len(), 1);
        let below = [
            ("x.rs", ""),
            ("x/a.rs", "use super::b;"),
            ("x/b.rs", "use crate::x::a;"),
        ];
        assert!(told(&findings("store", &below)).contains("a → b → a"));
    }
}
