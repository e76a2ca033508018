//! Models at a URL: servers with the quirks of vLLM and Ollama, and servers that fail. Each message
//! names the URL and a remedy.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use monobloc::base::Cancel;
use monobloc::models::dialect::{Message, ToolText};
use monobloc::remote::{Ask, Finish, Form, Piece, Remote, RemoteError, Tools, Whole};
use serde_json::{Value, json};

use crate::boxed::{Server, begin, end, event, server, told, whole, words};

fn a_call() -> Value {
    let function = json!({ "name": "delete_file", "arguments": "{\"path\":\"a\"}" });
    json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] } }] })
}

fn tool() -> ToolText {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolText { name: "delete_file".into(), description: "Deletes a file.".into(), parameters }
}

fn ask() -> Ask {
    Ask { tools: vec![tool()], ..Ask::new(vec![Message::system("Help."), Message::user("Delete a.")], 64) }
}

/// A remote that has been probed.
async fn opened(server: &Server) -> Result<Remote, RemoteError> {
    let folder = tempfile::tempdir().expect("a folder");
    Remote::open(&server.endpoint, folder.path(), &Cancel::new()).await
}

/// Answers the probe like an ordinary server, then runs `fault` for the request of the test, which
/// offers the tool `delete_file`.
fn failing(fault: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Server {
    server("vllm", move |got, stream| {
        let is_of_test =
            got.body["tools"][0]["function"]["name"] == "delete_file" || got.body.to_string().contains("delete_file");
        if is_of_test { fault(stream) } else { told(stream, &[words("Hello."), end("stop")]) }
    })
}

async fn reply(server: &Server) -> Result<Whole, RemoteError> {
    opened(server).await.expect("the probe ends").chat(ask()).collect().await
}

/// Checks that a fault ends within its limits, with an error that contains `expected` and names the
/// server, and without a call.
async fn check(
    name: &str,
    expected: &str,
    fault: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
) {
    let server = failing(fault);
    let start = Instant::now();
    let remote = opened(&server).await.expect("the probe ends");
    let mut reply = remote.chat(ask());
    let error = loop {
        match reply.next().await {
            Ok(Some(Piece::Call { .. } | Piece::Finished { .. })) => panic!("{name}: it gives out a call or ends well"),
            Ok(_) => {}
            Err(error) => break error,
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{name} hangs");
    };
    let said = error.to_string();
    assert!(said.starts_with(server.endpoint.url()) && said.contains(expected), "{name}: {said}");
    assert!(said.contains(';') || said.contains(". "), "{name} has no way out: {said}");
}

#[tokio::test]
async fn every_fault_ends_with_the_url_and_a_way_out() {
    let status = |status: &'static str, body: &'static str| move |stream: &mut TcpStream| whole(stream, status, body);
    tokio::join!(
        check("500", "status 500: it burns", status("500 Oops", "{\"error\":{\"message\":\"it burns\"}}")),
        check("400", "status 400: bad field", status("400 Bad Request", "{\"error\":\"bad field\"}")),
        check("401", "refuses the key", status("401 Unauthorized", "{}")),
        check("404", "must be the base", status("404 Not Found", "<html>")),
        check(
            "too long",
            "too long",
            status("400 Bad", "{\"error\":{\"type\":\"exceed_context_size_error\",\"message\":\"9 of 8\"}}")
        ),
        check("html", "neither a stream of events nor JSON", status("200 OK", "<html>hello</html>")),
        check("json without choices", "no `choices`", status("200 OK", "{}")),
        check("redirect", "redirects to http://elsewhere:1", |stream| {
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere:1/v1?key=a\r\nContent-Length: 0\r\n\r\n")
        }),
        check("closed at once", "no connection within 4 tries", |_| Ok(())),
        check("no HTTP", "it is not HTTP", |stream| stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")),
        check("silent from the start", "no byte for 1 s", |_| {
            thread::sleep(Duration::from_secs(20));
            Ok(())
        }),
        check("silent in the middle", "no byte for 1 s", |stream| {
            begin(stream)?;
            event(stream, &words("I"))?;
            thread::sleep(Duration::from_secs(20));
            Ok(())
        }),
        check("closed mid-answer", "broke off", |stream| {
            begin(stream)?;
            event(stream, &words("I"))?;
            event(stream, &a_call())
        }),
        check("half an event", "broke off", |stream| {
            begin(stream)?;
            event(stream, &words("I"))?;
            write!(stream, "data: {{\"choices\":[{{\"del")
        }),
        check("half a chunk of HTTP", "broke off", |stream| {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            let text = format!("data: {}\n\n", words("I"));
            write!(stream, "{:x}\r\n{text}\r\nffff\r\ndata:", text.len())
        }),
        check("garbage", "is not JSON", |stream| {
            begin(stream)?;
            stream.write_all(b"data: \xff\xfe{{{\n\n")
        }),
        check("an endless line", "more than 1 MiB", |stream| {
            begin(stream)?;
            stream.write_all(b"data: ")?;
            (0..64).try_for_each(|_| stream.write_all(&[b'x'; 1 << 16]))
        }),
        check("an error in the middle", "out of memory", |stream| {
            told(stream, &[words("I"), a_call(), json!({ "error": { "message": "out of memory" } }), end("stop")])
        }),
        check("given up by the server", "broke off", |stream| told(stream, &[a_call(), end("abort")])),
        check("arguments that are cut", "call of delete_file", |stream| {
            let function = json!({ "name": "delete_file", "arguments": "{\"path\":\"a" });
            let cut = json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": function }] } }] });
            told(stream, &[cut, end("tool_calls")])
        }),
        check("nothing but signs of life", "no byte for 6 s", |stream| {
            begin(stream)?;
            (0..200).try_for_each(|_| {
                thread::sleep(Duration::from_millis(100));
                stream.write_all(b": ping\n\n")
            })
        }),
        check("nothing but empty chunks", "without content", |stream| {
            begin(stream)?;
            let one = format!("data: {}\n\n", json!({ "choices": [{ "delta": {} }] })).repeat(1_000);
            (0..1_000).try_for_each(|_| stream.write_all(one.as_bytes()))
        }),
    );
}

#[tokio::test]
async fn a_reply_that_never_ends_is_cut_and_has_no_call() {
    let server = failing(|stream| {
        begin(stream)?;
        event(stream, &a_call())?;
        let one = format!("data: {}\n\n", words(&"word ".repeat(100)));
        (0..10_000).try_for_each(|_| stream.write_all(one.as_bytes()))
    });
    let whole = reply(&server).await.expect("it ends");
    assert_eq!((whole.finish, whole.calls.len()), (Some(Finish::Length), 0));
    assert!(whole.text.len() < 200_000);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_one_that_is_ready_answers() {
    let tries = Arc::new(Mutex::new(0));
    let count = tries.clone();
    let server = failing(move |stream| {
        let mut tries = count.lock().expect("no panic");
        *tries += 1;
        match *tries {
            1 => write!(stream, "HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
            2 => whole(stream, "503 Service Unavailable", "{\"error\":{\"message\":\"Loading model\"}}"),
            _ => told(stream, &[a_call(), end("tool_calls")]),
        }
    });
    let whole = reply(&server).await.expect("it answers");
    assert_eq!((whole.calls.len(), *tries.lock().expect("no panic")), (1, 3));
    assert!(whole.calls[0].1 && whole.in_fields, "a call in fields is certain");
}

#[tokio::test]
async fn bytes_may_be_cut_anywhere_lines_may_end_in_any_way_and_the_last_sign_may_be_missing() {
    let server = failing(|stream| {
        begin(stream)?;
        let text = format!(": ping\r\n\r\ndata:{}\r\n\r\ndata: {}\r\n\r\n", words("é日本"), end("stop"));
        text.as_bytes().chunks(3).try_for_each(|part| {
            thread::sleep(Duration::from_millis(2));
            stream.write_all(part)?;
            stream.flush()
        })
    });
    let whole = reply(&server).await.expect("it ends");
    assert_eq!((whole.text.as_str(), whole.finish), ("é日本", Some(Finish::Stop)));
}

#[tokio::test]
async fn dropping_a_reply_closes_the_connection() {
    let (sender, closed) = std::sync::mpsc::channel();
    let server = failing(move |stream| {
        begin(stream)?;
        event(stream, &words("I"))?;
        let _ = stream.read(&mut [0; 1]);
        let _ = sender.send(Instant::now());
        Ok(())
    });
    let mut reply = opened(&server).await.expect("the probe ends").chat(ask());
    while !matches!(reply.next().await.expect("a piece"), Some(Piece::Text(_))) {}
    let dropped = Instant::now();
    drop(reply);
    let at = tokio::task::spawn_blocking(move || closed.recv_timeout(Duration::from_secs(5))).await.expect("no panic");
    let after = at.expect("it hears of the end").saturating_duration_since(dropped);
    assert!(after < Duration::from_millis(250), "{after:?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_left_alone_after_three_failures() {
    let server = failing(|_| Ok(()));
    let remote = opened(&server).await.expect("the probe ends");
    for _ in 0..3 {
        let error = remote.chat(ask()).collect().await.expect_err("it is away");
        assert!(error.is_gone());
    }
    let start = Instant::now();
    let said = remote.chat(ask()).collect().await.expect_err("it rests").to_string();
    assert!(said.contains("next attempt is in") && start.elapsed() < Duration::from_millis(100), "{said}");
}

#[tokio::test]
async fn a_server_like_ollama_gives_its_context_after_the_probe_and_calls_as_text() {
    let server = server("library", |got, stream| match got.path.as_str() {
        "/api/ps" => whole(stream, "200 OK", "{\"models\":[{\"name\":\"m\",\"context_length\":4096}]}"),
        "/v1/chat/completions" if got.body["tools"].is_array() => {
            let name = got.body["tools"][0]["function"]["name"].as_str().unwrap_or_default();
            let text =
                format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{\"a\": 1, \"b\": 2}}}}\n</tool_call>");
            told(stream, &[words(&text), end("stop")])
        }
        _ => told(stream, &[json!({ "choices": [{ "delta": { "reasoning": "Hm." } }] }), words("Hello."), end("stop")]),
    });
    let remote = opened(&server).await.expect("the probe ends");
    let can = remote.abilities();
    assert_eq!((can.tools, can.schema, can.grammar, can.context), (Tools::Offered, false, false, 4096));
    let whole = remote.chat(ask()).collect().await.expect("it answers");
    assert_eq!((whole.calls.len(), whole.in_fields), (1, false));
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_from_then_on() {
    // vLLM without --enable-auto-tool-choice, and without schemas.
    let server = server("vllm", |got, stream| {
        if got.body["tools"].is_array() {
            return whole(
                stream,
                "400 Bad Request",
                "{\"message\":\"\\\"auto\\\" tool choice requires a parser\",\"object\":\"error\"}",
            );
        }
        if got.body.get("response_format").is_some() {
            return whole(stream, "400 Bad Request", "{\"error\":\"response_format\"}");
        }
        told(stream, &[words("```json\n{\"choice\": \"no\"}\n```"), end("stop")])
    });
    let remote = opened(&server).await.expect("the probe ends");
    let can = remote.abilities();
    assert_eq!((can.tools, can.must_call, can.schema, can.context), (Tools::AsText, false, false, 4096));
    remote.chat(ask()).collect().await.expect("it answers");
    let form = Form::Choice(vec!["yes".to_owned(), "no".to_owned()]);
    let chosen =
        remote.chat(Ask { form, ..Ask::new(vec![Message::user("Is it?")], 9) }).collect().await.expect("an answer");
    assert_eq!(chosen.text, "no");
    let got = server.got.lock().expect("no panic").clone();
    let body = |at: usize| got[got.len() - at].body.clone();
    assert!(
        body(2)["tools"].is_null()
            && body(2)["messages"][0]["content"].as_str().is_some_and(|text| text.contains("delete_file"))
    );
    assert!(
        body(1)["response_format"].is_null()
            && body(1)["messages"][0]["content"].as_str().is_some_and(|text| text.contains("- no"))
    );
    for one in &got[1..] {
        assert!(
            one.body["model"] == "m" && (one.body["temperature"] == 0 || one.body["temperature"] == 0.0),
            "{one:?}"
        );
    }
}

#[tokio::test]
async fn what_was_found_out_is_kept_and_the_key_goes_into_the_head_alone() {
    let mut server = server("vllm", |_, stream| told(stream, &[words("sesame"), json!({ "error": "bad key sesame" })]));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("key");
    std::fs::write(&file, "sesame").expect("a file");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("a mode");
    server.endpoint.key = monobloc::models::Key::File(file);
    let error = Remote::open(&server.endpoint, folder.path(), &Cancel::new()).await.expect_err("the probe fails");
    let said = format!("{error} {error:?}");
    assert!(said.contains("[key]") && !said.contains("sesame"), "{said}");
    let got = server.got.lock().expect("no panic").clone();
    assert!(got.iter().all(|one| one.head.contains("Bearer sesame") && !one.body.to_string().contains("sesame")));
    assert!(got.iter().all(|one| !one.head.to_lowercase().contains("x-conversation-id")));

    let plain = failing(|stream| told(stream, &[words("Hello."), end("stop")]));
    Remote::open(&plain.endpoint, folder.path(), &Cancel::new()).await.expect("it opens");
    let before = plain.got.lock().expect("no panic").len();
    Remote::open(&plain.endpoint, folder.path(), &Cancel::new()).await.expect("it opens");
    assert_eq!(plain.got.lock().expect("no panic").len(), before + 1, "only the list is asked for again");
}

#[tokio::test]
async fn lines_are_asked_for_by_a_schema_and_come_as_lines() {
    let server = server("vllm", |got, stream| {
        let lines =
            json!({ "lines": [{ "kind": "edit", "words": "create a" }, { "kind": "ask", "words": "what b is" }] });
        let reply = match got.body["response_format"].to_string() {
            form if form.contains("zq7") => "{\"zq7\": 4}".to_owned(),
            form if form.contains("\"lines\"") => lines.to_string(),
            _ => "Hello.".to_owned(),
        };
        told(stream, &[words(&reply), end("stop")])
    });
    let remote = opened(&server).await.expect("the probe ends");
    assert!(remote.abilities().schema);
    let form = Form::Lines(vec!["ask".to_owned(), "edit".to_owned()]);
    let read = remote.chat(Ask { form, ..Ask::new(vec![Message::user("Create a. What is b?")], 99) });
    assert_eq!(read.collect().await.expect("an answer").text, "edit: create a\nask: what b is");
}
