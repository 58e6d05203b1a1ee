//! What the server promises, over loopback.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod access;
mod agent_server;
mod answers;
mod api_agent_files;
mod api_context;
mod api_document;
mod api_idempotency;
mod api_outbox;
mod api_permissions;
mod api_questions;
mod api_runs;
mod api_scene;
mod api_schedules;
mod api_schemathesis;
mod api_server;
mod api_sessions;
mod api_topics;
mod callback_server;
mod callbacks;
mod chat_emulator;
mod connections;
mod connectors;
mod conversations;
mod delivery;
mod holding;
mod leaving;
mod listening;
mod page_fold;
mod page_modules;
mod refusals;
mod reply_html;
mod responses;
