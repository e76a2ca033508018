//! A dense layer after pooling, from a folder such as `2_Dense`.

use std::path::Path;

use candle_core::{Module, Result, Tensor};
use candle_nn::{Linear, linear, linear_no_bias};
use serde_json::Value;

use super::error::EmbedError;
use super::files::{json, number, unsupported};
use super::weights::{Root, Weights};

/// A layer whose configuration has been read.
pub struct Dense {
    pub inputs: usize,
    pub outputs: usize,
    pub weights: Weights,
    /// The content of its configuration, for the fingerprint.
    pub config: Vec<u8>,
    has_bias: bool,
    activation: Activation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activation {
    Identity,
    Tanh,
}

/// A loaded layer.
pub struct Layer {
    linear: Linear,
    activation: Activation,
}

impl Dense {
    /// Reads `config.json` and the header of `model.safetensors`.
    pub fn open(folder: &Path) -> std::result::Result<Dense, EmbedError> {
        let file = folder.join("config.json");
        let (value, config) = json(&file)?;
        let function = &value["activation_function"];
        let activation = match function.as_str().and_then(|path| path.rsplit('.').next()) {
            Some("Identity") => Activation::Identity,
            // The layer's default in sentence-transformers.
            Some("Tanh") => Activation::Tanh,
            None if function.is_null() => Activation::Tanh,
            _ => return Err(unsupported(&file, "activation_function", function, "Identity and Tanh")),
        };
        Ok(Dense {
            inputs: number(&file, &value, "in_features")?,
            outputs: number(&file, &value, "out_features")?,
            weights: Weights::open(&folder.join("model.safetensors"))?,
            config,
            has_bias: value.get("bias").and_then(Value::as_bool).unwrap_or(true),
            activation,
        })
    }

    pub fn load(self) -> std::result::Result<Layer, EmbedError> {
        let Dense { inputs, outputs, weights, has_bias, activation, .. } = self;
        let root = Root { anchor: "linear.weight", prefix: "" };
        let linear = weights.load(root, |at| match has_bias {
            true => linear(inputs, outputs, at.pp("linear")),
            false => linear_no_bias(inputs, outputs, at.pp("linear")),
        })?;
        Ok(Layer { linear, activation })
    }
}

impl Module for Layer {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.linear.forward(x)?;
        match self.activation {
            Activation::Identity => Ok(x),
            Activation::Tanh => x.tanh(),
        }
    }
}
