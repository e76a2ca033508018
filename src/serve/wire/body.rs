//! The fields of a request, taken by name; a field that nothing takes is harmless, refused, or reported as ignored.

use axum::body::Bytes;
use axum::http::HeaderValue;
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::base::is_listed;
use crate::config::SamplingWish;
use crate::engine::{Sampling, SamplingError};
use crate::serve::problem::Problem;
use crate::serve::wire;

/// Fields that do not affect an answer.
const HARMLESS: &str = "user metadata safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options service_tier
    client_metadata betas context_management cache_control inference_geo max_tool_calls cache_prompt id_slot keep_alive
    timings_per_token return_progress return_tokens request_id priority mirostat_tau mirostat_eta xtc_threshold
    dynatemp_exponent dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers spaces_between_special_tokens";

/// Unsupported fields that would change an answer: each with the values that have no effect, as
/// JSON, and the alternative. `null` and `false` never have an effect.
const REFUSED: [(&str, &str, &str); 66] = [
    ("n", "1", "a request gets one answer; send it again for more"),
    ("best_of", "0 1", "only one answer is written; send the request again for more"),
    ("logit_bias", "{}", "tokens are neither preferred nor banned; say in the prompt what is not wanted"),
    ("functions", "[]", "send `tools`"),
    ("function_call", "\"none\" \"auto\"", "send `tool_choice`"),
    ("modalities", "[\"text\"]", "answers are text"),
    ("audio", "", "answers are text"),
    ("prediction", "", "predictions are not used"),
    ("web_search_options", "", "the web is not searched"),
    ("verbosity", "\"medium\"", "say in the prompt how long the answer should be"),
    ("store", "", "answers are not stored"),
    ("echo", "", "send the prompt to /v1/completions"),
    ("suffix", "\"\"", "write the model's own marks for the suffix into the prompt"),
    ("top_logprobs", "0", "log-probabilities are given at /v1/chat/completions"),
    ("truncation", "\"disabled\"", "nothing is cut; send less"),
    ("prompt", "", "send the text itself in `input`"),
    ("container", "", "nothing is run here"),
    ("mcp_servers", "[]", "send `tools`"),
    ("moderation", "", "nothing is moderated here"),
    ("min_tokens", "0", "an answer ends where the model ends it"),
    ("ignore_eos", "", "an answer ends where the model ends it"),
    ("stop_token_ids", "[]", "send texts in `stop`"),
    ("include_stop_str_in_output", "", "stop texts are cut off"),
    ("bad_words", "[]", "words are not banned; say in the prompt what is not wanted"),
    ("allowed_token_ids", "[]", "tokens cannot be chosen by number; send a `response_format`"),
    ("use_beam_search", "", "only one answer is written"),
    ("length_penalty", "1", "only one answer is written"),
    ("early_stopping", "", "only one answer is written"),
    ("skip_special_tokens", "true", "control tokens are not part of an answer"),
    ("add_generation_prompt", "true", "an answer is always asked for"),
    ("continue_final_message", "", "a final assistant message is continued anyway"),
    ("add_special_tokens", "true", "the model's template is used"),
    ("chat_template", "\"\"", "the model's template is used"),
    ("documents", "[]", "send the texts in `messages`"),
    ("prompt_logprobs", "0", "log-probabilities of the prompt are not given"),
    ("truncate_prompt_tokens", "-1", "nothing is cut; send less"),
    ("guided_json", "", "send a `response_format`"),
    ("guided_regex", "\"\"", "send a `response_format`"),
    ("guided_choice", "[]", "send a `response_format`"),
    ("guided_grammar", "\"\"", "send a `response_format`"),
    ("structured_outputs", "{}", "send a `response_format`"),
    ("response_schema", "", "send a `response_format`"),
    ("grammar", "\"\"", "send a `response_format`"),
    ("json_schema", "{}", "send a `response_format`"),
    ("format", "\"\"", "send a `response_format`"),
    ("typical_p", "1", "send `top_p` or `min_p`"),
    ("tfs_z", "1", "send `top_p` or `min_p`"),
    ("top_a", "0", "send `top_p` or `min_p`"),
    ("xtc_probability", "0", "send `top_p` or `min_p`"),
    ("mirostat", "0", "send `temperature` and `top_p`"),
    ("dynatemp_range", "0", "send `temperature`"),
    ("dry_multiplier", "0", "send `repetition_penalty`"),
    ("repeat_last_n", "64", "the last 64 tokens are considered"),
    ("samplers", "[]", "their order is fixed"),
    ("n_predict", "-1", "send `max_tokens`"),
    ("n_probs", "0", "send `logprobs`"),
    ("n_keep", "0", "nothing is cut; send less"),
    ("n_indent", "0", "say in the prompt how lines should begin"),
    ("t_max_predict_ms", "0", "send `max_tokens`"),
    ("options", "{}", "send each option as its own field"),
    ("raw", "", "send the prompt to /v1/completions"),
    ("template", "\"\"", "the model's template is used"),
    ("images", "[]", "pictures are parts of a message: `image_url` with a data URI"),
    ("lora", "[]", "adapters are set in models.toml"),
    ("models", "[]", "name one `model`"),
    ("plugins", "[]", "send `tools`"),
];

/// The header of an answer that names the fields that were not read.
const IGNORED: &str = "x-monobloc-ignored";

/// The fields of a request that have not been taken yet.
#[derive(Debug)]
pub struct Fields(Map<String, Value>);

impl Fields {
    pub fn read(body: &Bytes) -> Result<Fields, Problem> {
        wire::read(body).map(Fields)
    }

    #[cfg(test)]
    pub fn of(fields: &Value) -> Fields {
        Fields(fields.as_object().cloned().expect("an object"))
    }

    /// The value of a field; `None` if it is missing or null.
    pub fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Problem> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else { return Ok(None) };
        let wrong = |error| Problem::invalid(name, format!("`{name}` cannot be read: {error}"));
        serde_json::from_value(value).map(Some).map_err(wrong)
    }

    /// A number that may be negative, which means "no limit".
    pub fn limit(&mut self, name: &'static str) -> Result<Option<usize>, Problem> {
        Ok(self.take::<i64>(name)?.and_then(|number| usize::try_from(number).ok()))
    }

    /// One text or a list of texts.
    pub fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Problem> {
        match self.take::<Value>(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text])),
            Some(Value::Array(all)) if all.iter().all(Value::is_string) => {
                Ok(Some(all.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
            }
            Some(_) => Err(Problem::invalid(name, format!("`{name}` must be a string or a list of strings"))),
        }
    }

    /// The client's sampling values.
    pub fn sampling(&mut self) -> Result<SamplingWish, Problem> {
        let repetition = match self.take("repetition_penalty")? {
            None => self.take("repeat_penalty")?,
            given => given,
        };
        let wish = SamplingWish {
            temperature: self.take("temperature")?,
            top_k: self.limit("top_k")?,
            top_p: self.take("top_p")?,
            min_p: self.take("min_p")?,
            frequency_penalty: self.take("frequency_penalty")?,
            presence_penalty: self.take("presence_penalty")?,
            repetition_penalty: repetition,
            seed: self.take::<i64>("seed")?.map(|seed| seed as u64),
        };
        let checked = Sampling::greedy().wished(wish).checked();
        checked.map(|_| wish).map_err(|error| Problem::invalid(field_of(&error), error.to_string()))
    }

    /// Checks the fields that were not taken. The error names the first field that would change an
    /// answer; the returned names are those of unknown fields.
    pub fn rest(self) -> Result<Ignored, Problem> {
        let mut ignored = Vec::new();
        for (name, value) in self.0 {
            match REFUSED.iter().find(|(known, ..)| *known == name) {
                Some((name, nothing, way_out)) if !asks_nothing(&value, nothing) => {
                    return Err(Problem::invalid(name, format!("`{name}` is not supported here; {way_out}")));
                }
                Some(_) => {}
                None if is_listed(HARMLESS, &name) => {}
                None => ignored.push(name),
            }
        }
        Ok(Ignored(ignored))
    }
}

/// The names of fields that were not read.
#[derive(Debug)]
pub struct Ignored(Vec<String>);

impl Ignored {
    /// The response with a header that names them.
    pub fn told(&self, mut response: Response) -> Response {
        let plain =
            |name: &&String| name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        let names: Vec<&str> = self.0.iter().filter(plain).take(32).map(String::as_str).collect();
        if let (false, Ok(value)) = (names.is_empty(), HeaderValue::from_str(&names.join(", "))) {
            response.headers_mut().insert(IGNORED, value);
        }
        response
    }
}

/// Whether `value` has no effect: it is one of `nothing`, which is JSON.
fn asks_nothing(value: &Value, nothing: &str) -> bool {
    let same = |one: &str| {
        let one: Value = serde_json::from_str(one).unwrap_or_default();
        one == *value || one.as_f64().is_some_and(|one| value.as_f64() == Some(one))
    };
    value.is_null() || *value == false || nothing.split_whitespace().any(same)
}

/// The field whose value is out of range.
fn field_of(error: &SamplingError) -> &'static str {
    const FIELDS: [&str; 5] = ["top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty"];
    let wrong = match error {
        SamplingError::Range { name, .. } => name.replace(['-', ' '], "_"),
        SamplingError::AdaptiveGreedy => String::new(),
    };
    FIELDS.into_iter().find(|field| *field == wrong).unwrap_or("temperature")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(given: Value) -> Fields {
        Fields::of(&given)
    }

    #[test]
    fn a_field_that_changes_the_answer_is_refused_unless_it_asks_for_nothing() {
        let check = |name: &str, value: Value, refused: bool| {
            let found = fields(json!({ name: value })).rest().err().and_then(|problem| problem.field);
            assert_eq!(found, Some(name).filter(|_| refused), "{name} {value}");
        };
        for (name, asks, plain) in [
            ("best_of", json!(4), json!(1)),
            ("modalities", json!(["text", "audio"]), json!(["text"])),
            ("function_call", json!({ "name": "f" }), json!("auto")),
            ("store", json!(true), json!(false)),
            ("web_search_options", json!({}), Value::Null),
            ("mirostat", json!(2), json!(0.0)),
            ("truncation", json!("auto"), json!("disabled")),
            ("guided_regex", json!("a+"), json!("")),
            ("best_of", json!("two"), Value::Null),
        ] {
            check(name, asks, true);
            check(name, plain, false);
        }
    }

    #[test]
    fn unknown_fields_are_told_and_harmless_ones_are_not() {
        let rest = fields(json!({ "user": "u", "metadata": { "a": 1 }, "temprature": 1, "né": 1 })).rest().unwrap();
        let response = rest.told(Response::default());
        assert_eq!(response.headers()[IGNORED], "temprature");
        assert!(fields(json!({ "user": "u" })).rest().unwrap().told(Response::default()).headers().is_empty());
    }

    #[test]
    fn a_wrong_type_or_range_is_told_with_the_name_of_the_field() {
        for (name, value) in [
            ("temperature", json!("hot")),
            ("temperature", json!(-1)),
            ("top_p", json!(0)),
            ("min_p", json!([])),
            ("presence_penalty", json!(99)),
            ("seed", json!("x")),
            ("top_k", json!({})),
        ] {
            let problem = fields(json!({ name: value })).sampling().unwrap_err();
            assert_eq!(problem.field, Some(name), "{problem}");
        }
        assert!(
            fields(json!({ "stop": 7 })).texts("stop").is_err()
                && fields(json!({ "stop": [7] })).texts("stop").is_err()
        );
        assert_eq!(fields(json!({ "max_tokens": -1 })).limit("max_tokens"), Ok(None));
        assert!(fields(json!({ "max_tokens": "many" })).limit("max_tokens").is_err());
    }
}
