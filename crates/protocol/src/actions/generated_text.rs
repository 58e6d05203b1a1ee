//! The tables of actions and shortcuts as text: a page of the documentation and a module of the web page.

use super::{ACTIONS, ActionTarget, SHORTCUTS};

/// The tables as a page of the documentation.
pub fn as_markdown() -> String {
    let mut page = "# Slash commands of a conversation\n\n\
        Generated from the table of actions in `crates/protocol/src/actions.rs` by `cargo xtask generate`. How a \
        conversation works: [conversation.md](conversation.md).\n\n\
        | command | also | what it does | needs a session |\n|---|---|---|---|\n"
        .to_owned();
    for row in ACTIONS {
        let aliases: Vec<String> = row
            .aliases
            .iter()
            .map(|alias| format!("`/{alias}`"))
            .collect();
        let needs = match row.target {
            ActionTarget::Program => "",
            ActionTarget::Session => "yes",
        };
        let typed = row.typed().replace('|', "\\|");
        page += &format!(
            "| `{typed}` | {} | {} | {needs} |\n",
            aliases.join(", "),
            row.help
        );
    }
    page += "\n# Keyboard shortcuts of the page\n\nNone of them counts while a text is typed, except with Ctrl or \
        Command. Combinations of the browser are never taken.\n\n| keys | what it does | where |\n|---|---|---|\n";
    for row in SHORTCUTS {
        page += &format!(
            "| {} | {} | {} |\n",
            keys_in_words(row.keys),
            row.help,
            row.place.in_words()
        );
    }
    page
}

/// `g b` as `` `g` then `b` ``.
fn keys_in_words(keys: &str) -> String {
    let keys: Vec<String> = keys.split(' ').map(|key| format!("`{key}`")).collect();
    keys.join(" then ")
}

/// The tables as a module of the page.
pub fn as_javascript() -> String {
    let mut page = "// Slash commands and keyboard shortcuts. Generated from crates/protocol/src/actions.rs by `cargo xtask generate`.\n\
        // @ts-check\n\n\
        /** @typedef {{name: string, aliases: string[], usage: string, argument: string, help: string, session: boolean}} Action */\n\
        /** @typedef {{name: string, keys: string, help: string, where: string}} Shortcut */\n\n\
        /** @type {Action[]} */\nexport const ACTIONS = [\n"
        .to_owned();
    for row in ACTIONS {
        let aliases: Vec<String> = row.aliases.iter().map(|alias| quoted(alias)).collect();
        page += &format!(
            "  {{name: {}, aliases: [{}], usage: {}, argument: {}, help: {}, session: {}}},\n",
            quoted(row.name),
            aliases.join(", "),
            quoted(row.usage),
            quoted(&format!("{:?}", row.argument).to_lowercase()),
            quoted(row.help),
            row.target == ActionTarget::Session
        );
    }
    page += "];\n\n/** @type {Shortcut[]} */\nexport const SHORTCUTS = [\n";
    for row in SHORTCUTS {
        page += &format!(
            "  {{name: {}, keys: {}, help: {}, where: {}}},\n",
            quoted(row.name),
            quoted(row.keys),
            quoted(row.help),
            quoted(row.place.in_words())
        );
    }
    page + "];\n"
}

/// A string of JavaScript. The tables hold neither line ends nor backslashes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_the_documentation_have_every_row() {
        let (module, page) = (as_javascript(), as_markdown());
        for row in ACTIONS {
            assert!(module.contains(&format!("{{name: '{}', aliases", row.name)));
            assert!(page.contains(row.help), "{}", row.name);
        }
        for row in SHORTCUTS {
            assert!(module.contains(&format!("{{name: '{}', keys: '{}'", row.name, row.keys)));
            assert!(page.contains(&keys_in_words(row.keys)), "{}", row.name);
        }
        assert_eq!(quoted("agent's"), "'agent\\'s'");
    }
}
