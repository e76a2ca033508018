//! Reads the files that sentence-transformers adds to a model: pooling, dense layers, prompts, length.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::dense::Dense;
use super::error::EmbedError;
use super::files::{damaged, json as read_json, unsupported};
use super::pooling;
use super::prompts::Prompts;
use crate::models::Pooling;

/// Tokens read at once if no file states a number, as in all-MiniLM-L6-v2.
const TOKENS_UNSTATED: usize = 256;
/// Maximum number of dense layers.
const DENSE_MAX: usize = 4;

/// The modules that follow the model.
pub struct Modules {
    /// `None` if no file states it.
    pub pooling: Option<Pooling>,
    pub dense: Vec<Dense>,
    pub prompts: Prompts,
    /// The model's own maximum number of tokens per text.
    pub tokens: usize,
    /// The content of all files read, for the fingerprint.
    pub read: Vec<Vec<u8>>,
}

impl Modules {
    /// `width` is the length of the model's vectors.
    pub fn read(folder: &Path, width: usize) -> Result<Modules, EmbedError> {
        let mut read = Vec::new();
        let mut optional = |name: &str| -> Result<Option<(PathBuf, Value)>, EmbedError> {
            let file = folder.join(name);
            if !file.is_file() {
                return Ok(None);
            }
            let (value, bytes) = read_json(&file)?;
            read.push(bytes);
            Ok(Some((file, value)))
        };
        let listed = optional("modules.json")?;
        let (pooled, dense) = match &listed {
            Some((file, value)) => ordered(folder, file, value)?,
            None if folder.join("2_Dense").exists() => return Err(EmbedError::Missing(folder.join("modules.json"))),
            None => ("1_Pooling".to_owned(), Vec::new()),
        };
        let prompts_file = optional("config_sentence_transformers.json")?;
        let prompts =
            prompts_file.map_or_else(|| Ok(Prompts::default()), |(file, value)| Prompts::read(&file, &value))?;
        let pooling = match optional(&format!("{pooled}/config.json"))? {
            Some((file, value)) => {
                if value["include_prompt"] == false && prompts != Prompts::default() {
                    return Err(unsupported(
                        &file,
                        "include_prompt",
                        &json!(false),
                        "true, or a model without prompts",
                    ));
                }
                Some(pooling::read(&file, &value, width)?)
            }
            None if listed.is_some() => return Err(EmbedError::Missing(folder.join(pooled).join("config.json"))),
            None => None,
        };
        let lengths = [("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")];
        let mut tokens = None;
        for (name, field) in lengths {
            let stated = optional(name)?.and_then(|(_, value)| value[field].as_f64());
            // A tokenizer without a limit states 10^30.
            tokens = tokens.or(stated.filter(|number| *number >= 1.0).map(|number| number as usize));
        }
        let mut layers: Vec<Dense> = Vec::new();
        for name in dense {
            let layer = Dense::open(&folder.join(&name))?;
            let before = layers.last().map_or(width, |layer| layer.outputs);
            if layer.inputs != before {
                let reason =
                    format!("`in_features` is {}, but the vectors before it have {before} numbers", layer.inputs);
                return Err(damaged(&folder.join(name).join("config.json"), reason));
            }
            read.push(layer.config.clone());
            layers.push(layer);
        }
        Ok(Modules { pooling, dense: layers, prompts, tokens: tokens.unwrap_or(TOKENS_UNSTATED), read })
    }
}

/// The folders of the pooling and the dense layers in `modules.json`, a list such as
/// `[{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1_Pooling", "type": …}, …]`.
/// A final `Normalize` module changes nothing, because all our vectors have unit length.
fn ordered(folder: &Path, file: &Path, value: &Value) -> Result<(String, Vec<String>), EmbedError> {
    let kinds = "Transformer, Pooling, any Dense, Normalize, in this order";
    let modules = value.as_array().ok_or_else(|| damaged(file, "it is not a list".to_owned()))?;
    let (mut pooling, mut dense, mut is_normal) = (None, Vec::new(), false);
    for (place, module) in modules.iter().enumerate() {
        let kind = module["type"].as_str().and_then(|path| path.rsplit('.').next()).unwrap_or_default();
        let path = module["path"].as_str().unwrap_or_default();
        let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside {
            return Err(unsupported(file, "path", &module["path"], &format!("a folder in {}", folder.display())));
        }
        match kind {
            "Transformer" if place == 0 && path.is_empty() => (),
            "Pooling" if place == 1 => pooling = Some(path.to_owned()),
            "Dense" if pooling.is_some() && !is_normal && dense.len() < DENSE_MAX => dense.push(path.to_owned()),
            "Normalize" if pooling.is_some() => is_normal = true,
            _ => return Err(unsupported(file, "type", &module["type"], kinds)),
        }
    }
    let pooling = pooling.ok_or_else(|| damaged(file, "it lists no Pooling".to_owned()))?;
    Ok((pooling, dense))
}
