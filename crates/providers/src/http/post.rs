//! A POST request: URL, headers and body.

/// A POST with a JSON body.
#[derive(Clone, Default)]
pub struct HttpPost {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// Headers that contain keys; never printed.
    pub(super) secrets: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpPost {
    /// A POST to this URL.
    pub fn to(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// A POST with a JSON body.
    pub fn json(url: impl Into<String>, body: Vec<u8>) -> Self {
        Self::to(url).body(body)
    }

    /// Sets a JSON body that is already serialized, because its bytes matter.
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a header that contains a key.
    pub fn secret(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.secrets.push((name, value.into()));
        self
    }
}
