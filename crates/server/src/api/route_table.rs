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

use super::{ApiProblem, ApiState};

/// Writes a schema into a document.
pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// One route.
pub(crate) struct ApiRoute {
    pub(crate) method: Method,
    /// Below the prefix, parameters in braces.
    pub(crate) path: &'static str,
    /// What a token needs for it.
    pub(crate) scope: AccessScope,
    /// One sentence for the documentation.
    pub(crate) summary: &'static str,
    /// The parameters after `?`.
    pub(crate) query: Option<SchemaFn>,
    /// The JSON body of a request.
    pub(crate) body: Option<SchemaFn>,
    /// The answers besides errors: status and body.
    pub(crate) answers: Vec<(u16, Option<SchemaFn>)>,
    handler: MethodRouter<Arc<ApiState>>,
}

impl ApiRoute {
    pub(crate) fn get<H, T>(path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<ApiState>>,
        T: 'static,
    {
        Self::new(Method::GET, path, on(MethodFilter::GET, handler))
    }

    pub(crate) fn post<H, T>(path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<ApiState>>,
        T: 'static,
    {
        Self::new(Method::POST, path, on(MethodFilter::POST, handler))
    }

    pub(crate) fn patch<H, T>(path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Arc<ApiState>>,
        T: 'static,
    {
        Self::new(Method::PATCH, path, on(MethodFilter::PATCH, handler))
    }

    fn new(method: Method, path: &'static str, handler: MethodRouter<Arc<ApiState>>) -> Self {
        Self {
            method,
            path,
            // The widest scope, until the route says which one is enough.
            scope: AccessScope::Admin,
            summary: "",
            query: None,
            body: None,
            answers: Vec::new(),
            handler,
        }
    }

    /// The scope it needs, and one sentence.
    pub(crate) fn needs(mut self, scope: AccessScope, summary: &'static str) -> Self {
        (self.scope, self.summary) = (scope, summary);
        self
    }

    /// The type of the parameters after `?`.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// The type of the JSON body.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// An answer and the type of its body.
    pub(crate) fn answers<T: JsonSchema>(mut self, status: u16) -> Self {
        let schema: SchemaFn = |generator| generator.subschema_for::<T>();
        self.answers.push((status, Some(schema)));
        self
    }

    /// An answer without a body.
    pub(crate) fn answers_nothing(mut self, status: u16) -> Self {
        self.answers.push((status, None));
        self
    }
}

/// The router of a table. Invariant: every handler is behind the check of its scope.
pub(crate) fn router(routes: Vec<ApiRoute>) -> Router<Arc<ApiState>> {
    let mut router = Router::new();
    for route in routes {
        let scope = route.scope;
        let check = move |request: Request, next: Next| async move {
            check_scope(scope, request, next).await
        };
        router = router.route(route.path, route.handler.layer(from_fn(check)));
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
