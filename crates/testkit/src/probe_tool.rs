//! A test tool that counts its calls and can block them at a gate.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput, tool_info::ToolSubject};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A tool whose calls wait at a gate, if it has one.
pub struct ProbeTool {
    spec: ToolSpec,
    info: ToolInfo,
    gate: Option<Arc<Semaphore>>,
    started: Arc<AtomicU32>,
}

/// The test's handle of a probe.
#[derive(Clone)]
pub struct ProbeGate {
    gate: Arc<Semaphore>,
    started: Arc<AtomicU32>,
}

impl ProbeGate {
    /// Lets so many calls pass.
    pub fn open(&self, calls: usize) {
        self.gate.add_permits(calls);
    }

    /// How many calls have begun.
    pub fn started(&self) -> u32 {
        self.started.load(Ordering::SeqCst)
    }
}

impl ProbeTool {
    /// A tool that answers at once.
    pub fn open(name: &str, effect: Effect) -> Arc<dyn Tool> {
        Self::make(name, effect, None).0
    }

    /// A tool whose calls wait until the test lets them pass.
    pub fn gated(name: &str, effect: Effect) -> (Arc<dyn Tool>, ProbeGate) {
        Self::make(name, effect, Some(Arc::new(Semaphore::new(0))))
    }

    fn make(
        name: &str,
        effect: Effect,
        gate: Option<Arc<Semaphore>>,
    ) -> (Arc<dyn Tool>, ProbeGate) {
        let input_schema = json!({"type": "object"});
        let spec = ToolSpec {
            name: name.into(),
            description: "A tool for tests.".into(),
            input_schema,
        };
        let started = Arc::new(AtomicU32::new(0));
        let keeper = ProbeGate {
            gate: gate.clone().unwrap_or_else(|| Arc::new(Semaphore::new(0))),
            started: started.clone(),
        };
        (
            Arc::new(Self {
                spec,
                info: ToolInfo {
                    subject: ToolSubject::Agent("say"),
                    ..ToolInfo::at_run_time(ToolKind::Other, effect)
                },
                gate,
                started,
            }),
            keeper,
        )
    }
}

impl Tool for ProbeTool {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        if input.is_object() {
            Ok(input)
        } else {
            Err("input must be an object".into())
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (gate, started) = (self.gate.clone(), self.started.clone());
        Box::pin(async move {
            started.fetch_add(1, Ordering::SeqCst);
            if let Some(gate) = gate {
                tokio::select! {
                    permit = gate.acquire() => if let Ok(permit) = permit { permit.forget() },
                    () = context.cancel.cancelled() => {
                        return ToolOutput::failed(ErrorCode::ToolCancelled, "stopped half-way");
                    }
                }
            }
            match input.get("panic") {
                Some(_) => panic!("told to"),
                None => ToolOutput::done(input.get("say").and_then(Value::as_str).unwrap_or("ok")),
            }
        })
    }
}
