//! The tensors of a safetensors file: their memory, and the names by which a model finds them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use candle_core::safetensors::MmapedSafetensors;
use candle_core::{DType, Device};
use candle_nn::VarBuilder;

use super::error::EmbedError;
use super::files::damaged;
use crate::base::lock;

/// A mapped file whose header has been read.
pub struct Weights {
    file: PathBuf,
    mapped: MmapedSafetensors,
}

/// Where a model looks for its tensors.
#[derive(Debug, Clone, Copy)]
pub struct Root {
    /// A tensor that every file of the model has, named without prefix. A file may put a prefix
    /// (`bert.`, `model.`) before all names, or omit the usual one.
    pub anchor: &'static str,
    /// The prefix in the names of the tensors that the model requests.
    pub prefix: &'static str,
}

impl Weights {
    pub fn open(file: &Path) -> Result<Weights, EmbedError> {
        if !file.is_file() {
            return Err(EmbedError::Missing(file.to_owned()));
        }
        // SAFETY: a mapped file must not change while it is read. Model files are replaced by
        // renaming, which does not affect a mapping, and the map is dropped with this value: all
        // tensors on the CPU are copies.
        let mapped = unsafe { MmapedSafetensors::new(file) };
        let mapped = mapped.map_err(|error| damaged(file, first_line(&error)))?;
        Ok(Weights { file: file.to_owned(), mapped })
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Bytes of all tensors once they are loaded, as f32.
    pub fn bytes(&self) -> u64 {
        let numbers = |shape: &[usize]| shape.iter().fold(1u64, |product, side| product.saturating_mul(*side as u64));
        self.mapped.tensors().iter().fold(0u64, |sum, (_, tensor)| sum.saturating_add(4 * numbers(tensor.shape())))
    }

    /// A model, made by `make` from tensors in f32. Fails if a tensor is missing or has another
    /// shape, or if a layer has one that the model does not request: then it would compute
    /// something different from the trained model.
    pub fn load<T>(self, root: Root, make: impl FnOnce(VarBuilder) -> candle_core::Result<T>) -> Result<T, EmbedError> {
        let Weights { file, mapped } = self;
        let names: Vec<String> = mapped.tensors().into_iter().map(|(name, _)| name).collect();
        let prefixes = names.iter().filter_map(|name| name.strip_suffix(root.anchor));
        let prefix =
            prefixes.filter(|prefix| prefix.is_empty() || prefix.ends_with('.')).min_by_key(|prefix| prefix.len());
        let Some(prefix) = prefix.map(str::to_owned) else {
            return Err(damaged(&file, format!("it has no tensor `{}`", root.anchor)));
        };
        let asked = Arc::new(Mutex::new(HashSet::new()));
        let (asking, put) = (asked.clone(), prefix.clone());
        let builder =
            VarBuilder::from_backend(Box::new(mapped), DType::F32, Device::Cpu).rename_f(move |name: &str| {
                let name = format!("{put}{}", name.strip_prefix(root.prefix).unwrap_or(name));
                lock(&asking).insert(name.clone());
                name
            });
        let made = make(builder).map_err(|error| damaged(&file, first_line(&error)))?;
        let asked = lock(&asked);
        let in_layers = |name: &str| name.strip_prefix(&prefix).is_some_and(|name| name.contains("layer"));
        let has_effect = |name: &str| !COMPUTED.iter().any(|end| name.ends_with(end));
        match names.iter().find(|name| in_layers(name) && has_effect(name) && !asked.contains(*name)) {
            Some(name) => Err(damaged(&file, format!("config.json describes a model without its tensor `{name}`"))),
            None => Ok(made),
        }
    }
}

/// Tables that some files contain although every model computes them itself.
const COMPUTED: [&str; 2] = ["inv_freq", "position_ids"];

/// The first line of candle's error, which may contain a backtrace.
pub fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
