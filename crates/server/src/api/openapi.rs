//! The OpenAPI 3.1 document, made from the table of routes.

use rooftree_protocol::api_paths::API_PREFIX;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    ApiProblem,
    route_table::{ApiRoute, RouteAnswer, RouteBody},
};

/// Errors that every route can answer with.
const COMMON_ERRORS: [u16; 5] = [401, 403, 429, 500, 503];
/// Errors of requests with a body.
const BODY_ERRORS: [u16; 5] = [400, 408, 413, 415, 422];

/// The document of these routes.
pub(crate) fn document(routes: &[ApiRoute]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ApiProblem>();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let path = format!("{API_PREFIX}{}", route.path);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        let operation = operation(route, &mut generator);
        if let Some(methods) = methods.as_object_mut() {
            methods.insert(route.method.as_str().to_lowercase(), operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Rooftree",
            "version": "1",
            "description": "Sessions, messages, runs, permissions and agents over HTTP.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": {
                "description": "The request failed; `code`, `detail` and `hint` say why and what to do.",
                "content": {"application/problem+json": {"schema": problem}},
            }},
            "schemas": generator.take_definitions(true),
        },
    })
}

fn operation(route: &ApiRoute, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for answer in &route.answers {
        responses.insert(answer.status.to_string(), answered(answer, generator));
    }
    for status in errors(route) {
        let problem = json!({"$ref": "#/components/responses/Problem"});
        responses.entry(status.to_string()).or_insert(problem);
    }
    let tag = route.path.split('/').nth(1).unwrap_or_default();
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [tag],
        "parameters": parameters(route, generator),
        "responses": responses,
    });
    if let Some(operation) = operation.as_object_mut() {
        let (key, access) = if route.is_public {
            ("security", json!([]))
        } else {
            ("x-scope", json!(route.scope))
        };
        operation.insert(key.into(), access);
        if let Some(body) = &route.body {
            let body = json!({"required": true, "content": content([body].into_iter(), generator)});
            operation.insert("requestBody".into(), body);
        }
    }
    operation
}

/// The statuses of errors of a route: its own, and those that follow from path, query, body and access.
fn errors(route: &ApiRoute) -> Vec<u16> {
    let mut statuses = COMMON_ERRORS.to_vec();
    statuses.extend(&route.errors);
    if route.path.contains('{') {
        statuses.push(404);
    }
    if route.body.is_some() {
        statuses.extend(BODY_ERRORS);
    }
    if route.query.is_some() || !route.headers.is_empty() {
        // Named sessions and runs may not be there.
        statuses.extend([404, 422]);
    }
    statuses
}

fn answered(answer: &RouteAnswer, generator: &mut SchemaGenerator) -> Value {
    let description = match answer.status {
        200 => "Done.",
        201 => "Made.",
        202 => "Accepted; events tell what comes of it.",
        _ => "Done; there is nothing to tell.",
    };
    if answer.bodies.is_empty() {
        return json!({"description": description});
    }
    json!({"description": description, "content": content(answer.bodies.iter(), generator)})
}

fn content<'a>(
    bodies: impl Iterator<Item = &'a RouteBody>,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut content = Map::new();
    for body in bodies {
        let schema = match body.schema {
            Some(schema) => json!({"schema": schema(generator)}),
            None => json!({}),
        };
        content.insert(body.media_type.into(), schema);
    }
    content.into()
}

fn parameters(route: &ApiRoute, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = Vec::new();
    for name in path_parameters(route.path) {
        parameters.push(json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": {"type": "string"},
        }));
    }
    if let Some(schema) = route.query {
        parameters.extend(query_parameters(&schema(generator).to_value()));
    }
    for header in &route.headers {
        parameters.push(json!({
            "name": header.name,
            "in": "header",
            "description": header.summary,
            "schema": {"type": "string"},
        }));
    }
    parameters.into()
}

/// The parameters after `?`, from the schema of the type that holds them.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"));
        // What may be absent is absent: a query has no null.
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|kind| kind != "null");
        }
        json!({
            "name": name,
            "in": "query",
            "required": is_required(name),
            "description": description.unwrap_or_default(),
            "schema": schema,
        })
    };
    properties.into_iter().flatten().map(parameter).collect()
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
}

/// `getSessionsSessionMessages` for `GET /sessions/{session}/messages`.
fn operation_id(route: &ApiRoute) -> String {
    let mut id = route.method.as_str().to_lowercase();
    let words = route.path.split(|letter: char| !letter.is_alphanumeric());
    for word in words {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            id.extend(first.to_uppercase());
            id.push_str(letters.as_str());
        }
    }
    id
}
