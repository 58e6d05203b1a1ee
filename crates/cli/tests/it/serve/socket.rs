//! The local socket and the login link of the real server, and attacks of an agent's command on the socket.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use super::{terminate, until};
use crate::run::fixture::{Desk, finished};

const ME: &str = "GET /api/v1/me HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// A server whose socket is in this directory, and what it says.
fn serve(desk: &Desk, runtime: &Path) -> (Child, Vec<String>) {
    serve_in(desk.house.path(), desk, runtime)
}

/// The same in another directory.
fn serve_in(directory: &Path, desk: &Desk, runtime: &Path) -> (Child, Vec<String>) {
    std::fs::create_dir_all(runtime).unwrap();
    let mut command = desk
        .house
        .command(&["serve", "--port", "0", "--print-link"]);
    command
        .env("XDG_RUNTIME_DIR", runtime)
        .current_dir(directory);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let lines = (0..2).map(|_| lines.next().unwrap().unwrap()).collect();
    (child, lines)
}

fn socket(runtime: &Path) -> PathBuf {
    let mut found = std::fs::read_dir(runtime.join("rooftree")).unwrap();
    found.next().unwrap().unwrap().path()
}

fn ask(mut stream: impl Read + Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_link_logs_a_browser_in_once_and_the_socket_needs_no_token() {
    let desk = Desk::with_echo();
    let runtime = desk.path().join("rt");
    let (server, lines) = serve(&desk, &runtime);
    let address = lines[0].rsplit_once("//").unwrap().1.to_owned();
    let (base, secret) = lines[1].split_once("/#k=").unwrap();
    assert_eq!(base, format!("open http://{address}"));
    let body = format!(r#"{{"link": "{secret}"}}"#);
    let login = format!(
        "POST /api/v1/login HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let first = ask(TcpStream::connect(&address).unwrap(), &login);
    assert!(
        first.contains(" 200 ") && first.contains("HttpOnly"),
        "{first}"
    );
    let second = ask(TcpStream::connect(&address).unwrap(), &login);
    assert!(second.contains(" 401 "), "{second}");
    let path = socket(&runtime);
    let answer = ask(UnixStream::connect(&path).unwrap(), ME);
    assert!(answer.contains(r#""is_owner":true"#), "{answer}");
    terminate(&server);
    assert_eq!(finished(server).code, 0);
    assert!(!path.exists(), "the file goes with the server");
}

#[test]
fn no_command_of_an_agent_uses_the_socket_even_without_a_sandbox() {
    let desk = Desk::new("");
    let runtime = desk.path().join("rt");
    let (server, _) = serve(&desk, &runtime);
    let ask_it = format!(
        "curl -s -m 20 --unix-socket {} http://localhost/api/v1/me",
        socket(&runtime).display()
    );
    // Each attack writes what it got. One that clears its environment and kills its guard is known only while the process
    // that started it lives: a limit that docs/access.md names.
    let script = format!(
        "{ask_it} >plain.txt; touch plain.done
(setsid sh -c '{ask_it} >daemon.txt; touch daemon.done' &)
(env -i PATH=\"$PATH\" setsid sh -c 'sleep 0.2; {ask_it} >cleared.txt; touch cleared.done' &)
for one in daemon cleared; do while [ ! -e $one.done ]; do sleep 0.05; done; done
true"
    );
    let script = format!(
        "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = '''\n{script}''' }}\n[[reply]]\ntext = \"over\"\n"
    );
    desk.rewrite(&script);
    let arguments = ["--permission-mode", "bypass", "--sandbox", "off", "Go"];
    let done = desk.run(&arguments);
    until("the attacks", || desk.path().join("cleared.done").exists());
    for name in ["plain", "daemon", "cleared"] {
        let got = std::fs::read_to_string(desk.path().join(format!("{name}.txt"))).unwrap();
        assert!(got.contains("\"status\":403"), "{name}: {got} {done:?}");
    }
    // A program of ours still may.
    let answer = ask(UnixStream::connect(socket(&runtime)).unwrap(), ME);
    assert!(answer.contains(r#""is_owner":true"#), "{answer}");
    terminate(&server);
    assert_eq!(finished(server).code, 0);
}

#[test]
fn an_agent_of_a_trusted_project_that_is_changed_over_http_stays_trusted() {
    let desk = Desk::with_echo();
    let runtime = desk.path().join("rt");
    let text = "---\ndescription: Scouts.\n---\nYou scout.\n";
    desk.write(".rooftree/agents/scout.md", text);
    let mut trust = desk.house.command(&["trust"]);
    let trusted = trust.current_dir(desk.path()).output().unwrap();
    assert!(trusted.status.success(), "{trusted:?}");
    let (server, _) = serve_in(desk.path(), &desk, &runtime);
    let path = socket(&runtime);
    let get = "GET /api/v1/agents/scout HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let shown = ask(UnixStream::connect(&path).unwrap(), get);
    let etag = shown.lines().find(|line| line.starts_with("etag:"));
    let etag = etag.unwrap_or_else(|| panic!("{shown}"));
    let body = r#"{"text": "---\ndescription: Scouts far.\n---\nYou scout.\n"}"#;
    let put = format!(
        "PUT /api/v1/agents/scout HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         if-match:{}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        etag.trim_start_matches("etag:"),
        body.len()
    );
    let changed = ask(UnixStream::connect(&path).unwrap(), &put);
    assert!(changed.contains(" 200 "), "{changed}");
    until("the new text counts", || {
        ask(UnixStream::connect(&path).unwrap(), get).contains("Scouts far.")
    });
    terminate(&server);
    assert_eq!(finished(server).code, 0);
}
