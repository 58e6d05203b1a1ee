//! An agent elsewhere, in a thread: keeps what it is asked and answers as the test says.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::Value;

/// What the agent was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    headers: Vec<(String, String)>,
    pub body: Value,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }
}

pub struct Agent {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Agent {
    /// Answers every question with a status and a body.
    pub fn start(answer: impl Fn(&Asked) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let question = read(&stream);
                kept.lock().unwrap().push(question.clone());
                let (status, body) = answer(&question);
                let head = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close",
                    body.len()
                );
                // Whoever asked may be gone.
                let _ = stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes());
            }
        });
        Self { address, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}/in", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ") {
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
    }
    let asked = Asked {
        headers,
        body: Value::Null,
    };
    // Whoever only knocks brings nothing.
    let mut body = vec![0; asked.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    Asked {
        body: serde_json::from_slice(&body).unwrap_or_default(),
        ..asked
    }
}

/// Posts an answer to a callback URL; gives the status.
pub fn call_back(url: &str, body: &str) -> u16 {
    let (address, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}"
    );
    stream
        .write_all(format!("{head}\r\n\r\n{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}
