//! All limits of runs, requests and delegation, with their defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every bound there is. Absent values in a definition keep these defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model replies per run.
    pub max_turns: u32,
    /// Seconds a run may take, waiting for people not counted. Zero: no limit.
    pub run_timeout_secs: u64,
    /// US dollars a run may cost, as far as prices are known; no limit if absent.
    pub max_cost_usd: Option<f64>,
    /// Calls of one reply that run at the same time.
    pub concurrent_calls: usize,
    /// Calls that commands of an agent make from inside one running call, all in all.
    pub inner_calls: u32,
    /// Messages waiting in one inbox before posters are refused.
    pub inbox: u64,
    /// Characters of one tool result that a model reads; the rest is kept in a blob.
    pub result_chars: usize,
    /// The same call with the same input, in a row, before the run is ended.
    pub identical_calls: u32,
    /// Times a failed request to a model is made again.
    pub retries: u32,
    /// Seconds until a question to a person is answered with no.
    pub permission_ttl_secs: u64,
    /// Tokens a model can read when it does not say.
    pub context_window: u64,
    /// Percent of the window that may be full before the context is made smaller.
    pub compact_at_percent: u8,
    /// Tokens of conversation above which the context is started anew if a summary does not help, also where the
    /// model's window is larger. Zero: only the window counts.
    pub emergency_context: u64,
    /// Times in a row a reply that hit the model's output limit is continued.
    pub continuations: u32,
    /// Bytes of images one request may carry; older ones are told in words.
    pub media_bytes: u64,
    /// Bytes of one image or file in a message.
    pub attachment_bytes: u64,
    /// Model replies of a delegated run, where nothing else says how many.
    pub child_turns: u32,
    /// How deep delegation goes: with one, those delegated to cannot delegate.
    pub depth: u32,
    /// Delegated runs of one session that are at work at the same time.
    pub children: usize,
    /// Delegated runs below one root that are at work at the same time.
    pub descendants: usize,
    /// Seconds a call waits for the run it delegated to before it goes on without it.
    pub delegation_timeout_secs: u64,
    /// Characters of a delegated run's answer that the one who asked reads.
    pub answer_chars: usize,
    /// Times work is given back when verifiers find it wanting.
    pub verify_attempts: u32,
    /// Bytes of instruction files (AGENTS.md and the like) an agent reads.
    pub instruction_bytes: usize,
    /// Bytes of its memory an agent reads when it wakes.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 200,
            run_timeout_secs: 0,
            max_cost_usd: None,
            concurrent_calls: 16,
            inner_calls: 500,
            inbox: 10_000,
            result_chars: 30_000,
            identical_calls: 5,
            retries: 5,
            permission_ttl_secs: 3600,
            context_window: 200_000,
            compact_at_percent: 80,
            emergency_context: 200_000,
            continuations: 3,
            media_bytes: 16 * 1024 * 1024,
            attachment_bytes: 20 * 1024 * 1024,
            child_turns: 30,
            depth: 1,
            children: 16,
            descendants: 64,
            delegation_timeout_secs: 300,
            answer_chars: 10_000,
            verify_attempts: 3,
            instruction_bytes: 32 * 1024,
            memory_bytes: 25 * 1024,
        }
    }
}
