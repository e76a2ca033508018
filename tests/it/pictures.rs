//! Runs pictures through complete models with random weights: attention, recurrent layers, windows, and rows and columns as positions.

use std::path::Path;

use monobloc::base::{Bytes, Cancel};
use monobloc::budget::Ledger;
use monobloc::budget::permit::Permit;
use monobloc::engine::Output;
use monobloc::engine::pool::{EngineMemory, Leased, Pool, PoolOptions};
use monobloc::engine::prefix::PrefixStore;
use monobloc::models::dialect::Message;
use monobloc::models::{ModelSettings, Picture, Registry, Role};
use monobloc::synth::{self, Quant, Recipe, Shape};

use crate::models::smollm;

/// A PNG of `side` × `side` pixels of one colour, written by hand: one stored block.
pub fn png(side: u32, colour: [u8; 3]) -> Vec<u8> {
    let row = |_| [vec![0], colour.repeat(side as usize)].concat();
    let raw: Vec<u8> = (0..side).flat_map(row).collect();
    let mut data = vec![0x78, 1];
    for (number, block) in raw.chunks(60_000).enumerate() {
        let last = u8::from((number + 1) * 60_000 >= raw.len());
        let length = block.len() as u16;
        data.push(last);
        data.extend(length.to_le_bytes());
        data.extend((!length).to_le_bytes());
        data.extend(block);
    }
    let (a, b) = raw.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    data.extend(((b << 16) | a).to_be_bytes());
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let head = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    for (name, body) in [(b"IHDR", head), (b"IDAT", data), (b"IEND", Vec::new())] {
        let named = [&name[..], &body].concat();
        file.extend((body.len() as u32).to_be_bytes());
        file.extend(&named);
        file.extend(crc(&named).to_be_bytes());
    }
    file
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Writes a model of `shape` and a projector for it, both with random weights, into `folder`.
pub fn pair(folder: &Path, shape: Shape) {
    let file = folder.join(format!("{shape}.gguf"));
    let recipe = Recipe { tokens: Some(4096), ..Recipe::new(shape, Quant::Q8_0, &smollm()) };
    synth::write(&recipe, &file, &mut |_, _| (), &Cancel::new()).expect("a model");
    synth::write_projector(&file, &recipe, &Cancel::new()).expect("its projector");
}

pub fn pool(folder: &Path, ledger: &Ledger) -> Pool {
    let settings =
        ModelSettings { model_dir: Some(folder.to_owned()), context: 2048, slots: 2, ..ModelSettings::default() };
    let prefixes = Some(PrefixStore::new(ledger.clone(), Bytes::mib(128), None));
    let memory = EngineMemory { prefixes, ..EngineMemory::default() };
    let options = PoolOptions { threads: 2, slots: 2, memory, ..PoolOptions::default() };
    Pool::new(Registry::open(settings).expect("a registry"), ledger.clone(), Permit::new(), options)
}

fn seeing(pool: &Pool) -> Leased {
    let model = pool.lease(Role::Planner, |_, _| true).expect("a model");
    pool.see(&model, &mut || true).expect("its projector");
    model
}

/// The answer to a question about a square of this colour, and the token at which the picture begins.
fn asked(model: &Leased, colour: [u8; 3], question: &str) -> (Output, usize) {
    let picture = Picture::read("square.png", png(64, colour)).expect("a picture");
    let long = "A few words before the picture, so that there is something to reuse. ".repeat(6);
    let message = Message::user(long).and_picture(picture).and_text(question);
    let request = model.engine.request(&model.dialect.render(&[message]), 10);
    let at = request.shown.clone().expect("a seeing model")[0].from;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    (runtime.block_on(model.engine.generate(request).expect("started").collect()).expect("an answer"), at)
}

#[test]
fn a_picture_is_read_reused_and_told_from_others_by_models_of_every_kind() {
    const QUESTION: &str = " What is in it? Say it in one word, and then say it again.";
    for shape in [Shape::TinyMistral, Shape::TinyLfm2, Shape::TinyQwen35, Shape::TinyGemma4] {
        let folder = tempfile::tempdir().expect("a folder");
        pair(folder.path(), shape);
        let ledger = Ledger::new(Bytes::gib(4));
        let first = {
            let pool = pool(folder.path(), &ledger);
            let model = seeing(&pool);
            let (first, at) = asked(&model, [200, 30, 30], QUESTION);
            assert_eq!(first.tally.cached_tokens, 0, "{shape}");
            let (again, _) = asked(&model, [200, 30, 30], QUESTION);
            assert_eq!((&again.tokens, again.entropy), (&first.tokens, first.entropy), "{shape}: reused");
            assert!(again.tally.cached_tokens > 0, "{shape}: {:?}", again.tally);
            let (other, _) = asked(&model, [30, 30, 200], QUESTION);
            assert!(other.tally.cached_tokens <= at, "{shape}: {:?}, the picture is at {at}", other.tally);
            assert_ne!(other.entropy, first.entropy, "{shape}: the picture reaches the model");
            // Its slot has been overwritten in the meantime; the copy of its sequence is restored.
            for tone in 0..3 {
                asked(&model, [tone, 200, 0], QUESTION);
            }
            let (restored, _) = asked(&model, [200, 30, 30], QUESTION);
            assert_eq!((&restored.tokens, restored.entropy), (&first.tokens, first.entropy), "{shape}: restored");
            first
        };
        let pool = pool(folder.path(), &ledger);
        let (cold, _) = asked(&seeing(&pool), [200, 30, 30], QUESTION);
        assert_eq!((&cold.tokens, cold.entropy), (&first.tokens, first.entropy), "{shape}: loaded again");
    }
}

/// A request with a picture in the form of a protocol.
fn shown(uri: &str, data: &str) -> [(&'static str, serde_json::Value); 3] {
    use serde_json::json;
    let ask = "What is in it?";
    [
        (
            "/v1/chat/completions",
            json!({ "model": "planner", "max_tokens": 8, "messages": [{ "role": "user", "content": [
            { "type": "text", "text": ask }, { "type": "image_url", "image_url": { "url": uri } }] }] }),
        ),
        (
            "/v1/responses",
            json!({ "model": "planner", "max_output_tokens": 8, "input": [{ "role": "user", "content": [
            { "type": "input_text", "text": ask }, { "type": "input_image", "image_url": uri }] }] }),
        ),
        (
            "/v1/messages",
            json!({ "model": "planner", "max_tokens": 8, "messages": [{ "role": "user", "content": [
            { "type": "text", "text": ask },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } }] }] }),
        ),
    ]
}

pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0u32, |number, at| (number << 8) | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at)) as usize & 63] as char;
            text.push(if at > three.len() { '=' } else { letter });
        }
    }
    text
}

#[test]
fn the_apis_hand_pictures_to_a_model_that_sees_and_tell_what_another_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    pair(folder.path(), Shape::TinyMistral);
    let project = crate::cli::Project::todo();
    let data = base64(&png(64, [9, 200, 9]));
    let uri = format!("data:image/png;base64,{data}");
    let of_folder = ["--model-dir", folder.path().to_str().expect("a path")];
    let server = crate::serve::served(&project, &of_folder);
    for (path, request) in shown(&uri, &data) {
        let answer = server.client.post(path, &request).json(200);
        let usage = &answer["usage"];
        let read = ["prompt_tokens", "input_tokens"].iter().find_map(|name| usage[name].as_u64()).expect("a count");
        assert!(read > 64, "{path}: {usage}");
    }
    let cut = base64(&png(64, [9, 200, 9])[..400]);
    for (path, request) in shown(&format!("data:image/png;base64,{cut}"), &cut) {
        let answer = server.client.post(path, &request).json(400).to_string();
        assert!(answer.contains("picture 1 cannot be read"), "{path}: {answer}");
    }
    drop(server);
    std::fs::remove_file(folder.path().join("mmproj-tiny-mistral3.gguf")).expect("removed");
    let blind = crate::serve::served(&project, &of_folder);
    for (path, request) in shown(&uri, &data) {
        let answer = blind.client.post(path, &request).json(400).to_string();
        assert!(answer.contains("cannot see pictures: there is no projector beside it"), "{path}: {answer}");
    }
}

/// The bytes of a base64 text.
fn bytes_of(text: &str) -> Vec<u8> {
    let number = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').collect();
    let bits = |four: &[u8]| four.iter().fold(0u32, |bits, letter| (bits << 6) | u32::from(number(*letter)));
    let three = |four: &[u8]| (bits(four) << (6 * (4 - four.len()))).to_be_bytes()[1..four.len()].to_vec();
    letters.chunks(4).flat_map(three).collect()
}

#[test]
fn a_server_that_plays_vision_gets_the_pixels_and_not_where_they_were_taken() {
    use crate::{away, boxed, cli::Run};
    let project = crate::cli::Project::todo();
    let mut photo = png(64, [9, 9, 200]);
    let note = b"tEXtPlace\x0059.33 N 18.07 E, taken by Ada";
    let chunk = [&(note.len() as u32 - 4).to_be_bytes()[..], note, &crc(note).to_be_bytes()].concat();
    photo.splice(33..33, chunk);
    std::fs::write(project.path().join("photo.png"), &photo).expect("written");
    let (server, _) = away::saying(&[("", "A blue square.")]);
    let models = boxed::roles(&project, "vision", &server.url(), "", true);
    let ended = Run::new(&project, &["ask", "--json", "--models-file", &models, "What does photo.png show?"]).end();
    let chats: Vec<String> = server.chats().iter().map(ToString::to_string).collect();
    let sent = chats.iter().find_map(|chat| chat.split_once("data:image/png;base64,"));
    let sent =
        bytes_of(sent.unwrap_or_else(|| panic!("{}\n{}", ended.out, ended.err)).1.split('"').next().expect("an end"));
    let has = |file: &[u8], text: &str| file.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has(&photo, "59.33 N") && !has(&sent, "59.33 N") && !has(&sent, "Ada"));
    assert_eq!(Picture::read("sent", sent).expect("a picture").size(), (64, 64));
    assert!(ended.out.contains("photo.png, as read by"), "{}\n{}", ended.out, ended.err);
}

#[test]
fn ask_reads_a_picture_with_a_model_that_sees_and_says_what_another_lacks() {
    use crate::cli::{Project, Run};
    let project = Project::todo();
    let picture = project.beside("square.png");
    std::fs::write(&picture, png(64, [9, 9, 200])).expect("written");
    let picture = picture.display().to_string();
    let blind = Run::new(&project, &["ask", "--image", &picture, "What does the picture show?"]).end();
    assert!(
        (blind.out.clone() + &blind.err)
            .contains("cannot see pictures: there is no projector beside it; put its mmproj-*.gguf"),
        "{}",
        blind.err
    );
    let text = project.beside("notes.txt");
    std::fs::write(&text, "not a picture").expect("written");
    let odd = Run::new(&project, &["ask", "--image", &text.display().to_string(), "What is it?"]).end();
    assert!(odd.err.contains("notes.txt is not a PNG, JPEG, WebP or GIF"), "{}", odd.err);

    let folder = tempfile::tempdir().expect("a folder");
    pair(folder.path(), Shape::TinyMistral);
    let models = folder.path().display().to_string();
    let arguments =
        ["ask", "--json", "--mode", "chat", "--model-dir", &models, "--image", &picture, "What does the picture show?"];
    let seen = Run::new(&project, &arguments).end();
    assert!(seen.out.contains("square.png, as read by "), "{}\n{}", seen.out, seen.err);
}

/// A project with a picture in it, and a folder with a vision model.
fn project_with_a_picture() -> (crate::cli::Project, tempfile::TempDir) {
    let (project, folder) = (crate::cli::Project::todo(), tempfile::tempdir().expect("a folder"));
    std::fs::write(project.path().join("square.png"), png(64, [9, 9, 200])).expect("written");
    pair(folder.path(), Shape::TinyMistral);
    (project, folder)
}

/// The roles whose models were asked, according to the events of a turn.
fn asked_roles(out: &str) -> Vec<String> {
    let events = out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let calls = events.filter_map(|event| event["data"]["usage"]["calls"].as_array().cloned()).flatten();
    calls.filter_map(|call| Some(format!("{}: {}", call["role"].as_str()?, call["phase"].as_str()?))).collect()
}

#[test]
fn a_picture_that_a_request_names_is_looked_at_by_the_model_of_the_role_vision() {
    use crate::cli::Run;
    let (project, folder) = project_with_a_picture();
    let blind = smollm();
    let roles = format!("[planner]\nfile = \"{}\"\n[vision]\nfile = \"tiny-mistral3.gguf\"\n", blind.display());
    std::fs::write(folder.path().join("models.toml"), roles).expect("written");
    let models = folder.path().display().to_string();
    let ask = |request: &str| Run::new(&project, &["ask", "--json", "--model-dir", &models, request]).end();

    let seen = ask("What does square.png show?");
    assert!(seen.out.contains("square.png, as read by tiny-mistral3"), "{}\n{}", seen.out, seen.err);
    assert!(asked_roles(&seen.out).iter().any(|one| one == "vision: reading a picture"), "{}", seen.out);
    let moved = ask("Move square.png to pictures/square.png");
    assert!(!moved.out.contains("as read by"), "{}", moved.out);

    std::fs::remove_file(folder.path().join("models.toml")).expect("removed");
    std::fs::remove_file(folder.path().join("mmproj-tiny-mistral3.gguf")).expect("removed");
    let blind = ask("What does square.png show?");
    assert!(blind.out.contains("tiny-mistral3.gguf cannot see pictures"), "{}", blind.out);
    let blind = ask("Read square.png");
    assert!(blind.out.contains("square.png is a picture, and tiny-mistral3"), "{}\n{}", blind.out, blind.err);
    assert!(blind.out.contains("put its mmproj-*.gguf into the same folder"), "{}", blind.out);
}

#[test]
fn a_leading_model_looks_at_a_picture_by_a_call() {
    use crate::{away, boxed, cli::Run};
    let (project, folder) = project_with_a_picture();
    let (server, _) = away::saying(&[
        ("as read by", "It is a square, and that is all that can be said."),
        ("paints", "[describe_image(path=\"square.png\", question=\"Which colour is it?\")]"),
    ]);
    let more = format!(
        "tier = \"acts\"\ncapability = \"capable\"\n[vision]\nfile = \"{}/tiny-mistral3.gguf\"",
        folder.path().display()
    );
    let models = boxed::roles(&project, "planner", &server.url(), &more, true);
    let ask = ["ask", "--json", "--models-file", &models, "Say which colour the logo paints with, please"];
    let ended = Run::new(&project, &ask).end();
    let steps: Vec<String> = asked_roles(&ended.out);
    assert!(steps.iter().any(|one| one == "vision: reading a picture"), "{steps:?}\n{}\n{}", ended.out, ended.err);
    assert!(ended.out.contains("It is a square"), "{}", ended.out);
    let offered = server.chats().iter().any(|chat| chat.to_string().contains("describe_image"));
    assert!(offered);
}

#[test]
fn the_page_takes_pictures_and_says_what_a_blind_model_lacks() {
    let (project, folder) = project_with_a_picture();
    let models = folder.path().display().to_string();
    let told = |flags: &[&str]| {
        let browser = crate::page::served_with(&project, flags).entered();
        let picture = serde_json::json!([{ "name": "from-the-page.png", "data": base64(&png(64, [9, 200, 9])) }]);
        let ask = serde_json::json!({ "text": "What is it?", "mode": "chat", "pictures": picture });
        let wrong = serde_json::json!({ "text": "What is it?", "pictures": [{ "name": "a.png", "data": "AAAA" }] });
        let refused = browser.post("/api/turns", &wrong);
        assert!(refused.json(400).to_string().contains("a.png is not a PNG"));
        let turn = browser.post("/api/turns", &ask).json(200)["id"].as_u64().expect("a number");
        browser.events(turn, 0).rest().iter().map(|(_, event)| event.to_string()).collect::<String>()
    };
    assert!(told(&["--model-dir", &models]).contains("from-the-page.png, as read by tiny-mistral3"));
    assert!(told(&[]).contains("cannot see pictures: there is no projector beside it"));
}
