//! Waits for the answer of an authorisation server: the browser brings it to a port of this
//! machine, or the user pastes the URL to which the browser was sent.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

use super::reach::shown;

const PATH: &str = "/callback";
/// Maximum size of the head of a browser's request.
const HEAD_MAX: usize = 32 << 10;
/// Browsers open connections in advance, and may leave them unused.
const CONNECTIONS_MAX: usize = 8;
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(10);
/// Number of pasted lines without the right answer after which the sign-in ends.
const PASTED_MAX: usize = 20;

/// The port that waits for one answer.
pub struct Callback {
    listener: TcpListener,
    /// The URL to which the browser is sent.
    pub redirect: String,
}

/// The marks by which the right answer is recognised.
pub struct Expected {
    pub state: String,
    /// The authorisation server's name for itself, and whether the answer must have it.
    pub issuer: String,
    pub is_signed: bool,
}

/// The reason why an answer has no code.
#[derive(Debug, PartialEq)]
enum Wrong {
    /// It is not an answer to this sign-in, which goes on.
    Foreign(&'static str),
    Final(String),
}

impl Callback {
    /// Opens the port, or a free one for 0.
    pub async fn open(port: u16) -> Result<Callback, String> {
        let failed = |error: io::Error| {
            format!(
                "the port {port} for the browser's answer cannot be opened: {error}; end the program that uses it, or \
                 register the client with another one and set `callback_port`"
            )
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Callback { listener, redirect: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// The code of the first answer to this sign-in. `lines` are those that the user writes, and
    /// `note` says why one of them is not it.
    pub async fn code(
        self,
        expected: Expected,
        lines: &mut mpsc::Receiver<String>,
        note: impl Fn(&str),
        time_max: Duration,
    ) -> Result<String, String> {
        let expected = Arc::new(expected);
        let (sender, mut answers) = mpsc::channel(CONNECTIONS_MAX);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(self.listener, expected.clone(), sender));
        let wait = async {
            let (mut foreign, mut listens) = (0, true);
            while foreign < PASTED_MAX {
                let answer = tokio::select! {
                    Some(answer) = answers.recv() => answer,
                    line = lines.recv(), if listens => match line {
                        Some(line) if line.trim().is_empty() => continue,
                        Some(line) => expected.pasted(&line),
                        None => {
                            listens = false;
                            continue;
                        }
                    },
                    else => break,
                };
                match answer {
                    Ok(code) => return Ok(code),
                    Err(Wrong::Final(why)) => return Err(why),
                    Err(Wrong::Foreign(why)) => note(why),
                }
                foreign += 1;
            }
            Err(format!("{PASTED_MAX} lines were not the answer to this sign-in, so it was ended; begin again"))
        };
        let late = |_| Err(format!("no answer came within {} s; begin again", time_max.as_secs()));
        timeout(time_max, wait).await.unwrap_or_else(late)
    }
}

/// Reads the connections of browsers, some at a time, until it is dropped.
async fn accept(listener: TcpListener, expected: Arc<Expected>, answers: mpsc::Sender<Result<String, Wrong>>) {
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    while let Ok(permit) = free.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, for example.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (expected, answers) = (expected.clone(), answers.clone());
        connections.spawn(async move {
            // Any page in a browser can send foreign answers, so they do not count.
            if let Ok(Ok(Some(answer))) = timeout(CONNECTION_TIME_MAX, answered(stream, &expected)).await
                && !matches!(answer, Err(Wrong::Foreign(_)))
            {
                let _ = answers.send(answer).await;
            }
            drop(permit);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Reads one request of a browser and answers it; `None` if it is for something else.
async fn answered(mut stream: TcpStream, expected: &Expected) -> io::Result<Option<Result<String, Wrong>>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let url = Url::parse("http://127.0.0.1").and_then(|base| base.join(target)).ok();
    let answer = url.filter(|url| url.path() == PATH).map(|url| expected.code_in(&url));
    let (status, text) = match &answer {
        None => ("404 Not Found", "There is nothing here."),
        Some(Ok(_)) => ("200 OK", "monobloc has the answer. Close this window and go back to the terminal."),
        Some(Err(Wrong::Foreign(_))) => {
            ("400 Bad Request", "This is not the answer to the sign-in that monobloc waits for.")
        }
        Some(Err(Wrong::Final(_))) => ("200 OK", "The sign-in did not succeed. The terminal says why."),
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>monobloc</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\
         <h1>monobloc</h1><p>{text}\n"
    );
    let length = page.len();
    let answer_head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n"
    );
    // The answer counts even if the browser does not wait for its page.
    let _ = stream.write_all(format!("{answer_head}{page}").as_bytes()).await;
    let _ = stream.shutdown().await;
    Ok(answer)
}

impl Expected {
    /// The code in a URL that the user pasted.
    fn pasted(&self, line: &str) -> Result<String, Wrong> {
        match Url::parse(line.trim()) {
            Ok(url) if url.path() == PATH => self.code_in(&url),
            Ok(_) => Err(Wrong::Foreign(
                "this is not the URL at the end; sign in first, then paste the one that begins with http://127.0.0.1",
            )),
            Err(_) => Err(Wrong::Foreign("this is not a URL; paste the one that the browser shows at the end")),
        }
    }

    /// The code in an answer to this sign-in.
    fn code_in(&self, url: &Url) -> Result<String, Wrong> {
        let field = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let state = field("state").unwrap_or_default();
        if !bool::from(state.as_bytes().ct_eq(self.state.as_bytes())) {
            return Err(Wrong::Foreign("this answer has another `state`, so it is not for this sign-in"));
        }
        let issuer = field("iss");
        if issuer.as_ref().is_some_and(|issuer| *issuer != self.issuer) || issuer.is_none() && self.is_signed {
            let expected = shown(&self.issuer, &[]);
            return Err(Wrong::Final(format!(
                "the answer is not from the authorisation server {expected} (its `iss` differs), so it was not used"
            )));
        }
        if let Some(error) = field("error") {
            let more = field("error_description").map(|more| format!(": {more}")).unwrap_or_default();
            let said = shown(&format!("{error}{more}"), &[&self.state]);
            return Err(Wrong::Final(format!("the authorisation server refuses the sign-in: {said}")));
        }
        field("code")
            .filter(|code| !code.is_empty())
            .ok_or_else(|| Wrong::Final("the answer of the authorisation server has no code".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, is_signed: bool, expected: Result<&str, &str>) {
        let (state, issuer) = ("st".to_owned(), "https://a".to_owned());
        let code = Expected { state, issuer, is_signed }.pasted(&format!("http://127.0.0.1:1/callback?{query}"));
        let got = code.map_err(|wrong| match wrong {
            Wrong::Foreign(why) => why.to_owned(),
            Wrong::Final(why) => why,
        });
        match (&got, expected) {
            (Ok(code), Ok(expected)) => assert_eq!(code, expected),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            _ => panic!("{query}: {got:?}"),
        }
    }

    #[test]
    fn only_the_answer_to_this_sign_in_has_a_code() {
        check("code=c%201&state=st", false, Ok("c 1"));
        check("code=c&state=st&iss=https%3A%2F%2Fa", true, Ok("c"));
        check("code=c&state=st", true, Err("its `iss` differs"));
        check("code=c&state=st&iss=https://a/", false, Err("its `iss` differs"));
        check("error=no&error_description=never&state=st&iss=https://b", false, Err("its `iss` differs"));
        check("code=c&state=other", false, Err("another `state`"));
        check("code=c", false, Err("another `state`"));
        check("error=access_denied&error_description=not%0Anow&state=st", false, Err("access_denied: not now"));
        check("error=access_denied", false, Err("another `state`"));
        check("state=st", false, Err("has no code"));
    }
}
