//! The proxy that confined programs have: who is reached through it, who is not, and what is said then.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rooftree_protocol::HostPattern;
use rooftree_tools::{
    WebConfig,
    proxy::{ProxyRefusals, SandboxProxy},
    web::{HostResolver, guard::NetworkGuard},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::web::{Site, html, names, web};

/// A proxy that listens where a test can reach it.
struct Way {
    address: String,
    refused: ProxyRefusals,
    answering: JoinHandle<()>,
}

impl Way {
    async fn new(hosts: &[&str], web: &WebConfig) -> Self {
        let hosts: Vec<HostPattern> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let refused = ProxyRefusals::default();
        let proxy = SandboxProxy::new(&hosts, NetworkGuard::new(web), refused.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self {
            address,
            refused,
            answering: tokio::spawn(async move { proxy.answer(listener).await }),
        }
    }

    /// Says something, and all that is answered.
    async fn ask(&self, said: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        String::from_utf8_lossy(&heard).into_owned()
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.answering.abort();
    }
}

/// A server that is `site.test` and `cdn.site.test`, and a web that may reach both on loopback.
async fn site() -> (Site, WebConfig) {
    let site = Site::answering(|asked| html(&format!("hello {}", asked.headers["host"]))).await;
    let table: [(&str, &[&str]); 3] = [
        ("site.test", &["127.0.0.1"]),
        ("cdn.site.test", &["127.0.0.1"]),
        ("other.test", &["127.0.0.1"]),
    ];
    let allowed =
        ["site.test", "cdn.site.test", "other.test"].map(|host| format!("{host}:{}", site.port()));
    let web = web(&allowed, names(&table));
    (site, web)
}

#[tokio::test]
async fn a_host_of_the_list_is_reached_in_plain_text_and_through_a_tunnel() {
    let (site, web) = site().await;
    let port = site.port();
    let way = Way::new(&["site.test", "*.site.test"], &web).await;
    for host in ["site.test", "cdn.site.test", "SITE.test."] {
        let plain = way
            .ask(&format!(
                "GET http://{host}:{port}/page?a HTTP/1.1\r\nHost: evil.test\r\n\r\n"
            ))
            .await;
        let named = host.trim_end_matches('.').to_lowercase();
        assert!(plain.ends_with(&format!("hello {named}:{port}")), "{plain}");
        let tunnel = format!(
            "CONNECT {host}:{port} HTTP/1.1\r\n\r\nGET /in HTTP/1.1\r\nhost: inner\r\n\r\n"
        );
        let heard = way.ask(&tunnel).await;
        assert!(
            heard.starts_with("HTTP/1.1 200") && heard.ends_with("hello inner"),
            "{heard}"
        );
    }
    assert_eq!(site.asked()[0].line, "GET /page?a");
    assert!(way.refused.news().is_empty());
}

#[tokio::test]
async fn a_host_that_is_not_on_the_list_is_refused_by_name_with_the_setting_that_would_allow_it() {
    let (site, web) = site().await;
    let port = site.port();
    let way = Way::new(&["site.test"], &web).await;
    for request in [
        "GET http://other.test:{}/ HTTP/1.1\r\n\r\n",
        "CONNECT cdn.site.test:{} HTTP/1.1\r\n\r\n",
    ] {
        let heard = way.ask(&request.replace("{}", &port.to_string())).await;
        assert!(
            heard.starts_with("HTTP/1.1 403") && heard.contains("[sandbox] network"),
            "{heard}"
        );
    }
    let noted = way.refused.news();
    assert_eq!(noted.len(), 2);
    assert!(
        noted[0].starts_with("[network: other.test is not on the list"),
        "{noted:?}"
    );
    assert!(noted[1].contains("[\"cdn.site.test\", …]"), "{noted:?}");
    assert!(site.asked().is_empty());
}

#[tokio::test]
async fn names_that_are_not_on_the_list_are_not_looked_up() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let resolver: HostResolver = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Err(std::io::Error::other("no such name")) })
    });
    let way = Way::new(&["listed.example"], &web(&[], resolver)).await;
    assert!(
        way.ask("CONNECT secret.evil.example:443 HTTP/1.1\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 403")
    );
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert!(
        way.ask("CONNECT listed.example:443 HTTP/1.1\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 502")
    );
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

/// What a list that names everybody still does not reach.
const NEVER: [(&str, &str); 12] = [
    ("CONNECT 127.0.0.1:80", "403"),
    ("CONNECT 2130706433:80", "403"),
    ("CONNECT [::1]:443", "403"),
    ("CONNECT [::ffff:10.0.0.1]:443", "403"),
    ("CONNECT 169.254.169.254:80", "403"),
    ("CONNECT metadata.google.internal:80", "403"),
    ("CONNECT localhost:443", "403"),
    ("CONNECT inside.example:443", "403"),
    ("CONNECT cloud.example:80", "403"),
    ("CONNECT 1.1.1.1:22", "403"),
    ("CONNECT 1.1.1.1:8080", "403"),
    ("GET http://cloud.example/latest/meta-data/", "403"),
];

#[tokio::test]
async fn a_list_does_not_reach_what_is_not_public() {
    let table: [(&str, &[&str]); 2] = [
        ("inside.example", &["10.1.2.3"]),
        ("cloud.example", &["169.254.169.254"]),
    ];
    let way = Way::new(
        &["*", "inside.example", "127.0.0.1"],
        &web(&[], names(&table)),
    )
    .await;
    for (line, status) in NEVER {
        let heard = way.ask(&format!("{line} HTTP/1.1\r\n\r\n")).await;
        assert!(
            heard.starts_with(&format!("HTTP/1.1 {status}")),
            "{line}: {heard}"
        );
    }
    // Two of them are others in another spelling.
    assert_eq!(way.refused.news().len(), NEVER.len() - 2);
}

#[tokio::test]
async fn what_is_no_request_to_a_proxy_is_told_so() {
    let way = Way::new(&["*"], &WebConfig::default()).await;
    for said in [
        "GET / HTTP/1.1\r\n\r\n",
        "CONNECT a.test HTTP/1.1\r\n\r\n",
        "\u{5}\u{1}\0\r\n\r\n",
    ] {
        let heard = way.ask(said).await;
        assert!(heard.starts_with("HTTP/1.1 400"), "{said:?}: {heard}");
    }
    let endless = format!("GET http://a.test/ HTTP/1.1\r\nx: {}", "a".repeat(100_000));
    assert!(way.ask(&endless).await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn curl_goes_through_it_and_shows_why_not() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("left out: there is no curl");
        return;
    }
    let (site, web) = site().await;
    let way = Way::new(&["site.test"], &web).await;
    for (host, options, wanted) in [
        ("site.test", &[][..], "hello"),
        ("site.test", &["--proxytunnel"][..], "hello"),
        ("other.test", &[][..], "not on the list"),
        ("other.test", &["--proxytunnel"][..], "403"),
    ] {
        let mut curl = tokio::process::Command::new("curl");
        curl.args([
            "-sS",
            "-m",
            "30",
            "--noproxy",
            "",
            "-x",
            &way.address,
            &site.url(host, "/"),
        ]);
        let output = curl.args(options).output().await.unwrap();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(said.contains(wanted), "{host} {options:?}: {said}");
    }
}
