//! HTTP hook: the JSON payload is posted to a service, which answers with JSON.
//!
//! It is reached like every page: at an address that was judged, never a private one. Only the person's
//! own hooks may reach a service on this machine.

use rooftree_process::looks_secret;
use rooftree_protocol::DefinitionLevel;
use rooftree_tools::{
    WebConfig,
    web::{
        WebBounds,
        post::{JsonPost, loopback, post},
    },
};

use super::{HookAnswer, HookError, HookPayload, HookRunContext};

/// Bytes a service may answer with.
const LONGEST: usize = 1024 * 1024;

/// URL and headers of an HTTP hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookService {
    /// Where it is.
    pub(super) url: String,
    /// Headers, in which variables are filled in when it is asked.
    headers: Vec<(String, String)>,
}

impl HookService {
    /// A service with headers in which only these variables may stand.
    pub fn new(
        url: &str,
        headers: Vec<(String, String)>,
        variables: &[String],
        level: DefinitionLevel,
    ) -> Result<Self, String> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err("`url` must begin with http:// or https://".into());
        }
        let named = headers
            .iter()
            .flat_map(|(_, value)| pieces(value))
            .filter_map(HeaderPart::variable);
        for name in named {
            if !variables.contains(&name) {
                return Err(format!(
                    "a header names `${{{name}}}`, which is not in `allowedEnvVars`"
                ));
            }
            // A folder that was merely downloaded must not decide who gets the person's keys.
            if level == DefinitionLevel::Project && looks_secret(&name) {
                return Err(format!(
                    "a project's hook cannot send `${{{name}}}`: it looks like a secret"
                ));
            }
        }
        Ok(Self {
            url: url.to_owned(),
            headers,
        })
    }

    /// Asks it. Whatever is no answer is a failure: a service that is down has not looked.
    pub(super) async fn ask(
        &self,
        payload: &HookPayload,
        run_context: &HookRunContext,
        level: DefinitionLevel,
    ) -> Result<HookAnswer, HookError> {
        let bounds = WebBounds {
            wire_bytes: LONGEST,
            unpacked_bytes: LONGEST,
            ..run_context.web.bounds
        };
        let mut web = WebConfig {
            bounds,
            ..run_context.web.clone()
        };
        if level != DefinitionLevel::Project {
            web.allow_private.extend(loopback(&self.url));
        }
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), filled(value)))
            .collect();
        let asked = JsonPost {
            url: self.url.clone(),
            headers,
            body: payload.input(),
        };
        let reply = post(&web, asked)
            .await
            .map_err(|why| HookError::Unreachable(why.to_string()))?;
        if !(200..300).contains(&reply.status) {
            return Err(HookError::Status(reply.status));
        }
        HookAnswer::printed(payload.point, &reply.text).map_err(HookError::NotUnderstood)
    }
}

/// A part of a header's value.
enum HeaderPart<'a> {
    Text(&'a str),
    Variable(&'a str),
}

impl HeaderPart<'_> {
    fn variable(self) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Variable(name) => Some(name.to_owned()),
        }
    }
}

/// Text and `${NAME}` or `$NAME`, in turn.
fn pieces(value: &str) -> Vec<HeaderPart<'_>> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut parts = value.split('$');
    let mut pieces: Vec<HeaderPart<'_>> = parts.next().map(HeaderPart::Text).into_iter().collect();
    for part in parts {
        let braced = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let bare = part
            .find(|c| !is_letter(c))
            .map_or((part, ""), |end| part.split_at(end));
        let (name, rest) = braced.unwrap_or(bare);
        if name.is_empty() || !name.chars().all(is_letter) {
            pieces.extend([HeaderPart::Text("$"), HeaderPart::Text(part)]);
        } else {
            pieces.extend([HeaderPart::Variable(name), HeaderPart::Text(rest)]);
        }
    }
    pieces
}

/// A value with the variables of this process in it; one that is not set is nothing.
fn filled(value: &str) -> String {
    let text = |piece: HeaderPart<'_>| match piece {
        HeaderPart::Text(text) => text.to_owned(),
        HeaderPart::Variable(name) => std::env::var(name).unwrap_or_default(),
    };
    pieces(value).into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_however_they_are_written() {
        let names = |value: &str| {
            pieces(value)
                .into_iter()
                .filter_map(HeaderPart::variable)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("Bearer ${A}, $B_1/x $ ${ $1"), ["A", "B_1", "1"]);
        assert_eq!(filled("a $ b"), "a $ b");
        assert!(filled("in ${CARGO_MANIFEST_DIR}.").ends_with("runtime."));
    }

    #[test]
    fn only_variables_of_the_list_are_sent_and_no_secret_by_a_project() {
        let headers = || vec![("X".to_owned(), "${HOOK_TOKEN}".to_owned())];
        let list = ["HOOK_TOKEN".to_owned()];
        let service =
            |list: &[String], level| HookService::new("http://localhost", headers(), list, level);
        assert!(
            service(&[], DefinitionLevel::User)
                .unwrap_err()
                .contains("not in `allowedEnvVars`")
        );
        assert!(
            service(&list, DefinitionLevel::Project)
                .unwrap_err()
                .contains("looks like a secret")
        );
        assert!(service(&list, DefinitionLevel::User).is_ok());
        assert!(HookService::new("file:///x", vec![], &[], DefinitionLevel::User).is_err());
    }
}
