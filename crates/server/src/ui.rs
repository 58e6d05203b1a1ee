//! The web page: its files, which are part of the program, and the paths at which a browser gets them.
//!
//! The files are public: every browser gets the same ones. Whatever they show comes from the API, which checks each request.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{Path as UrlPath, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
            CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};

use crate::{
    access::{AccessOutcome, RequestAccess},
    host_check::RefusedHost,
};

/// The files of the page: path below `ui/`, content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ui_files.rs"));

/// The document that all paths of the page lead to; its script reads the path.
const INDEX: &str = "index.html";

/// The paths of the page.
const PAGE_PATHS: &[&str] = &[
    "/",
    "/sessions",
    "/s/{session}",
    "/trace/{run}",
    "/agents",
    "/agents/{agent}",
    "/schedules",
    "/connectors",
    "/usage",
    "/permissions",
    "/settings",
    "/welcome",
];

/// What a page of this server may load and do: its own files and its own API. Only `js/dom.js` turns text into HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types server-html";

/// Where the page's files come from.
#[derive(Clone, Debug, Default)]
pub enum UiSource {
    /// The program itself.
    #[default]
    Embedded,
    /// A directory, read anew for each request: for work on the page.
    Directory(PathBuf),
}

/// A file as it is sent.
#[derive(Clone)]
struct UiFile {
    body: Arc<[u8]>,
    /// The same, compressed.
    gzip: Option<Arc<[u8]>>,
    etag: String,
    content_type: &'static str,
}

struct UiFiles {
    embedded: BTreeMap<&'static str, UiFile>,
    directory: Option<PathBuf>,
}

/// The routes of the page.
pub(crate) fn router(source: UiSource) -> Router {
    let files = Arc::new(UiFiles::new(source));
    let mut router = Router::new().route("/ui/{*path}", get(file));
    for path in PAGE_PATHS {
        router = router.route(path, get(index));
    }
    router.with_state(files)
}

async fn index(
    State(files): State<Arc<UiFiles>>,
    Extension(access): Extension<RequestAccess>,
    headers: HeaderMap,
) -> Response {
    send(&files, INDEX, &access, &headers).await
}

async fn file(
    State(files): State<Arc<UiFiles>>,
    UrlPath(path): UrlPath<String>,
    Extension(access): Extension<RequestAccess>,
    headers: HeaderMap,
) -> Response {
    send(&files, &path, &access, &headers).await
}

/// Sends a file to a browser that reached this server under one of its own names.
async fn send(
    files: &UiFiles,
    path: &str,
    access: &RequestAccess,
    headers: &HeaderMap,
) -> Response {
    match &access.outcome {
        AccessOutcome::Foreign(RefusedHost::UnknownName(_)) => {
            return StatusCode::MISDIRECTED_REQUEST.into_response();
        }
        AccessOutcome::Foreign(RefusedHost::ForeignPage)
            if !(path == INDEX && is_navigation(headers)) =>
        {
            return StatusCode::FORBIDDEN.into_response();
        }
        _ => {}
    }
    let Some(file) = files.find(path).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let shown = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let is_known = shown.is_some_and(|shown| shown.split(',').any(|tag| tag.trim() == file.etag));
    let mut response = match (is_known, file.gzip.filter(|_| takes_gzip(headers))) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, Some(gzip)) => {
            let mut response = Body::from(gzip.to_vec()).into_response();
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        (false, None) => Body::from(file.body.to_vec()).into_response(),
    };
    let sent = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, file.content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (VARY, "Accept-Encoding"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        sent.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(etag) = HeaderValue::from_str(&file.etag) {
        sent.insert(ETAG, etag);
    }
    response
}

/// Whether a person follows a link to the page, perhaps from another site. Nothing else of another site gets an answer.
fn is_navigation(headers: &HeaderMap) -> bool {
    let is =
        |name: &'static str, wanted: &str| headers.get(name).is_some_and(|value| value == wanted);
    is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document")
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.split(',').any(|one| one.trim() == "gzip"))
}

impl UiFiles {
    fn new(source: UiSource) -> Self {
        match source {
            UiSource::Embedded => Self {
                embedded: FILES
                    .iter()
                    .filter_map(|(name, body)| Some((*name, UiFile::new(name, body, true)?)))
                    .collect(),
                directory: None,
            },
            UiSource::Directory(directory) => Self {
                embedded: BTreeMap::new(),
                directory: Some(directory),
            },
        }
    }

    async fn find(&self, path: &str) -> Option<UiFile> {
        let Some(directory) = &self.directory else {
            return self.embedded.get(path).cloned();
        };
        let is_below = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return None;
        }
        let body = tokio::fs::read(directory.join(path)).await.ok()?;
        UiFile::new(path, &body, false)
    }
}

impl UiFile {
    fn new(name: &str, body: &[u8], compress: bool) -> Option<Self> {
        Some(Self {
            content_type: content_type(name)?,
            etag: format!(
                "\"{}\"",
                BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, body))
            ),
            gzip: compress.then(|| gzip(body)).flatten(),
            body: body.into(),
        })
    }
}

fn gzip(body: &[u8]) -> Option<Arc<[u8]>> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Into::into)
}

fn content_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_page_is_small() {
        let files = UiFiles::new(UiSource::Embedded);
        let sizes = files
            .embedded
            .values()
            .map(|file| file.gzip.as_ref().map_or(0, |gzip| gzip.len()));
        let (count, bytes) = (sizes.len(), sizes.sum::<usize>());
        assert!(
            count > 40 && bytes <= 150_000,
            "{count} files, {bytes} bytes"
        );
    }

    #[test]
    fn scripts_lose_their_comments_and_keep_their_lines_and_code() {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
        let scripts = FILES.iter().filter(|(name, _)| name.ends_with(".js"));
        for (name, body) in scripts {
            let written = std::fs::read_to_string(source.join(name)).unwrap();
            let served = std::str::from_utf8(body).unwrap();
            assert_eq!(served.lines().count(), written.lines().count(), "{name}");
            for (line, kept) in written.lines().zip(served.lines()) {
                let words = line.trim_start();
                let is_comment = ["//", "/*", "*"].iter().any(|sign| words.starts_with(sign));
                assert!(
                    kept == line || (kept.is_empty() && is_comment),
                    "{name}: {line}"
                );
                assert!(!kept.trim_start().starts_with("//"), "{name}: {line}");
            }
        }
    }

    #[tokio::test]
    async fn a_directory_is_read_anew_and_nothing_beside_it_is_sent() {
        let directory = tempfile::tempdir().unwrap();
        let files = UiFiles::new(UiSource::Directory(directory.path().join("ui")));
        std::fs::create_dir(directory.path().join("ui")).unwrap();
        std::fs::write(directory.path().join("secret.js"), "x").unwrap();
        std::fs::write(directory.path().join("ui/a.js"), "1").unwrap();
        assert_eq!(&*files.find("a.js").await.unwrap().body, b"1");
        std::fs::write(directory.path().join("ui/a.js"), "2").unwrap();
        assert_eq!(&*files.find("a.js").await.unwrap().body, b"2");
        for path in ["../secret.js", "/etc/passwd", "b/../../secret.js", "a.txt"] {
            assert!(files.find(path).await.is_none(), "{path}");
        }
    }
}
