//! A page that a server wants the user to visit (URL elicitation): shown with its whole address, never opened by us.

use std::collections::BTreeMap;

use rmcp::model::ElicitationAction;
use rooftree_protocol::{Choice, Question};
use url::Url;

/// Maximum characters of an address; a user could not judge a longer one.
const LONGEST: usize = 2_000;

const VISITED: &str = "done";
const NO: &str = "no";
const NOT_NOW: &str = "not now";
/// What the question is called.
const NAME: &str = "page";

/// A page to visit.
pub(super) struct ElicitationPage {
    /// As it is written in the address bar: what looks like another host is spelled out.
    url: String,
    host: String,
}

impl ElicitationPage {
    /// None if it is no address of the web, or one that tries to look like another.
    pub(super) fn of(url: &str) -> Option<Self> {
        let url = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "https" | "http"))?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.as_str().len() > LONGEST {
            return None;
        }
        Some(Self {
            host: url.host_str()?.to_owned(),
            url: url.into(),
        })
    }

    pub(super) fn words(&self, server: &str, message: &str) -> String {
        let plain = if self.url.starts_with("http://") {
            " It is not encrypted."
        } else {
            ""
        };
        format!(
            "The MCP server `{server}` wants you to visit a page of {}: {message}\n{}\nNothing is opened for \
             you.{plain} Visit it only if you know why.",
            self.host, self.url
        )
    }

    pub(super) fn question(&self, text: String) -> Question {
        let choice = |label: &str, description: &str| Choice {
            label: label.to_owned(),
            description: description.to_owned(),
        };
        Question {
            name: NAME.to_owned(),
            text,
            choices: vec![
                choice(VISITED, "you visit it, or have"),
                choice(NO, "you do not want to"),
                choice(NOT_NOW, "the server may ask again"),
            ],
            several: false,
            free: false,
        }
    }

    /// What that means to the server. Whatever else is said is no yes.
    pub(super) fn said(&self, answers: &BTreeMap<String, Vec<String>>) -> ElicitationAction {
        let given = answers
            .get(NAME)
            .and_then(|given| given.first())
            .map(String::as_str);
        match given {
            Some(VISITED) => ElicitationAction::Accept,
            Some(NOT_NOW) | None => ElicitationAction::Cancel,
            Some(_) => ElicitationAction::Decline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_it_is_and_one_that_poses_is_not_shown() {
        let shown = |url: &str| ElicitationPage::of(url).map(|page| (page.host, page.url));
        let plain = |host: &str, url: &str| Some((host.to_owned(), url.to_owned()));
        assert_eq!(
            shown("https://a.test/x?y=1"),
            plain("a.test", "https://a.test/x?y=1")
        );
        assert_eq!(
            shown("https://аpple.com/"),
            plain("xn--pple-43d.com", "https://xn--pple-43d.com/")
        );
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://bank.test@evil.test/",
            "x",
            "",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
        assert_eq!(
            shown(&format!("https://a.test/{}", "x".repeat(LONGEST))),
            None
        );
        let words = ElicitationPage::of("http://a.test/\u{202e}x")
            .unwrap()
            .words("s", "m");
        assert!(
            words.contains("a page of a.test") && words.contains("not encrypted"),
            "{words}"
        );
        assert!(!words.contains('\u{202e}'), "{words}");
    }
}
