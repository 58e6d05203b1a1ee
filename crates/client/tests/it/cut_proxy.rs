//! A proxy on loopback that cuts streams after so many frames, loses one, or answers 502 for a while.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What happens to the connections, one after the other; the last rule stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The answer is cut after so many frames.
    CutAfter(usize),
    /// This frame (from 0) is left out.
    Lose(usize),
    /// `502 Bad Gateway`, without asking the server.
    BadGateway,
}

/// A proxy before a server.
pub struct CutProxy {
    pub address: SocketAddr,
    faults: Arc<Mutex<Vec<Fault>>>,
    server: Arc<Mutex<SocketAddr>>,
}

impl CutProxy {
    /// Faults for the first connections that ask for a stream.
    pub async fn start(server: SocketAddr, faults: Vec<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let faults = Arc::new(Mutex::new(faults));
        let server = Arc::new(Mutex::new(server));
        let (shared, target) = (faults.clone(), server.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let target = *target.lock().unwrap();
                tokio::spawn(pass(client, target, shared.clone()));
            }
        });
        Self {
            address,
            faults,
            server,
        }
    }

    pub fn add(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().extend(faults);
    }

    /// Sends what comes from now on to another server.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap() = server;
    }

    /// How many faults were not used yet.
    pub fn left(&self) -> usize {
        self.faults.lock().unwrap().len()
    }
}

fn next_fault(faults: &Mutex<Vec<Fault>>) -> Fault {
    let mut faults = faults.lock().unwrap();
    if faults.is_empty() {
        Fault::None
    } else {
        faults.remove(0)
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, faults: Arc<Mutex<Vec<Fault>>>) {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match client.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => head.extend_from_slice(&buffer[..count]),
        }
    }
    let is_stream = head.starts_with(b"POST /api/v1/stream ");
    let fault = if is_stream {
        next_fault(&faults)
    } else {
        Fault::None
    };
    if fault == Fault::BadGateway {
        let answer = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let _ = client.write_all(answer).await;
        return;
    }
    let Ok(mut upstream) = TcpStream::connect(server).await else {
        let answer = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let _ = client.write_all(answer).await;
        return;
    };
    if upstream.write_all(&head).await.is_err() {
        return;
    }
    match fault {
        Fault::None | Fault::BadGateway => {
            let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
        }
        fault => cut(client, upstream, fault).await,
    }
}

/// Passes an answer frame by frame. Frames are the chunks of a chunked body: a frame is one.
async fn cut(mut client: TcpStream, upstream: TcpStream, fault: Fault) {
    let mut lines = tokio::io::BufReader::new(upstream);
    let mut passed = 0;
    let mut seen = Vec::new();
    // The head.
    while !seen.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if lines.read_exact(&mut byte).await.is_err() {
            return;
        }
        seen.push(byte[0]);
    }
    if client.write_all(&seen).await.is_err() {
        return;
    }
    loop {
        if fault == Fault::CutAfter(passed) {
            return;
        }
        let Some(chunk) = chunk(&mut lines).await else {
            return;
        };
        if fault != Fault::Lose(passed) && client.write_all(&chunk).await.is_err() {
            return;
        }
        passed += 1;
    }
}

async fn chunk(lines: &mut tokio::io::BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut chunk = Vec::new();
    while !chunk.ends_with(b"\r\n") {
        let mut byte = [0];
        lines.read_exact(&mut byte).await.ok()?;
        chunk.push(byte[0]);
    }
    let size = std::str::from_utf8(&chunk[..chunk.len() - 2]).ok()?;
    let size = usize::from_str_radix(size, 16).ok()?;
    let mut rest = vec![0; size + 2];
    lines.read_exact(&mut rest).await.ok()?;
    chunk.extend(rest);
    Some(chunk)
}
