//! Asks a server for its models, and for the context of one of them.

use serde_json::{Value, json};

use super::abilities::{CONTEXT_GUESSED, Kind};
use super::chat::accepted_or_why;
use super::error::Why;
use super::http::{Answer, Failure, WHOLE_MAX};
use super::{Remote, said};

/// One model in a server's list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub name: String,
    pub kind: Kind,
    /// Context in tokens according to the list.
    pub context: Option<usize>,
}

/// Pauses after a failed connection or a busy server.
const PAUSES_MS: [u64; 2] = [500, 1_000];

/// The model named in `models.toml`, else the only one; with `embeds`, only models that compute
/// vectors count.
pub async fn choose(remote: &Remote, embeds: bool) -> Result<Listed, Why> {
    let named = remote.endpoint().model.as_deref();
    let (all, kind) = match list(remote).await {
        Ok(read) => read,
        // A server without a list can be used if the model is named.
        Err(Why::NoSuchPath { .. }) if named.is_some() => (Vec::new(), Kind::Other),
        Err(why) => return Err(why),
    };
    picked(all, kind, named, embeds)
}

fn picked(mut all: Vec<Listed>, kind: Kind, named: Option<&str>, embeds: bool) -> Result<Listed, Why> {
    let names = |all: &[Listed]| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    match named {
        Some(name) if all.is_empty() => Ok(Listed { name: name.to_owned(), kind, context: None }),
        Some(name) => {
            // Ollama omits the tag `latest`.
            let is = |one: &Listed| one.name == name || one.name.strip_suffix(":latest") == Some(name);
            let found = all.iter().find(|one| is(one)).cloned();
            found.ok_or_else(|| Why::NoSuchModel { name: said::shown(name, None), there: names(&all) })
        }
        None => {
            let makes_vectors = |one: &Listed| one.name.to_lowercase().contains("embed");
            if all.len() > 1 {
                all.retain(|one| makes_vectors(one) == embeds);
            }
            // monobloc lists its roles as models.
            if kind == Kind::Monobloc {
                all.retain(|one| one.name == if embeds { "embedder" } else { "planner" });
            }
            match all.as_slice() {
                [] => Err(Why::NoModel),
                [one] => Ok(one.clone()),
                several => Err(Why::SeveralModels(names(several))),
            }
        }
    }
}

async fn list(remote: &Remote) -> Result<(Vec<Listed>, Kind), Why> {
    let answer = tried(remote, "models", None, true).await?;
    let by_header = match answer.header("server") {
        name if name.contains("llama.cpp") => Kind::LlamaServer,
        _ => Kind::Other,
    };
    let value = json_of(answer).await?;
    let data = value["data"].as_array().or(value.as_array());
    let data = data.ok_or_else(|| Why::Unreadable("the list of models has no `data`".to_owned()))?;
    let listed: Vec<Listed> = data.iter().filter_map(|one| listed(one, by_header)).collect();
    let kind = listed.first().map_or(by_header, |one| one.kind);
    Ok((listed, kind))
}

/// Maximum length of a model's name in bytes; models with longer names are left out.
const NAME_MAX: usize = 400;

fn listed(one: &Value, by_header: Kind) -> Option<Listed> {
    let name = one["id"].as_str().filter(|name| !name.is_empty() && name.len() <= NAME_MAX)?;
    let kind = match one["owned_by"].as_str().unwrap_or_default() {
        "llamacpp" => Kind::LlamaServer,
        "vllm" => Kind::Vllm,
        "sglang" => Kind::Sglang,
        "library" => Kind::Ollama,
        "organization_owner" => Kind::LmStudio,
        "monobloc" => Kind::Monobloc,
        _ => by_header,
    };
    let number =
        |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    let context = number(&one["meta"]["n_ctx"]).or(number(&one["max_model_len"])).or(number(&one["context_length"]));
    Some(Listed { name: name.to_owned(), kind, context })
}

/// The context of a model and its source. Ollama reports its context only once the model is loaded,
/// so this runs after the probe.
pub async fn context(remote: &Remote, model: &Listed) -> (usize, String) {
    if let Some(context) = remote.endpoint().context {
        return (context, "models.toml".to_owned());
    }
    if let Some(context) = model.context {
        return (context, "its list of models".to_owned());
    }
    let places: &[(&str, Kind)] = match model.kind {
        Kind::LlamaServer => &[("props", Kind::LlamaServer)],
        Kind::Ollama => &[("api/ps", Kind::Ollama)],
        Kind::LmStudio => &[("api/v1/models", Kind::LmStudio)],
        Kind::Vllm | Kind::Sglang | Kind::Monobloc => &[],
        Kind::Other => &[("props", Kind::LlamaServer), ("api/v1/models", Kind::LmStudio), ("api/ps", Kind::Ollama)],
    };
    for (path, kind) in places {
        if let Ok(value) = beside(remote, path, None).await
            && let Some(context) = context_in(*kind, &value, &model.name)
        {
            return (context, format!("/{path}"));
        }
    }
    if matches!(model.kind, Kind::Ollama)
        && let Ok(value) = beside(remote, "api/show", Some(json!({ "model": model.name }))).await
        && let Some(trained) = trained(&value)
    {
        return (trained.min(CONTEXT_GUESSED), "a guess, because /api/show only gives the training context".to_owned());
    }
    (CONTEXT_GUESSED, "a guess, because the server does not report it; set `context` in models.toml".to_owned())
}

/// The context in use, from an answer by a server of this kind.
fn context_in(kind: Kind, value: &Value, model: &str) -> Option<usize> {
    let of = |list: &Value, fields: &[&str]| {
        let is = |one: &&Value| fields.iter().any(|field| one[*field].as_str() == Some(model));
        list.as_array().and_then(|list| list.iter().find(is)).cloned()
    };
    let found = match kind {
        Kind::LlamaServer => value["default_generation_settings"]["n_ctx"].as_u64(),
        Kind::Ollama => of(&value["models"], &["name", "model"])?["context_length"].as_u64(),
        Kind::LmStudio => {
            let list = if value["models"].is_array() { &value["models"] } else { &value["data"] };
            of(list, &["key", "id"])?["loaded_instances"][0]["config"]["context_length"].as_u64()
        }
        _ => None,
    };
    found.and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0)
}

/// Ollama's `model_info` has the architecture in its field names.
fn trained(value: &Value) -> Option<usize> {
    let fields = value["model_info"].as_object()?;
    let (_, length) = fields.iter().find(|(name, _)| name.ends_with(".context_length"))?;
    length.as_u64().and_then(|count| usize::try_from(count).ok())
}

/// Posts JSON to a path of the common API and parses the JSON answer.
pub async fn post(remote: &Remote, path: &str, body: &Value) -> Result<Value, Why> {
    json_of(tried(remote, path, Some(body.to_string()), true).await?).await
}

/// Requests a path outside the common API, once.
async fn beside(remote: &Remote, path: &str, body: Option<Value>) -> Result<Value, Why> {
    json_of(tried(remote, path, body.map(|body| body.to_string()), false).await?).await
}

async fn json_of(answer: Answer) -> Result<Value, Why> {
    let text = answer.text(WHOLE_MAX).await?;
    serde_json::from_str(&text).map_err(|_| Why::Unreadable("it is not JSON".to_owned()))
}

/// The answer with status 200; an unreachable or busy server is retried twice.
async fn tried(remote: &Remote, path: &str, body: Option<String>, common: bool) -> Result<Answer, Why> {
    let mut pauses = PAUSES_MS.iter();
    loop {
        let sent =
            if common { remote.send(path, body.clone()).await } else { remote.send_beside(path, body.clone()).await };
        let why = match sent {
            Ok(answer) => match accepted_or_why(remote, answer, path).await {
                Err(why @ (Why::Unreachable { .. } | Why::Busy { .. })) => why,
                other => return other,
            },
            Err(Failure::Passing(last)) => Why::Unreachable { tries: PAUSES_MS.len() as u32 + 1, last },
            Err(Failure::Final(why)) => return Err(why),
        };
        match pauses.next() {
            Some(pause) => tokio::time::sleep(std::time::Duration::from_millis(*pause)).await,
            None => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> Listed {
        Listed { name: name.to_owned(), kind: Kind::Other, context: None }
    }

    fn check(there: &[&str], named: Option<&str>, embeds: bool, expected: Result<&str, &str>) {
        let got = picked(there.iter().map(|name| one(name)).collect(), Kind::Other, named, embeds);
        match (&got, expected) {
            (Ok(one), Ok(name)) => assert_eq!(one.name, name),
            (Err(why), Err(words)) => assert!(why.to_string().contains(words), "{why}"),
            _ => panic!("{there:?} {named:?}: {got:?}"),
        }
    }

    #[test]
    fn a_model_is_the_named_one_or_the_only_one() {
        check(&["a"], None, false, Ok("a"));
        check(&["a", "b"], Some("b"), false, Ok("b"));
        check(&["a:latest", "b"], Some("a"), false, Ok("a:latest"));
        check(&["a", "nomic-embed"], None, false, Ok("a"));
        check(&["a", "nomic-embed"], None, true, Ok("nomic-embed"));
        check(&["a", "b"], None, false, Err("it has a, b; specify one with `model`"));
        check(&["a", "b"], Some("c"), false, Err("no model called c; it has a, b"));
        check(&[], None, false, Err("load one there"));
        check(&[], Some("a"), false, Ok("a"));
    }

    #[test]
    fn the_list_says_who_serves_and_how_long_the_context_is() {
        let read = |value: Value| listed(&value, Kind::Other).map(|one| (one.kind, one.context));
        assert_eq!(
            read(json!({ "id": "a", "owned_by": "llamacpp", "meta": { "n_ctx": 4096, "n_ctx_train": 32768 } })),
            Some((Kind::LlamaServer, Some(4096)))
        );
        assert_eq!(read(json!({ "id": "a", "owned_by": "llamacpp", "meta": null })), Some((Kind::LlamaServer, None)));
        assert_eq!(
            read(json!({ "id": "a", "owned_by": "vllm", "max_model_len": 16384 })),
            Some((Kind::Vllm, Some(16384)))
        );
        assert_eq!(read(json!({ "id": "a", "owned_by": "library" })), Some((Kind::Ollama, None)));
        assert_eq!(read(json!({ "id": "" })), None);
    }

    #[test]
    fn each_server_says_its_context_in_its_own_way() {
        let check = |kind, value: Value, expected| assert_eq!(context_in(kind, &value, "m"), expected, "{value}");
        check(Kind::LlamaServer, json!({ "default_generation_settings": { "n_ctx": 2048 } }), Some(2048));
        check(
            Kind::Ollama,
            json!({ "models": [{ "name": "x", "context_length": 1 }, { "model": "m", "context_length": 4096 }] }),
            Some(4096),
        );
        check(Kind::Ollama, json!({ "models": [] }), None);
        let loaded =
            json!({ "models": [{ "key": "m", "loaded_instances": [{ "config": { "context_length": 9000 } }] }] });
        check(Kind::LmStudio, loaded, Some(9000));
        check(
            Kind::LmStudio,
            json!({ "models": [{ "key": "m", "loaded_instances": [], "max_context_length": 131072 }] }),
            None,
        );
        check(Kind::Other, json!({}), None);
        assert_eq!(trained(&json!({ "model_info": { "qwen2.context_length": 32768 } })), Some(32768));
    }
}
