//! Parses `[web]` and the search backend of `[search]`.

use rooftree_protocol::Problem;
use rooftree_tools::{SearchBackend, web::PrivateHost};
use toml::Table;

use super::parse_value::SettingsReader;

/// The keys of `[web]`.
pub(super) const WEB: &[&str] = &["allow_private"];

/// What is said about the web.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSettings {
    /// Hosts of one's own that WebFetch may reach.
    pub allow_private: Vec<PrivateHost>,
    /// The search backend.
    pub backend: Option<SearchBackend>,
    /// Base URL of the search service.
    pub url: Option<String>,
    /// The model that searches, if a model does.
    pub model: Option<String>,
}

impl WebSettings {
    /// The places in a file that say any of it.
    pub(super) fn said(&self) -> Vec<&'static str> {
        let said = [
            (!self.allow_private.is_empty(), "web.allow_private"),
            (self.backend.is_some(), "search.backend"),
            (self.url.is_some(), "search.url"),
            (self.model.is_some(), "search.model"),
        ];
        said.into_iter()
            .filter(|(is_said, _)| *is_said)
            .map(|(_, place)| place)
            .collect()
    }
}

/// Reads both tables of one file.
pub(super) fn read(
    reader: &SettingsReader<'_>,
    top: &Table,
    search: &Table,
) -> Result<WebSettings, Problem> {
    let web = reader.table(top, "web", WEB)?;
    let hosts: Vec<String> = reader.value(&web, "allow_private")?.unwrap_or_default();
    let backend: Option<String> = reader.value(search, "backend")?;
    let allow_private: Result<Vec<PrivateHost>, Problem> =
        hosts.iter().map(|host| host.parse()).collect();
    let backend = backend.map(|name| name.parse()).transpose();
    Ok(WebSettings {
        allow_private: allow_private
            .map_err(|problem| placed(reader, "web.allow_private", problem))?,
        backend: backend.map_err(|problem| placed(reader, "search.backend", problem))?,
        url: url(reader, search)?,
        model: reader.value(search, "model")?,
    })
}

fn url(reader: &SettingsReader<'_>, search: &Table) -> Result<Option<String>, Problem> {
    let url: Option<String> = reader.value(search, "url")?;
    if url
        .as_ref()
        .is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://"))
    {
        return Err(reader
            .wrong("`search.url` is not a URL".into())
            .fix("it begins with http:// or https://"));
    }
    Ok(url)
}

fn placed(reader: &SettingsReader<'_>, place: &str, problem: Problem) -> Problem {
    let told = reader.wrong(format!("`{place}`: {}", problem.message));
    let told = problem.cause.into_iter().fold(told, Problem::cause);
    problem.fix.into_iter().fold(told, Problem::fix)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::parse_file;

    #[test]
    fn the_web_is_read_and_what_is_wrong_names_its_place() {
        let text = |content: &str| parse_file::text(content, Path::new("c.toml"));
        let web = text("[web]\nallow_private = ['localhost:8080']\n[search]\nbackend = 'Brave'")
            .unwrap()
            .web;
        assert_eq!(
            (
                web.allow_private[0].to_string().as_str(),
                web.backend.unwrap().name()
            ),
            ("localhost:8080", "brave")
        );
        for (content, message, fix) in [
            (
                "web.allow_private = ['http://x/']",
                "`web.allow_private`: `http://x/` is no host",
                "host:port",
            ),
            (
                "search.backend = 'bing'",
                "`search.backend`: there is no search service `bing`",
                "searxng, brave",
            ),
            (
                "search.url = 'localhost:8888'",
                "`search.url` is not a URL",
                "http://",
            ),
            (
                "search.key = 'x'",
                "unknown key `search.key`",
                "known keys here: embeddings, backend, url, model",
            ),
            ("web.allow = []", "unknown key `web.allow`", "allow_private"),
        ] {
            let problem = text(content).unwrap_err();
            assert!(problem.message.contains(message), "{problem:?}");
            assert!(
                problem.fix.clone().unwrap_or_default().contains(fix),
                "{problem:?}"
            );
        }
    }
}
