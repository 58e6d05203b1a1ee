//! A hook that is a service: the same JSON is sent to it, and it answers with the same JSON.
//!
//! It is reached like every page: at an address that was judged, never a private one. Only the person's
//! own hooks may reach a service on this machine.

use rooftree_process::looks_secret;
use rooftree_protocol::Level;
use rooftree_tools::{
    Web,
    web::{
        Bounds,
        post::{Post, loopback, post},
    },
};

use super::{Answer, Failure, Ground, Occasion};

/// Bytes a service may answer with.
const LONGEST: usize = 1024 * 1024;

/// What to ask, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Where it is.
    pub(super) url: String,
    /// Headers, in which variables are filled in when it is asked.
    headers: Vec<(String, String)>,
}

impl Service {
    /// A service with headers in which only these variables may stand.
    pub fn new(
        url: &str,
        headers: Vec<(String, String)>,
        variables: &[String],
        level: Level,
    ) -> Result<Self, String> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err("`url` must begin with http:// or https://".into());
        }
        let named = headers.iter().flat_map(|(_, value)| pieces(value)).filter_map(Piece::variable);
        for name in named {
            if !variables.contains(&name) {
                return Err(format!("a header names `${{{name}}}`, which is not in `allowedEnvVars`"));
            }
            // A folder that was merely downloaded must not decide who gets the person's keys.
            if level == Level::Project && looks_secret(&name) {
                return Err(format!("a project's hook cannot send `${{{name}}}`: it looks like a secret"));
            }
        }
        Ok(Self { url: url.to_owned(), headers })
    }

    /// Asks it. Whatever is no answer is a failure: a service that is down has not looked.
    pub(super) async fn ask(
        &self,
        occasion: &Occasion,
        ground: &Ground,
        level: Level,
    ) -> Result<Answer, Failure> {
        let bounds = Bounds { wire_bytes: LONGEST, unpacked_bytes: LONGEST, ..ground.web.bounds };
        let mut web = Web { bounds, ..ground.web.clone() };
        if level != Level::Project {
            web.allow_private.extend(loopback(&self.url));
        }
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
        let asked = Post { url: self.url.clone(), headers, body: occasion.input() };
        let reply = post(&web, asked).await.map_err(|why| Failure::Unreachable(why.to_string()))?;
        if !(200..300).contains(&reply.status) {
            return Err(Failure::Status(reply.status));
        }
        Answer::printed(occasion.point, &reply.text).map_err(Failure::NotUnderstood)
    }
}

/// A part of a header's value.
enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl Piece<'_> {
    fn variable(self) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Variable(name) => Some(name.to_owned()),
        }
    }
}

/// Text and `${NAME}` or `$NAME`, in turn.
fn pieces(value: &str) -> Vec<Piece<'_>> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut parts = value.split('$');
    let mut pieces: Vec<Piece<'_>> = parts.next().map(Piece::Text).into_iter().collect();
    for part in parts {
        let braced = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let bare = part.find(|c| !is_letter(c)).map_or((part, ""), |end| part.split_at(end));
        let (name, rest) = braced.unwrap_or(bare);
        if name.is_empty() || !name.chars().all(is_letter) {
            pieces.extend([Piece::Text("$"), Piece::Text(part)]);
        } else {
            pieces.extend([Piece::Variable(name), Piece::Text(rest)]);
        }
    }
    pieces
}

/// A value with the variables of this process in it; one that is not set is nothing.
fn filled(value: &str) -> String {
    let text = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Variable(name) => std::env::var(name).unwrap_or_default(),
    };
    pieces(value).into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_however_they_are_written() {
        let names = |value: &str| pieces(value).into_iter().filter_map(Piece::variable).collect::<Vec<_>>();
        assert_eq!(names("Bearer ${A}, $B_1/x $ ${ $1"), ["A", "B_1", "1"]);
        assert_eq!(filled("a $ b"), "a $ b");
        assert!(filled("in ${CARGO_MANIFEST_DIR}.").ends_with("runtime."));
    }

    #[test]
    fn only_variables_of_the_list_are_sent_and_no_secret_by_a_project() {
        let headers = || vec![("X".to_owned(), "${HOOK_TOKEN}".to_owned())];
        let list = ["HOOK_TOKEN".to_owned()];
        let service = |list: &[String], level| Service::new("http://localhost", headers(), list, level);
        assert!(service(&[], Level::User).unwrap_err().contains("not in `allowedEnvVars`"));
        assert!(service(&list, Level::Project).unwrap_err().contains("looks like a secret"));
        assert!(service(&list, Level::User).is_ok());
        assert!(Service::new("file:///x", vec![], &[], Level::User).is_err());
    }
}
