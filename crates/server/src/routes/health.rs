//! Health check. It needs no token, so it says nothing else.

/// Says so.
pub(crate) async fn health() -> &'static str {
    "ok\n"
}
