//! A Bot API of Telegram on loopback: keeps updates until they are acknowledged, records every call.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// How long a poll is held open, so that a dead poller's thread ends.
const POLL: Duration = Duration::from_secs(2);

/// The number of the first message that the bot sends.
const FIRST_MESSAGE: usize = 500;

#[derive(Default)]
struct BotState {
    updates: Vec<Value>,
    calls: Vec<(String, Value)>,
}

/// The API, which outlives every server that uses it.
pub struct BotApi {
    pub url: String,
    shared: Arc<(Mutex<BotState>, Condvar)>,
}

impl BotApi {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<(Mutex<BotState>, Condvar)>::default();
        let all = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = all.clone();
                thread::spawn(move || converse(&shared, stream));
            }
        });
        Self { url, shared }
    }

    /// A person writes to the bot in a direct chat.
    pub fn write(&self, number: i64, from: i64, text: &str) {
        self.deliver(json!({"update_id": number, "message": {
            "message_id": number, "date": 1_800_000_000, "text": text,
            "from": person(from), "chat": {"id": from, "type": "private"},
        }}));
    }

    /// A person presses a button of a message.
    pub fn press(&self, number: i64, from: i64, message: usize, data: &Value) {
        self.deliver(json!({"update_id": number, "callback_query": {
            "id": format!("press{number}"), "data": data, "from": person(from),
            "message": {"message_id": message, "date": 1_800_000_000,
                "chat": {"id": from, "type": "private"}},
        }}));
    }

    fn deliver(&self, update: Value) {
        self.shared.0.lock().unwrap().updates.push(update);
        self.shared.1.notify_all();
    }

    /// The bodies of the calls of a method, in order.
    pub fn called(&self, method: &str) -> Vec<Value> {
        let state = self.shared.0.lock().unwrap();
        let own = state.calls.iter().filter(|(name, _)| name == method);
        own.map(|(_, body)| body.clone()).collect()
    }

    /// The messages that were sent, each with the number it got.
    pub fn sent(&self) -> Vec<(usize, Value)> {
        let sent = self.called("sendMessage").into_iter().enumerate();
        sent.map(|(at, body)| (FIRST_MESSAGE + at, body)).collect()
    }

    /// The texts that were sent, in order.
    pub fn texts(&self) -> Vec<String> {
        let text = |(_, body): (usize, Value)| body["text"].as_str().unwrap().to_owned();
        self.sent().into_iter().map(text).collect()
    }
}

fn person(id: i64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": "Ann"})
}

/// Answers the requests of one connection until it is closed.
fn converse(shared: &(Mutex<BotState>, Condvar), stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some((method, body)) = request(&mut reader) {
        let result = answer(shared, &method, body);
        let page = json!({"ok": true, "result": result}).to_string();
        let length = page.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        if writer.write_all((head + &page).as_bytes()).is_err() {
            return;
        }
    }
}

/// The method that is called and its arguments; none at the end of the connection.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let path = first.split_whitespace().nth(1)?;
    let method = path.rsplit('/').next()?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(digits) = line.strip_prefix("content-length:") {
            length = digits.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer((state, arrived): &(Mutex<BotState>, Condvar), method: &str, body: Value) -> Value {
    let mut state = state.lock().unwrap();
    let result = match method {
        "getMe" => json!({"id": 1, "is_bot": true, "first_name": "Home", "username": "home_bot"}),
        "sendMessage" => {
            let before = state.calls.iter().filter(|(name, _)| name == method);
            json!({"message_id": FIRST_MESSAGE + before.count()})
        }
        "getUpdates" => {
            let offset = body["offset"].as_i64().unwrap_or(0);
            let is_new = |update: &Value| update["update_id"].as_i64() >= Some(offset);
            state.updates.retain(is_new);
            let waited = arrived.wait_timeout_while(state, POLL, |state| state.updates.is_empty());
            state = waited.unwrap().0;
            json!(state.updates)
        }
        _ => json!(true),
    };
    state.calls.push((method.to_owned(), body));
    result
}
