//! The event stream behind nginx with its default buffering, while the server is killed in the middle of a reply.

use std::{
    collections::{BTreeMap, HashMap},
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rooftree_client::{RemoteClient, RemoteOptions, RetryPauses, RuntimeClient, Watch};
use rooftree_protocol::{
    Address, Delivery, EventBody, MessageId, Origin, Part, SessionId,
    command::{Command as RuntimeCommand, CommandReply, NewSession},
};
use rooftree_view::{SessionStart, StreamCursor, StreamFrame, StreamRequest};

use super::{PATIENCE, remote::start, until};
use crate::run::fixture::Desk;

/// How long the server behind nginx is down.
const DOWN: Duration = Duration::from_secs(3);
/// Deltas after which the server is killed.
const SHOWN: usize = 12;

/// Where Debian puts it, which is not on everyone's path.
const NGINX: &str = "/usr/sbin/nginx";

struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    /// Before a server on this port. Buffering is nginx's own default.
    fn before(server: u16, directory: &Path) -> Self {
        let port = free_port();
        let place = directory.display();
        let config = format!(
            "daemon off;\nmaster_process off;\npid {place}/nginx.pid;\nerror_log {place}/error.log;\n\
             events {{}}\nhttp {{\n  access_log off;\n  client_body_temp_path {place}/body;\n  \
             proxy_temp_path {place}/proxy;\n  fastcgi_temp_path {place}/fastcgi;\n  \
             uwsgi_temp_path {place}/uwsgi;\n  scgi_temp_path {place}/scgi;\n  server {{\n    \
             listen 127.0.0.1:{port};\n    location / {{\n      proxy_pass http://127.0.0.1:{server};\n      \
             proxy_http_version 1.1;\n    }}\n  }}\n}}\n"
        );
        let file = directory.join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(NGINX);
        command
            .args(["-e", "stderr", "-p"])
            .arg(directory)
            .arg("-c")
            .arg(&file);
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("nginx", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, port }
    }

    /// The status of an answer that needs no token.
    fn status(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = "GET /api/v1/me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Steps with a call each, then a long reply in small pieces.
fn script() -> String {
    let mut script = String::new();
    for step in 0..6 {
        script += &format!(
            "[[reply]]\ntext = \"Step {step}.\"\n[[reply.call]]\ntool = \"Glob\"\ninput = {{ pattern = \"*.{step}\" }}\n"
        );
    }
    script
        + &format!(
            "[[reply]]\ntext = {:?}\nchunk = 7\npace = \"20ms\"\n",
            long_text()
        )
}

fn long_text() -> String {
    (0..60)
        .map(|number| format!("Line {number}: ä€😀. "))
        .collect()
}

fn post() -> RuntimeCommand {
    RuntimeCommand::Post {
        to: Address::Create(NewSession {
            agent: "lead".into(),
            cwd: "".into(),
            name: None,
            model: None,
        }),
        parts: vec![Part::text("go")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    }
}

fn whole(session: &SessionId) -> StreamRequest {
    let cursor = StreamCursor {
        after: Some(0),
        tree: true,
        ..StreamCursor::default()
    };
    StreamRequest {
        sessions: BTreeMap::from([(session.clone(), SessionStart::Detailed(cursor))]),
        ..StreamRequest::default()
    }
}

/// Says what is wrong with what a client received: events that are missing, twice or out of order, and text of a reply
/// that is not the one that was stored.
fn check(frames: &[StreamFrame], stored: u64) -> Result<(), String> {
    let mut drafts: HashMap<MessageId, String> = HashMap::new();
    let mut next = 1;
    for frame in frames {
        let event = match frame {
            StreamFrame::Event(event) => event,
            StreamFrame::Snapshot(snapshot) => {
                let told = snapshot.messages.iter();
                drafts.extend(told.map(|draft| (draft.id.clone(), draft.text.clone())));
                continue;
            }
            _ => continue,
        };
        if let Some(id) = event.id {
            if id != next {
                return Err(format!("event {id} where {next} was due"));
            }
            next += 1;
        }
        match &event.body {
            EventBody::MessageDelta {
                text,
                place: Some(place),
            } => {
                let draft = drafts.entry(place.message.clone()).or_default();
                if draft.len() as u64 != place.at {
                    return Err(format!(
                        "a piece at {} after {} bytes",
                        place.at,
                        draft.len()
                    ));
                }
                draft.push_str(text);
            }
            EventBody::MessageCompleted(reply) => {
                let draft = reply.message.as_ref().and_then(|id| drafts.get(id));
                if draft.is_some_and(|draft| *draft != reply.text) {
                    return Err(format!("{draft:?} is not {:?}", reply.text));
                }
            }
            _ => {}
        }
    }
    if next == stored + 1 {
        Ok(())
    } else {
        Err(format!("{} of {stored} events", next - 1))
    }
}

fn is_delta(frame: &StreamFrame) -> bool {
    matches!(frame, StreamFrame::Event(event) if matches!(event.body, EventBody::MessageDelta { .. }))
}

fn is_end(frame: &StreamFrame) -> bool {
    matches!(frame, StreamFrame::Event(event) if matches!(event.body, EventBody::RunCompleted(_)))
}

/// Reads frames until enough were read.
async fn read(
    watch: &mut Watch,
    frames: &mut Vec<StreamFrame>,
    is_enough: impl Fn(&[StreamFrame]) -> bool,
) {
    while !is_enough(frames) {
        let next = tokio::time::timeout(PATIENCE, watch.next_frame()).await;
        let frame = next.unwrap().unwrap().unwrap();
        frames.push(frame);
    }
}

#[tokio::test]
async fn a_server_that_is_killed_behind_nginx_loses_and_repeats_nothing() {
    if !Path::new(NGINX).exists() {
        eprintln!("left out: {NGINX} is missing (install nginx-light)");
        return;
    }
    let desk = Desk::new(&script());
    let made = ["token", "create", "watcher", "--scope", "chat"];
    let token = desk.house.rooftree(&made).well().trim().to_owned();
    let port = free_port();
    let (mut server, _) = start(&desk, &port.to_string());
    let directory = tempfile::tempdir().unwrap();
    let nginx = Nginx::before(port, directory.path());
    let mut options = RemoteOptions::new(format!("http://127.0.0.1:{}", nginx.port)).token(token);
    options.pauses = RetryPauses {
        first: Duration::from_millis(50),
        longest: Duration::from_millis(400),
    };
    let client = RemoteClient::new(options).unwrap();
    let CommandReply::Accepted { session, .. } = client.send(post()).await.unwrap() else {
        panic!("it is accepted")
    };
    let mut watch = client.watch(whole(&session));
    let mut frames = Vec::new();
    // Small pieces come through at once: nginx does not buffer this answer, because the server tells it so.
    let last_steps = |frames: &[StreamFrame]| {
        let deltas = frames.iter().filter(|frame| is_delta(frame)).count();
        deltas >= SHOWN + 12
    };
    read(&mut watch, &mut frames, last_steps).await;
    assert!(!frames.iter().any(is_end), "in the middle of the reply");
    server.kill().unwrap();
    server.wait().unwrap();
    let killed = Instant::now();
    while killed.elapsed() < DOWN {
        assert_eq!(nginx.status(), "502");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (mut server, _) = start(&desk, &port.to_string());
    read(&mut watch, &mut frames, |frames| {
        frames.last().is_some_and(is_end)
    })
    .await;
    let stored = client.events(&session, 0, 1_000).await.unwrap();
    let count = stored.len() as u64;
    assert!(count > 20, "{count} events");
    check(&frames, count).unwrap();
    let end = frames.last().unwrap();
    let StreamFrame::Event(end) = end else {
        panic!("{end:?}")
    };
    let EventBody::RunCompleted(end) = &end.body else {
        panic!("{end:?}")
    };
    assert_eq!(end.text, long_text());
    // The same check refuses what was received if any durable event, or any piece of the reply, were lost.
    for lost in 0..frames.len() {
        if matches!(&frames[lost], StreamFrame::Event(event) if event.id.is_some()) {
            let mut fewer = frames.clone();
            fewer.remove(lost);
            assert!(check(&fewer, count).is_err(), "frame {lost}");
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
}
