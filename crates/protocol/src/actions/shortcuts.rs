//! Keyboard shortcuts of the page.

/// Where a shortcut does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortcutPlace {
    /// On every screen.
    Everywhere,
    /// Where rows are listed.
    List,
    /// In an open session.
    Session,
}

impl ShortcutPlace {
    /// As people read it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::List => "lists",
            Self::Session => "session",
        }
    }
}

/// One shortcut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortcutInfo {
    /// What the page calls it.
    pub name: &'static str,
    /// The keys, one after another with a blank between: `g b`. `Ctrl` is Command on a Mac.
    pub keys: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Where it does something.
    pub place: ShortcutPlace,
}

/// The table. The sheet of shortcuts lists them in this order.
pub const SHORTCUTS: &[ShortcutInfo] = &[
    ShortcutInfo {
        name: "palette",
        keys: "Ctrl+K",
        help: "Open the command palette.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "search",
        keys: "/",
        help: "Search sessions.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "help",
        keys: "?",
        help: "List the shortcuts.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-board",
        keys: "g b",
        help: "Go to the board.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-sessions",
        keys: "g s",
        help: "Go to the sessions.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-agents",
        keys: "g a",
        help: "Go to the agents.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-schedules",
        keys: "g d",
        help: "Go to the schedules.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-connectors",
        keys: "g c",
        help: "Go to the connectors.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-permissions",
        keys: "g p",
        help: "Go to the permissions.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-usage",
        keys: "g u",
        help: "Go to the usage.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-settings",
        keys: "g ,",
        help: "Go to the settings.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "go-trace",
        keys: "g t",
        help: "Show when the agents of the open session worked.",
        place: ShortcutPlace::Session,
    },
    ShortcutInfo {
        name: "new",
        keys: "n",
        help: "Begin a new session.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "next",
        keys: "j",
        help: "Go to the next row or card.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "previous",
        keys: "k",
        help: "Go to the previous row or card.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "open",
        keys: "Enter",
        help: "Open the row.",
        place: ShortcutPlace::List,
    },
    ShortcutInfo {
        name: "allow",
        keys: "x",
        help: "Allow the request once: the chosen one, else the first.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "deny",
        keys: "Shift+X",
        help: "Deny the request: the chosen one, else the first.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "parent",
        keys: "[",
        help: "Go to the agent above.",
        place: ShortcutPlace::Session,
    },
    ShortcutInfo {
        name: "child",
        keys: "]",
        help: "Go to the first agent below.",
        place: ShortcutPlace::Session,
    },
    ShortcutInfo {
        name: "stop",
        keys: ".",
        help: "Stop what the session works on.",
        place: ShortcutPlace::Everywhere,
    },
    ShortcutInfo {
        name: "expand",
        keys: "e",
        help: "Open or close the tool calls.",
        place: ShortcutPlace::Session,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Combinations that browsers have for themselves.
    const OF_BROWSERS: [&str; 8] = [
        "Ctrl+T", "Ctrl+W", "Ctrl+N", "Ctrl+L", "Ctrl+R", "Ctrl+F", "Ctrl+S", "Ctrl+P",
    ];

    #[test]
    fn every_name_and_every_key_is_there_once_and_none_is_the_browsers() {
        for (at, row) in SHORTCUTS.iter().enumerate() {
            assert!(row.help.ends_with('.'), "{}", row.name);
            assert!(!OF_BROWSERS.contains(&row.keys), "{}", row.keys);
            let later = &SHORTCUTS[at + 1..];
            assert!(
                later.iter().all(|other| other.name != row.name),
                "{}",
                row.name
            );
            // A key that begins a sequence cannot be a shortcut itself.
            let begins = |one: &str, other: &str| {
                one == other
                    || other.starts_with(&format!("{one} "))
                    || one.starts_with(&format!("{other} "))
            };
            let clash = later.iter().find(|other| begins(row.keys, other.keys));
            assert_eq!(clash, None, "{}", row.keys);
        }
    }
}
