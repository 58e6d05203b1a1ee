//! Connectors: what arrives from chats, and who may do what there.

mod chat_scene;
mod commands;
mod delivery_once;
mod fake_platform;
mod groups;
mod hooks;
mod messages;
mod pairing;
mod requests;
mod telegram;
