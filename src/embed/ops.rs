//! Implements the steps of a transformer layer on tensors: with our kernels on the CPU, with candle's operations elsewhere.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, InplaceOp2, InplaceOp3, Layout, Result, Shape, Tensor, bail};
use kernels::{attention, gelu, int8, norm};

/// A weight matrix [outputs, inputs] in the form that is fastest on its device: on the CPU rounded to eight bits.
pub enum Matrix {
    Rounded(int8::Weights),
    Tensor(Tensor),
}

impl Matrix {
    pub fn new(weight: &Tensor) -> Result<Matrix> {
        if !weight.device().is_cpu() {
            return Ok(Matrix::Tensor(weight.clone()));
        }
        let (outputs, inputs) = weight.dims2()?;
        let (storage, layout) = weight.storage_and_layout();
        match &*storage {
            candle_core::Storage::Cpu(storage) => {
                Ok(Matrix::Rounded(int8::Weights::new(numbers(storage, layout)?, outputs, inputs)))
            }
            _ => bail!("a tensor of the CPU lies elsewhere; this is a bug in candle"),
        }
    }

    /// x [tokens, inputs] times the transposed weights: [tokens, outputs].
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Matrix::Rounded(weights) => x.apply_op1_no_bwd(&Product(weights)),
            Matrix::Tensor(weights) => x.matmul(&weights.t()?),
        }
    }
}

/// `x = gelu(x + bias)`, x [tokens, d], bias [d]. On the CPU `x` itself is overwritten.
pub fn bias_gelu(x: Tensor, bias: &Tensor) -> Result<Tensor> {
    if !x.device().is_cpu() {
        return x.broadcast_add(bias)?.gelu_erf();
    }
    x.inplace_op2(bias, &BiasGelu)?;
    Ok(x)
}

/// `x = layer_norm(x + bias + residual)`, x and residual [tokens, d]; `parameters` [3, d] are bias, weight and shift.
/// On the CPU `x` itself is overwritten.
pub fn add_norm(x: Tensor, residual: &Tensor, parameters: &Tensor, epsilon: f32) -> Result<Tensor> {
    if !x.device().is_cpu() {
        let sum = x.broadcast_add(&parameters.get(0)?)?.add(residual)?;
        return candle_nn::ops::layer_norm(&sum, &parameters.get(1)?, &parameters.get(2)?, epsilon);
    }
    x.inplace_op3(residual, parameters, &AddNorm { epsilon })?;
    Ok(x)
}

/// Attention within each of the packed sequences: from qkv [tokens, 3 d], its bias [3 d] and `lengths` in tokens to [tokens, d].
pub fn attend(qkv: &Tensor, bias: &Tensor, lengths: &[usize], heads: usize) -> Result<Tensor> {
    if !qkv.device().is_cpu() {
        return attend_by_tensors(qkv, bias, lengths, heads);
    }
    qkv.apply_op2_no_bwd(bias, &Attend { lengths, heads })
}

/// [`attend`] with candle's operations, one sequence after another.
fn attend_by_tensors(qkv: &Tensor, bias: &Tensor, lengths: &[usize], heads: usize) -> Result<Tensor> {
    let qkv = qkv.broadcast_add(bias)?;
    let d = bias.dim(0)? / 3;
    let scale = 1.0 / ((d / heads) as f64).sqrt();
    let mut first = 0;
    let mut mixed = Vec::with_capacity(lengths.len());
    for &length in lengths {
        // [length, 3 d] -> three of [heads, length, d / heads]
        let parts = qkv.narrow(0, first, length)?.reshape((length, 3, heads, d / heads))?.permute((1, 2, 0, 3))?;
        let [q, k, v] = [parts.get(0)?.contiguous()?, parts.get(1)?.contiguous()?, parts.get(2)?.contiguous()?];
        let weights = candle_nn::ops::softmax_last_dim(&(q.matmul(&k.t()?)? * scale)?)?;
        mixed.push(weights.matmul(&v)?.transpose(0, 1)?.reshape((length, d))?);
        first += length;
    }
    Tensor::cat(&mixed, 0)
}

fn numbers<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&storage.as_slice::<f32>()?[from..to]),
        None => bail!("the fused steps read contiguous tensors; this is a bug in embed/bert.rs"),
    }
}

fn numbers_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(numbers), Some((from, to))) => Ok(&mut numbers[from..to]),
        _ => bail!("the fused steps write contiguous f32 tensors; this is a bug in embed/bert.rs"),
    }
}

struct Product<'a>(&'a int8::Weights);

impl CustomOp1 for Product<'_> {
    fn name(&self) -> &'static str {
        "product"
    }

    fn cpu_fwd(&self, x: &CpuStorage, x_at: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, inputs) = x_at.shape().dims2()?;
        if inputs != self.0.inputs() {
            bail!("rows of {inputs} meet weights for {}; this is a bug in embed/bert.rs", self.0.inputs());
        }
        let mut product = vec![0.0; rows * self.0.outputs()];
        int8::matmul(&int8::Activations::new(numbers(x, x_at)?, inputs), self.0, &mut product);
        Ok((CpuStorage::F32(product), Shape::from((rows, self.0.outputs()))))
    }
}

struct BiasGelu;

impl InplaceOp2 for BiasGelu {
    fn name(&self) -> &'static str {
        "bias-gelu"
    }

    fn cpu_fwd(&self, x: &mut CpuStorage, x_at: &Layout, bias: &CpuStorage, bias_at: &Layout) -> Result<()> {
        gelu::bias_gelu(numbers_mut(x, x_at)?, numbers(bias, bias_at)?);
        Ok(())
    }
}

struct AddNorm {
    epsilon: f32,
}

impl InplaceOp3 for AddNorm {
    fn name(&self) -> &'static str {
        "add-norm"
    }

    fn cpu_fwd(
        &self,
        x: &mut CpuStorage,
        x_at: &Layout,
        residual: &CpuStorage,
        residual_at: &Layout,
        parameters: &CpuStorage,
        parameters_at: &Layout,
    ) -> Result<()> {
        let parameters = numbers(parameters, parameters_at)?;
        let (bias, rest) = parameters.split_at(parameters.len() / 3);
        let (weight, shift) = rest.split_at(bias.len());
        let norm = norm::Norm { bias, weight, shift, epsilon: self.epsilon };
        norm::add_norm(numbers_mut(x, x_at)?, numbers(residual, residual_at)?, norm);
        Ok(())
    }
}

struct Attend<'a> {
    lengths: &'a [usize],
    heads: usize,
}

impl CustomOp2 for Attend<'_> {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn cpu_fwd(
        &self,
        qkv: &CpuStorage,
        qkv_at: &Layout,
        bias: &CpuStorage,
        bias_at: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (qkv, bias) = (numbers(qkv, qkv_at)?, numbers(bias, bias_at)?);
        let mut out = vec![0.0; qkv.len() / 3];
        attention::attend(qkv, bias, self.lengths, self.heads, &mut out);
        let shape = Shape::from((out.len() / (bias.len() / 3), bias.len() / 3));
        Ok((CpuStorage::F32(out), shape))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};

    use super::*;

    fn random(shape: (usize, usize)) -> Tensor {
        Tensor::randn(0f32, 1.0, shape, &Device::Cpu).expect("a random tensor")
    }

    fn check(found: Tensor, expected: Tensor) {
        assert_eq!(found.dims(), expected.dims());
        let difference = (found - expected).and_then(|d| d.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>());
        let difference = difference.expect("tensors of one shape");
        assert!(difference < 1e-4, "off by {difference}");
    }

    #[test]
    fn our_product_equals_candles_except_for_rounding() -> Result<()> {
        let (x, weight) = (random((9, 40)), random((70, 40)));
        let rows = |x: &Tensor| x.to_vec2::<f32>();
        let (found, expected) = (rows(&Matrix::new(&weight)?.apply(&x)?)?, rows(&x.matmul(&weight.t()?)?)?);
        for (found, expected) in found.iter().zip(&expected) {
            let alike = kernels::cosine(found, expected)[0];
            assert!(alike > 0.9995, "cosine {alike}");
        }
        assert_eq!(found.len(), expected.len());
        Ok(())
    }

    #[test]
    fn our_activation_equals_candles() -> Result<()> {
        let (x, bias) = (random((7, 96)), random((1, 96)).get(0)?);
        let expected = x.broadcast_add(&bias)?.gelu_erf()?;
        check(bias_gelu(x, &bias)?, expected);
        Ok(())
    }

    #[test]
    fn our_normalisation_equals_candles() -> Result<()> {
        let (x, residual, parameters) = (random((5, 48)), random((5, 48)), random((3, 48)));
        let sum = x.broadcast_add(&parameters.get(0)?)?.add(&residual)?;
        let expected = candle_nn::ops::layer_norm(&sum, &parameters.get(1)?, &parameters.get(2)?, 1e-5)?;
        check(add_norm(x, &residual, &parameters, 1e-5)?, expected);
        Ok(())
    }

    #[test]
    fn our_attention_equals_candles() -> Result<()> {
        let (qkv, bias) = (random((40, 3 * 24)), random((1, 3 * 24)).get(0)?);
        let lengths = [1, 30, 2, 7];
        check(attend(&qkv, &bias, &lengths, 3)?, attend_by_tensors(&qkv, &bias, &lengths, 3)?);
        Ok(())
    }
}
