//! Requests to a server: paths, the token, and errors as problems.

use std::{path::PathBuf, time::Duration};

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rooftree_protocol::{ErrorCode, Problem};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use url::Url;

use super::RemoteOptions;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a request other than a stream may take.
const REQUEST: Duration = Duration::from_secs(60);

/// Requests to one server. Cheap to clone.
#[derive(Clone)]
pub(super) struct HttpConnection {
    client: reqwest::Client,
    base: Url,
    socket: Option<PathBuf>,
    token: Option<String>,
}

/// A request that was not answered as it was meant to be.
#[derive(Clone, Debug)]
pub(crate) struct RefusedRequest {
    pub(crate) problem: Problem,
    /// Whether the same request may succeed later.
    pub(crate) is_passing: bool,
    pub(crate) is_not_found: bool,
}

impl From<RefusedRequest> for Problem {
    fn from(refused: RefusedRequest) -> Self {
        refused.problem
    }
}

impl HttpConnection {
    pub(super) fn new(options: RemoteOptions) -> Result<Self, Problem> {
        let wrong = |cause: String| {
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("`{}` is no address of a server", options.url),
            )
            .cause(cause)
            .fix("give an address as http://127.0.0.1:7663")
        };
        if !options.url.contains("://") {
            return Err(wrong("it does not begin with http:// or https://".into()));
        }
        let base = Url::parse(&options.url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong(format!("`{}:` is not http or https", base.scheme())));
        }
        // An error says that it was installed before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        if let Some(socket) = &options.socket {
            builder = builder.unix_socket(socket.clone());
        }
        let client = builder.build().map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            client,
            base,
            socket: options.socket,
            token: options.token,
        })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let base = self.base.as_str().trim_end_matches('/');
        let request = self.client.request(method, format!("{base}{path}"));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RefusedRequest> {
        self.answer(self.request(Method::GET, path)).await
    }

    pub(super) async fn get_with<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, RefusedRequest> {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        self.get(&format!("{path}?{query}")).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, RefusedRequest> {
        self.answer(self.request(Method::POST, path).json(body))
            .await
    }

    /// Sends bytes as they are.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<T, RefusedRequest> {
        let request = self.request(Method::POST, path).body(bytes);
        self.answer(request.header("content-type", "application/octet-stream"))
            .await
    }

    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, RefusedRequest> {
        self.answer(self.request(Method::PATCH, path).json(body))
            .await
    }

    /// Opens a stream: the answer's body is read later, without a timeout.
    pub(super) async fn open_stream(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, RefusedRequest> {
        let request = self.request(Method::POST, path).json(body);
        self.checked(request.header("accept", "text/event-stream"))
            .await
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, RefusedRequest> {
        let response = self.checked(request.timeout(REQUEST)).await?;
        response.json().await.map_err(|error| self.broken(&error))
    }

    async fn checked(&self, request: RequestBuilder) -> Result<Response, RefusedRequest> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    fn broken(&self, error: &reqwest::Error) -> RefusedRequest {
        let message = match &self.socket {
            Some(socket) => format!("nothing answers at the socket {}", socket.display()),
            None => format!("nothing answers at {}", self.base),
        };
        let mut cause = error.to_string();
        let mut below = std::error::Error::source(error);
        while let Some(deeper) = below {
            cause = deeper.to_string();
            below = deeper.source();
        }
        RefusedRequest {
            problem: Problem::new(ErrorCode::ProviderUnavailable, message)
                .cause(cause)
                .fix("start it there with `rooftree serve`, or correct the address"),
            is_passing: true,
            is_not_found: false,
        }
    }
}

/// The body of an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProblemBody {
    title: String,
    code: String,
    detail: Option<String>,
    hint: Option<String>,
}

async fn refused(response: Response) -> RefusedRequest {
    let status = response.status();
    let body: ProblemBody = response.json().await.unwrap_or_default();
    let code = ErrorCode::from_number(&body.code).unwrap_or(match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorCode::Unauthorized,
        _ => ErrorCode::ProviderUnavailable,
    });
    if status == StatusCode::UNAUTHORIZED {
        return refused_token(body);
    }
    let title = if body.title.is_empty() {
        format!("the server answered {status}")
    } else {
        body.title
    };
    let is_passing = status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
        );
    RefusedRequest {
        problem: Problem {
            code,
            message: title,
            cause: body.detail,
            fix: body.hint,
        },
        is_passing,
        is_not_found: status == StatusCode::NOT_FOUND,
    }
}

/// The server wants a token, and not this one.
fn refused_token(body: ProblemBody) -> RefusedRequest {
    let message = "the server does not accept the token: it is wrong, was revoked, or has ended";
    let mut problem = Problem::new(ErrorCode::Unauthorized, message).fix(
        "on the server: rooftree token list shows those there are, rooftree token create NAME makes one\n\
         here: ROOFTREE_TOKEN is used if it is set, else what rooftree auth set rooftree-server stored",
    );
    problem.cause = Some(body.title).filter(|title| !title.is_empty());
    RefusedRequest {
        problem,
        is_passing: false,
        is_not_found: false,
    }
}
