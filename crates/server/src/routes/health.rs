//! Whether the server lives. Open to everybody, so it says nothing else.

/// Says so.
pub(crate) async fn say() -> &'static str {
    "ok\n"
}
