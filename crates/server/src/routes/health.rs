//! Whether the server lives. Open to everybody, so it says nothing else.

/// Says so.
pub(crate) async fn health() -> &'static str {
    "ok\n"
}
