//! The table of API routes: method, path, scope, schemas and handler of each.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    handler::Handler,
    http::Method,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use rooftree_protocol::{AccessScope, AuthorizedCaller};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    ApiProblem, ApiState,
    extract::MAX_BODY,
    idempotency::{self, KeyUse},
};

/// Writes a schema into a document.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A body of a request or an answer.
pub(crate) struct RouteBody {
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// Its schema; none if it is not JSON.
    pub(crate) schema: Option<SchemaFn>,
}

impl RouteBody {
    fn json<T: JsonSchema>() -> Self {
        Self {
            media_type: "application/json",
            schema: Some(|generator| generator.subschema_for::<T>()),
        }
    }
}

/// An answer besides errors.
pub(crate) struct RouteAnswer {
    pub(crate) status: u16,
    /// Empty if it has no body; several if the request chooses.
    pub(crate) bodies: Vec<RouteBody>,
}

/// A header that a request may have.
pub(crate) struct RouteHeader {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
}

/// One route.
pub(crate) struct ApiRoute {
    pub(crate) method: Method,
    /// Below the prefix, parameters in braces.
    pub(crate) path: &'static str,
    /// What a token needs for it.
    pub(crate) scope: AccessScope,
    /// Whether it needs no token at all.
    pub(crate) is_public: bool,
    /// One sentence for the documentation.
    pub(crate) summary: &'static str,
    /// The parameters after `?`.
    pub(crate) query: Option<SchemaFn>,
    /// The headers it knows besides those of every request.
    pub(crate) headers: Vec<RouteHeader>,
    /// The body of a request.
    pub(crate) body: Option<RouteBody>,
    /// The answers besides errors.
    pub(crate) answers: Vec<RouteAnswer>,
    /// Statuses of errors besides those that follow from path, body and access.
    pub(crate) errors: Vec<u16>,
    /// Whether it may answer with a stream of events.
    pub(crate) is_stream: bool,
    /// How it treats idempotency keys.
    pub(crate) keys: KeyUse,
    /// The most bytes of a body.
    max_body: usize,
    handler: MethodRouter<Arc<ApiState>>,
}

/// Makes a constructor for each method.
macro_rules! methods {
    ($($name:ident: $method:ident),+ $(,)?) => {
        $(pub(crate) fn $name<H, T>(path: &'static str, handler: H) -> Self
        where
            H: Handler<T, Arc<ApiState>>,
            T: 'static,
        {
            Self::new(Method::$method, path, on(MethodFilter::$method, handler))
        })+
    };
}

impl ApiRoute {
    methods!(get: GET, post: POST, patch: PATCH, put: PUT, delete: DELETE);

    fn new(method: Method, path: &'static str, handler: MethodRouter<Arc<ApiState>>) -> Self {
        Self {
            keys: KeyUse::of_method(&method),
            max_body: MAX_BODY,
            method,
            path,
            // The widest scope, until the route says which one is enough.
            scope: AccessScope::Admin,
            is_public: false,
            summary: "",
            query: None,
            headers: Vec::new(),
            body: None,
            answers: Vec::new(),
            is_stream: false,
            errors: Vec::new(),
            handler,
        }
    }

    /// The scope it needs, and one sentence.
    pub(crate) fn needs(mut self, scope: AccessScope, summary: &'static str) -> Self {
        (self.scope, self.summary) = (scope, summary);
        self
    }

    /// Needs no token. The middleware lets through what it names, and nothing else.
    pub(crate) fn public(mut self, summary: &'static str) -> Self {
        (self.is_public, self.summary) = (true, summary);
        self
    }

    /// The type of the parameters after `?`.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(|generator| T::json_schema(generator));
        self
    }

    /// A header it knows.
    pub(crate) fn header(mut self, name: &'static str, summary: &'static str) -> Self {
        self.headers.push(RouteHeader { name, summary });
        self
    }

    /// The type of the JSON body.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(RouteBody::json::<T>());
        self
    }

    /// It may answer with a stream of events.
    pub(crate) fn streams(mut self) -> Self {
        (self.is_stream, self.keys) = (true, KeyUse::None);
        self.answers_raw(200, "text/event-stream")
    }

    /// A body that is not JSON.
    pub(crate) fn raw_body(mut self, media_type: &'static str) -> Self {
        let schema = None;
        self.body = Some(RouteBody { media_type, schema });
        // Bytes are stored by what they are: uploading them again changes nothing.
        self.keys = KeyUse::None;
        self
    }

    /// How it treats idempotency keys, if not by storing its answer.
    pub(crate) fn keys(mut self, keys: KeyUse) -> Self {
        self.keys = keys;
        self
    }

    /// The same, with the header of idempotency keys if it heeds them.
    pub(crate) fn with_key_header(self) -> Self {
        let summary = match self.keys {
            KeyUse::None => return self,
            KeyUse::Stored => {
                "The same request with the same key returns the first answer for a day; another request with it is refused"
            }
            KeyUse::Secret => {
                "The same request with the same key is carried out once; its answer is not repeated, because it holds a secret"
            }
        };
        self.header("Idempotency-Key", summary).fails(&[409])
    }

    /// A JSON body may have so many bytes.
    pub(crate) fn large_body(mut self, most: usize) -> Self {
        self.max_body = most;
        self
    }

    /// An answer and the type of its body. Several of the same status are alternatives.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16) -> Self {
        self.answer(status, Some(RouteBody::json::<T>()))
    }

    /// An answer that is not JSON.
    pub(crate) fn answers_raw(self, status: u16, media_type: &'static str) -> Self {
        let schema = None;
        self.answer(status, Some(RouteBody { media_type, schema }))
    }

    /// An answer without a body.
    pub(crate) fn answers_nothing(self, status: u16) -> Self {
        self.answer(status, None)
    }

    fn answer(mut self, status: u16, body: Option<RouteBody>) -> Self {
        match self.answers.iter_mut().find(|known| known.status == status) {
            Some(known) => known.bodies.extend(body),
            None => self.answers.push(RouteAnswer {
                status,
                bodies: body.into_iter().collect(),
            }),
        }
        self
    }

    /// Statuses of errors besides those that follow from path, body and access.
    pub(crate) fn fails(mut self, statuses: &[u16]) -> Self {
        self.errors.extend(statuses);
        self
    }
}

/// The router of a table. Invariant: every handler that is not public is behind the check of its scope.
pub(crate) fn router(routes: Vec<ApiRoute>, state: &Arc<ApiState>) -> Router<Arc<ApiState>> {
    let mut router = Router::new();
    for route in routes {
        let scope = (!route.is_public).then_some(route.scope);
        let check = move |request: Request, next: Next| async move {
            match scope {
                Some(scope) => check_scope(scope, request, next).await,
                None => next.run(request).await,
            }
        };
        let (keys, state) = ((route.keys, route.max_body), state.clone());
        let keep = move |request: Request, next: Next| {
            idempotency::keep(state.clone(), keys, request, next)
        };
        // The scope is checked first: a request that is not allowed takes no key.
        let handler = route.handler.route_layer(from_fn(keep));
        router = router.route(route.path, handler.route_layer(from_fn(check)));
    }
    router
}

async fn check_scope(scope: AccessScope, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<AuthorizedCaller>();
    match caller {
        None => ApiProblem::unauthorized().into_response(),
        Some(caller) if !caller.scopes.allow(scope) => {
            ApiProblem::missing_scope(scope).into_response()
        }
        Some(_) => next.run(request).await,
    }
}
