//! Keeps type names unique in the workspace, so that a text search for one finds one thing.

use std::collections::BTreeMap;

use anyhow::Result;

use super::source::production;
use crate::{finding::Finding, repository::Repository};

/// Names that may stand several times, because each says its role in its own module. At most twenty.
const REPEATED: &[&str] = &[
    "Action",
    "Arguments",
    "Block",
    "Body",
    "Choice",
    "Content",
    "Entry",
    "Error",
    "Format",
    "Item",
    "Kind",
    "Message",
    "Options",
    "Part",
    "Request",
    "Row",
    "State",
    "Step",
    "Target",
    "Tool",
];

/// The words that declare a type.
const DECLARING: &[&str] = &["struct ", "enum ", "trait ", "union ", "type "];

/// A type that production code declares.
pub struct DeclaredType {
    pub name: String,
    pub path: String,
    pub line: usize,
    /// Named fields, if it is a struct.
    pub fields: usize,
}

/// Objects to every type whose name another type of the workspace has too.
pub fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut by_name: BTreeMap<String, Vec<DeclaredType>> = BTreeMap::new();
    for declared in declared(repository)? {
        by_name
            .entry(declared.name.clone())
            .or_default()
            .push(declared);
    }
    let is_wrong =
        |name: &str, types: &[DeclaredType]| types.len() > 1 && !REPEATED.contains(&name);
    let wrong = by_name.iter().filter(|(name, types)| is_wrong(name, types));
    let finding = |(name, types): (&String, &Vec<DeclaredType>)| {
        let places: Vec<String> = types
            .iter()
            .map(|one| format!("{}:{}", one.path, one.line))
            .collect();
        let fix = "give each a name of its own, usually two words: `RetryState`, `IdleTimer`";
        Finding::new(
            places.join(", "),
            format!("{} types are called `{name}`", types.len()),
            fix,
        )
    };
    Ok(wrong.map(finding).collect())
}

/// The types that production code in `crates/` declares at the level of a module.
pub fn declared(repository: &Repository) -> Result<Vec<DeclaredType>> {
    let mut all = Vec::new();
    for path in repository
        .files_ending("rs")
        .filter(|path| is_production(path))
    {
        let text = production(&repository.text(path)?);
        for (at, line) in text.lines().enumerate() {
            if let Some(name) = name_in(line) {
                let fields = fields_after(&text, at);
                all.push(DeclaredType {
                    name,
                    path: path.to_owned(),
                    line: at + 1,
                    fields,
                });
            }
        }
    }
    Ok(all)
}

/// `without_mcp.rs` stands in for `mcp.rs` in a build without it, under the same names.
fn is_production(path: &str) -> bool {
    let is_stand_in = path.ends_with("/without_mcp.rs");
    !is_stand_in
        && path.starts_with("crates/")
        && path.contains("/src/")
        && !path.ends_with("/tests.rs")
}

/// The name of the type that a line declares. An associated type is indented and belongs to its trait.
fn name_in(line: &str) -> Option<String> {
    let unindented = line.trim_start();
    let is_indented = unindented.len() < line.len();
    let visible = match unindented.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => unindented.strip_prefix("pub ").unwrap_or(unindented),
    };
    let word = DECLARING.iter().find(|word| visible.starts_with(**word))?;
    if *word == "type " && is_indented {
        return None;
    }
    let rest = &visible[word.len()..];
    let name: String = rest
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect();
    name.starts_with(|first: char| first.is_uppercase())
        .then_some(name)
}

/// How many named fields stand between a declaration and the brace that closes it.
fn fields_after(text: &str, at: usize) -> usize {
    let mut lines = text.lines().skip(at);
    let Some(first) = lines.next() else { return 0 };
    if !first.contains("struct ") || !first.trim_end().ends_with('{') {
        return 0;
    }
    let indent = first.len() - first.trim_start().len();
    let body = lines.take_while(|line| line.len() <= indent || !line[indent..].starts_with('}'));
    let is_field = |line: &&str| {
        let field = line.trim_start().trim_start_matches("pub ");
        let field = field
            .strip_prefix("pub(crate) ")
            .or(field.strip_prefix("pub(super) "))
            .unwrap_or(field);
        let name = field.split(':').next().unwrap_or_default();
        field.contains(": ")
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    body.take_while(|line| !line.starts_with('}'))
        .filter(is_field)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{Planted, told};

    #[test]
    fn a_name_that_two_types_have_is_found_unless_it_may_be_repeated() {
        let planted = Planted::new()
            .with(
                "crates/a/src/lib.rs",
                "pub struct Asked {\n    pub one: u8,\n    two: u8,\n}\nenum Row {}\n",
            )
            .with(
                "crates/b/src/lib.rs",
                "pub(crate) enum Asked {}\nstruct Row;\n#[cfg(test)]\nmod tests { struct Once; }\n",
            )
            .with(
                "crates/b/src/c.rs",
                "struct Once;\nimpl A for B {\n    type Once = u8;\n}\n",
            );
        let told = told(&check(&planted.repository()).unwrap());
        assert!(
            told.contains("crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"),
            "{told}"
        );
        assert!(!told.contains("Row") && !told.contains("Once"), "{told}");
        let declared = declared(&planted.repository()).unwrap();
        assert_eq!(
            declared
                .iter()
                .find(|one| one.path.contains("/a/"))
                .unwrap()
                .fields,
            2
        );
    }

    #[test]
    fn not_more_than_twenty_names_may_be_repeated() {
        assert!(REPEATED.len() <= 20);
    }
}
