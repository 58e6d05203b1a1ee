//! Spans as OTLP JSON (OpenTelemetry protocol): one trace, one span for each run, each wait, each request to a model
//! and each tool call.

use rooftree_protocol::{RunStatus, Timestamp};
use serde_json::{Value, json};

use crate::{RunSpan, TraceStep, TraceStepKind, WaitCause, WaitSpan};

/// The kind of a span that is neither a client nor a server.
const INTERNAL: u8 = 1;
/// Status codes of OTLP.
const OK: u8 = 1;
const ERROR: u8 = 2;

/// The body of an OTLP request with these spans, which are one tree or several of one session.
pub fn otlp_json(spans: &[RunSpan]) -> Value {
    let trace = spans
        .first()
        .map_or(0, |root| fingerprint(root.run.as_str(), 1));
    let trace = format!("{trace:032x}");
    let mut above: Vec<&RunSpan> = Vec::new();
    let mut written = Vec::new();
    for span in spans {
        above.truncate(span.depth);
        written.push(run_span(&trace, span, above.last().copied()));
        let waits = span.waits.iter().enumerate();
        written.extend(waits.map(|(number, wait)| wait_span(&trace, span, wait, number)));
        let steps = span.steps.iter().enumerate();
        let before = span.waits.len() + span.earlier_steps;
        written.extend(steps.map(|(at, step)| step_span(&trace, span, step, before + at)));
        above.push(span);
    }
    let service = attribute("service.name", &"rooftree".into());
    json!({"resourceSpans": [{
        "resource": {"attributes": [service]},
        "scopeSpans": [{"scope": {"name": "rooftree"}, "spans": written}],
    }]})
}

fn run_span(trace: &str, span: &RunSpan, above: Option<&RunSpan>) -> Value {
    let usage = &span.usage;
    let status = match span.status {
        Some(RunStatus::Completed) => json!({"code": OK}),
        Some(RunStatus::Failed) => json!({"code": ERROR, "message": span.failure}),
        _ => json!({}),
    };
    json!({
        "traceId": trace,
        "spanId": span_id(span.run.as_str(), 0),
        "parentSpanId": above.map_or_else(String::new, |above| span_id(above.run.as_str(), 0)),
        "name": format!("invoke_agent {}", span.agent),
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(span.from),
        "endTimeUnixNano": nanos(span.to),
        "attributes": [
            attribute("gen_ai.operation.name", &"invoke_agent".into()),
            attribute("gen_ai.agent.name", &span.agent.as_str().into()),
            attribute("gen_ai.request.model", &span.model.as_str().into()),
            attribute("gen_ai.usage.input_tokens", &usage.input.into()),
            attribute("gen_ai.usage.output_tokens", &usage.output.into()),
            attribute("rooftree.run", &span.run.as_str().into()),
            attribute("rooftree.cost_usd", &usage.cost_usd.into()),
        ],
        "status": status,
    })
}

fn wait_span(trace: &str, span: &RunSpan, wait: &WaitSpan, number: usize) -> Value {
    let cause = match wait.cause {
        WaitCause::Person => "wait person",
        WaitCause::Provider => "wait provider",
    };
    json!({
        "traceId": trace,
        "spanId": span_id(span.run.as_str(), number + 1),
        "parentSpanId": span_id(span.run.as_str(), 0),
        "name": cause,
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(wait.from),
        "endTimeUnixNano": nanos(wait.to),
        "attributes": [],
        "status": {},
    })
}

/// `number` tells it apart from waits and other steps of its run.
fn step_span(trace: &str, span: &RunSpan, step: &TraceStep, number: usize) -> Value {
    let (operation, key) = match step.kind {
        TraceStepKind::Model => ("chat", "gen_ai.request.model"),
        TraceStepKind::Tool => ("execute_tool", "gen_ai.tool.name"),
    };
    let mut attributes = vec![
        attribute("gen_ai.operation.name", &operation.into()),
        attribute(key, &step.name.as_str().into()),
    ];
    if let Some(usage) = &step.usage {
        attributes.extend([
            attribute("gen_ai.usage.input_tokens", &usage.input.into()),
            attribute("gen_ai.usage.output_tokens", &usage.output.into()),
            attribute("rooftree.cost_usd", &usage.cost_usd.into()),
        ]);
    }
    let status = match step.outcome {
        Some(outcome) if outcome.is_done() => json!({"code": OK}),
        Some(_) => json!({"code": ERROR}),
        None => json!({}),
    };
    json!({
        "traceId": trace,
        "spanId": span_id(span.run.as_str(), number + 1),
        "parentSpanId": span_id(span.run.as_str(), 0),
        "name": format!("{operation} {}", step.name),
        "kind": INTERNAL,
        "startTimeUnixNano": nanos(step.from),
        "endTimeUnixNano": nanos(step.to.unwrap_or(span.to)),
        "attributes": attributes,
        "status": status,
    })
}

/// An attribute of a span. OTLP writes whole numbers as text.
fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        other => json!({"stringValue": other}),
    };
    json!({"key": key, "value": value})
}

fn nanos(at: Timestamp) -> String {
    (i128::from(at.0) * 1_000_000).to_string()
}

fn span_id(run: &str, number: usize) -> String {
    let id = fingerprint(run, number as u128 + 2) as u64;
    format!("{:016x}", id.max(1))
}

/// FNV-1a over 128 bits: ids of OTLP have a fixed length and must be the same each time a trace is written.
fn fingerprint(text: &str, salt: u128) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128 ^ salt;
    for byte in text.bytes() {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{super::waterfall::tests::family, *};

    #[test]
    fn a_trace_has_ids_of_the_right_length_and_children_below_their_parents() {
        let written = otlp_json(&family());
        let spans = &written["resourceSpans"][0]["scopeSpans"][0]["spans"];
        let spans = spans.as_array().unwrap();
        // Four runs, one wait for a person, one for a provider.
        assert_eq!(spans.len(), 6);
        for span in spans {
            assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
            assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        }
        assert_eq!(spans[0]["parentSpanId"], "");
        assert_eq!(spans[1]["parentSpanId"], spans[0]["spanId"]);
        assert_eq!(spans[5]["name"], "wait provider");
    }
}
