//! A connection that carries several requests, one after another.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::client::{Answer, Client};

type Stream = BufReader<TcpStream>;

pub struct Kept {
    client: Client,
    stream: Option<Stream>,
}

impl Kept {
    pub fn new(client: &Client) -> Kept {
        Kept { client: client.clone(), stream: None }
    }

    /// Sends a complete request and reads its answer; if `bare`, the answer has no body, as for
    /// HEAD.
    pub fn exchange(&mut self, request: &[u8], bare: bool) -> Answer {
        // The server may have closed the connection after its last answer; in that case the request
        // is sent on a new one.
        let kept = self.stream.take().and_then(|stream| exchanged(stream, request, bare).ok());
        let (answer, stream) = kept.unwrap_or_else(|| {
            let shown = String::from_utf8_lossy(request);
            let stream = BufReader::new(self.client.connect());
            exchanged(stream, request, bare).unwrap_or_else(|error| panic!("{error} instead of an answer to {shown}"))
        });
        self.stream = Some(stream);
        answer
    }
}

fn exchanged(mut stream: Stream, request: &[u8], bare: bool) -> io::Result<(Answer, Stream)> {
    stream.get_mut().write_all(request)?;
    let mut head = read_head(&mut stream)?;
    // An interim answer to `Expect: 100-continue` comes before the real one.
    if head.starts_with("HTTP/1.1 100") {
        head = read_head(&mut stream)?;
    }
    let status: u16 = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let lower = head.to_lowercase();
    let length: Option<u64> = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = Vec::new();
    match length {
        _ if bare || matches!(status, 204 | 304) => {}
        _ if lower.contains("transfer-encoding: chunked") => read_chunks(&mut stream, &mut body)?,
        Some(length) => {
            stream.by_ref().take(length).read_to_end(&mut body)?;
        }
        None => {}
    }
    Ok((Answer { status, head, body }, stream))
}

/// The lines of a head, without the empty one at its end.
fn read_head(stream: &mut Stream) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head[before..].trim().is_empty() {
            return Ok(head);
        }
    }
}

fn read_chunks(stream: &mut Stream, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        stream.by_ref().take(length).read_to_end(body)?;
        stream.read_exact(&mut [0; 2])?;
        if length == 0 {
            return Ok(());
        }
    }
}
