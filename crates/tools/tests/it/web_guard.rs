//! Who may be reached: a corpus of URLs, names that change their addresses, and random spellings.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::FutureExt;
use proptest::prelude::*;
use rooftree_tools::{
    WebConfig,
    web::{
        HostResolver,
        guard::{AdmittedUrl, NetworkGuard, WebError, passes},
    },
};
use serde_json::json;

use crate::web::{Site, Surfer, html, moved, names, web};

const CORPUS: &str = include_str!("../corpora/urls.txt");

/// Names as the corpus explains them.
fn corpus_names() -> HostResolver {
    Arc::new(|host| {
        let spelled = |end: &str| host.strip_suffix(end).map(str::to_owned);
        let address = if let Some(name) = spelled(".nip.io").or_else(|| spelled(".sslip.io")) {
            spelled_address(&name)
        } else if host.ends_with(".me") {
            IpAddr::from([127, 0, 0, 1])
        } else {
            IpAddr::from([93, 184, 216, 34])
        };
        Box::pin(async move { Ok(vec![address]) })
    })
}

/// `app.10.0.0.1`, `10-0-0-1` and `0a000001` are all 10.0.0.1.
fn spelled_address(name: &str) -> IpAddr {
    if let Ok(number) = u32::from_str_radix(name, 16)
        .map_err(|_| ())
        .and_then(|number| if name.len() == 8 { Ok(number) } else { Err(()) })
    {
        return Ipv4Addr::from(number).into();
    }
    let parts: Vec<&str> = name.split(['.', '-']).collect();
    parts[parts.len() - 4..].join(".").parse().unwrap()
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '\\' => match letters.next().unwrap() {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                '0' => '\0',
                'x' => {
                    let digits: String = letters.by_ref().take(2).collect();
                    char::from(u8::from_str_radix(&digits, 16).unwrap())
                }
                other => other,
            },
            other => other,
        });
    }
    out
}

fn corpus() -> Vec<(&'static str, String, Option<&'static str>)> {
    let lines = CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t');
            let (verdict, url) = (columns.next().unwrap(), columns.next().unwrap());
            (verdict, unescaped(url), columns.next())
        })
        .collect()
}

#[tokio::test]
async fn every_url_of_the_corpus_is_judged_right() {
    let guard = NetworkGuard::new(&WebConfig {
        resolver: corpus_names(),
        ..WebConfig::default()
    });
    let corpus = corpus();
    let benign = corpus
        .iter()
        .filter(|(verdict, ..)| *verdict == "allow")
        .count();
    assert!(
        corpus.len() >= 300 && benign * 5 >= corpus.len(),
        "{benign} of {} are benign",
        corpus.len()
    );
    let mut wrong = Vec::new();
    for (verdict, url, host) in &corpus {
        match (guard.admit(url).await, *verdict) {
            (Ok(admitted), "allow") if Some(admitted.host()) == *host => {}
            (Err(_), "deny") => {}
            (said, _) => wrong.push(format!("{verdict} {url:?}: {said:?}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn a_metadata_service_cannot_be_allowed() {
    let hosts = [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "metadata.google.internal",
        "mine.test",
    ];
    let allowed = hosts.map(str::to_owned);
    let guard = NetworkGuard::new(&web(
        &allowed,
        names(&[("mine.test", &["169.254.169.254"])]),
    ));
    for host in hosts {
        let refusal = guard.admit(&format!("http://{host}/")).await.unwrap_err();
        assert!(refusal.to_string().contains("never reached"), "{refusal}");
    }
}

#[tokio::test]
async fn a_host_of_ones_own_is_reached_when_it_is_allowed_and_only_then() {
    let resolver = names(&[("localhost", &["127.0.0.1"]), ("nas.lan", &["192.168.1.9"])]);
    let guard = NetworkGuard::new(&web(&["localhost:3000".into(), "nas.lan".into()], resolver));
    for url in [
        "http://localhost:3000/",
        "https://nas.lan/",
        "http://nas.lan:5000/",
    ] {
        assert!(guard.admit(url).await.is_ok(), "{url}");
    }
    let refusal = guard
        .admit("http://localhost:3001/")
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refusal.contains("allow_private = [\"localhost:3001\"]"),
        "{refusal}"
    );
}

#[tokio::test]
async fn one_bad_address_among_good_ones_is_enough() {
    let resolver: HostResolver = Arc::new(|_| {
        let both = ["93.184.216.34", "10.0.0.1"].map(|text| text.parse().unwrap());
        Box::pin(async move { Ok(both.to_vec()) })
    });
    assert!(
        NetworkGuard::new(&WebConfig {
            resolver,
            ..WebConfig::default()
        })
        .admit("http://two.example/")
        .await
        .is_err()
    );
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_connected_to_where_it_was_checked() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let resolver: HostResolver = Arc::new(move |_| {
        // Checked at 127.0.0.2; whoever resolves again gets the secret at 127.0.0.1.
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move { Ok(vec![IpAddr::from([127, 0, 0, if first { 2 } else { 1 }])]) })
    });
    let open = Site::at("127.0.0.2:0", |_| html("<p>checked</p>")).await;
    let secret = Site::at(&format!("127.0.0.1:{}", open.port()), |_| {
        html("<p>secret</p>")
    })
    .await;
    let surfer = Surfer::new(&web(&[format!("rebind.test:{}", open.port())], resolver));
    let text = surfer
        .done("WebFetch", json!({"url": open.url("rebind.test", "/")}))
        .await;
    assert!(
        text.contains("checked") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!((asked.load(Ordering::SeqCst), secret.asked().len()), (1, 0));
}

#[tokio::test]
async fn a_name_that_turns_private_between_redirects_is_refused() {
    let site = Site::answering(|asked| {
        if asked.line == "GET /" {
            moved("/next")
        } else {
            html("secret")
        }
    })
    .await;
    let resolver = names(&[("turn.test", &["127.0.0.1", "169.254.169.254"])]);
    let surfer = Surfer::new(&web(&[format!("turn.test:{}", site.port())], resolver));
    let text = surfer
        .failed("WebFetch", json!({"url": site.url("turn.test", "/")}))
        .await;
    assert!(
        text.contains("never reached") && site.asked().len() == 1,
        "{text}"
    );
}

/// Judges without a network.
fn judged(url: &str) -> Result<AdmittedUrl, WebError> {
    let guard = NetworkGuard::new(&WebConfig {
        resolver: corpus_names(),
        ..WebConfig::default()
    });
    // These names are known at once.
    guard.admit(url).now_or_never().unwrap()
}

/// One number in one of the bases a URL may have it in.
fn part(number: u32, base: u8) -> String {
    match base % 4 {
        0 => format!("0x{number:x}"),
        1 => format!("0{number:o}"),
        2 => format!("0X{number:08X}"),
        _ => number.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_break_the_guard(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        passes(&bytes);
    }

    #[test]
    fn what_passes_is_read_the_same_again(text in "(http|https|HTTP|file)://[ -~\u{ff10}-\u{ff5a}\u{3002}]{0,60}") {
        let read = judged(&text).map(|admitted| admitted.host().to_owned());
        prop_assert_eq!(read.is_ok(), judged(&text).is_ok());
        if let Ok(host) = read {
            prop_assert_eq!(judged(&format!("http://{host}/")).map(|again| again.host().to_owned()), Ok(host));
        }
    }

    #[test]
    fn an_address_is_judged_alike_in_every_spelling(number in any::<u32>(), bases in any::<[u8; 4]>()) {
        let address = Ipv4Addr::from(number);
        let [a, b, c, d] = address.octets().map(u32::from);
        let spellings = [
            part(number, bases[0]),
            format!("{}.{}", part(a, bases[0]), part(number & 0xff_ffff, bases[1])),
            format!("{}.{}.{}", part(a, bases[0]), part(b, bases[1]), part(number & 0xffff, bases[2])),
            format!("{}.{}.{}.{}.", part(a, bases[0]), part(b, bases[1]), part(c, bases[2]), part(d, bases[3])),
            format!("[::ffff:{address}]"),
            format!("[64:ff9b::{address}]"),
        ];
        let plain = judged(&format!("http://{address}/")).is_ok();
        for spelling in spellings {
            prop_assert_eq!(judged(&format!("http://{spelling}/")).is_ok(), plain, "{}", spelling);
        }
    }
}

#[test]
fn fuzz_the_url_guard() {
    const WORDS: [&str; 12] = [
        "http://",
        "https://",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "@",
        "%00",
        "localhost",
        "169.254.169.254",
        "xn--",
        "\u{3002}",
        "\u{ff0e}",
    ];
    let corpus = include_str!("../corpora/urls.txt");
    let seeds: Vec<&[u8]> = corpus
        .lines()
        .filter_map(|line| Some(line.split_once('\t')?.1.as_bytes()))
        .collect();
    rooftree_testkit::fuzz::run(&seeds, &WORDS, |input| {
        passes(input);
    });
}
