//! Parses one entry of `allow_private`: a private host, optionally with a port.

use std::{fmt, str::FromStr};

use rooftree_protocol::{ErrorCode, Problem};

use super::target::UrlTarget;

/// `localhost:8080`, `10.0.0.5`, `[::1]:3000`: what may be reached although it is not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateHost {
    host: String,
    /// None: every port.
    port: Option<u16>,
}

impl PrivateHost {
    /// Whether it is about this host and port.
    pub(crate) fn covers(&self, target: &UrlTarget) -> bool {
        self.host == target.host() && self.port.is_none_or(|port| port == target.port())
    }
}

impl FromStr for PrivateHost {
    type Err = Problem;

    /// Reads it as people write it, with the same understanding of hosts that URLs get.
    fn from_str(text: &str) -> Result<Self, Problem> {
        let wrong = |why: String| {
            Problem::new(
                ErrorCode::InvalidConfig,
                format!("`{text}` is no host that could be allowed"),
            )
            .cause(why)
            .fix("write host or host:port, for example \"localhost:8080\"")
        };
        if text.contains(['/', '?', '#', '*']) {
            return Err(wrong("it is more than a host and a port".to_owned()));
        }
        // A scheme's usual port is left out of its URLs; with two schemes it shows in one of them.
        let read = |scheme: &str| UrlTarget::parse(&format!("{scheme}://{}/", text.trim()));
        let (plain, encrypted) = (read("http"), read("https"));
        let plain = plain.map_err(|refusal| wrong(refusal.to_string()))?;
        let encrypted = encrypted.map_err(|refusal| wrong(refusal.to_string()))?;
        let port = plain.url().port().or(encrypted.url().port());
        Ok(Self {
            host: plain.host().to_owned(),
            port,
        })
    }
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => f.write_str(&self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_about_one_host_and_its_port() {
        let covers = |text: &str, url: &str| {
            text.parse::<PrivateHost>()
                .unwrap()
                .covers(&UrlTarget::parse(url).unwrap())
        };
        assert!(covers("localhost:8080", "http://LOCALHOST:8080/x"));
        assert!(
            covers("localhost:80", "http://localhost/")
                && !covers("localhost:80", "https://localhost/")
        );
        assert!(covers("127.0.0.1", "http://2130706433:99/"));
        assert!(covers("[::1]:3000", "http://[0::1]:3000/"));
        assert!(!covers("localhost:8080", "http://localhost:8081/"));
        assert!(!covers("localhost", "http://a.localhost/"));
    }

    #[test]
    fn what_is_no_host_is_said_with_a_way_out() {
        for text in [
            "",
            "http://localhost",
            "*.local",
            "a b",
            "localhost/x",
            "me@localhost",
            "h:99999",
        ] {
            let problem = text.parse::<PrivateHost>().unwrap_err();
            assert!(problem.fix.unwrap().contains("host:port"), "{text}");
        }
    }
}
