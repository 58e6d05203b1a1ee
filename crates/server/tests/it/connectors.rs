//! Connectors: what arrives from chats, and who may do what there.

mod chat_scene;
mod commands;
mod delivery_once;
mod descendants;
mod fake_platform;
mod groups;
mod hooks;
mod lost_receipts;
mod messages;
mod pairing;
mod requests;
mod telegram;
