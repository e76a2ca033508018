//! Computes a model's memory on host and accelerator with given settings, and how fast it can decode.

use super::machine::{Kind, Machine};
use super::repack::{self, TOKENS, is_tied};
use super::{Amount, Estimate, LoadSettings, cache};
use crate::base::Bytes;
use crate::models::gguf::{Header, Tensor};

/// Memory of a model, by lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Held as long as any context uses the weights.
    pub weights: Amount,
    pub context: Amount,
}

impl Footprint {
    pub fn all(self) -> Amount {
        self.weights + self.context
    }
}

/// Number of bytes by which `amount` exceeds the memory of `machine`; zero if it fits.
pub fn overrun(amount: Amount, machine: &Machine) -> Bytes {
    let missing = amount.saturating_sub(machine.capacity());
    if machine.is_separate() { missing.host + missing.device } else { missing.host.max(missing.device) }
}

impl LoadSettings {
    /// The same settings with the last `gpu_layers` layers on the accelerator, if there is one;
    /// `None` means all layers.
    pub fn placed(self, header: &Header, gpu_layers: Option<u32>, machine: &Machine) -> LoadSettings {
        let on_device = if machine.accelerator.is_some() { gpu_layers.unwrap_or(u32::MAX) } else { 0 };
        LoadSettings { layers_on_host: (header.layers + 1).saturating_sub(on_device), ..self }
    }

    /// `n_gpu_layers` for llama.cpp.
    pub fn gpu_layers(&self, header: &Header) -> u32 {
        (header.layers + 1).saturating_sub(self.layers_on_host)
    }

    /// Whether the model runs entirely on the accelerator.
    pub fn is_on_accelerator(&self) -> bool {
        self.layers_on_host == 0 && self.experts_on_host == 0
    }
}

/// The memory that a model needs on the machine.
pub fn need(header: &Header, settings: &LoadSettings, machine: &Machine) -> Footprint {
    let all = Estimate::of(header, settings);
    if machine.accelerator.is_none() || settings.gpu_layers(header) == 0 {
        return Footprint { weights: all.of_weights().into(), context: all.of_context().into() };
    }
    let (mut weights, mut context) = (Amount::default(), Amount::default());
    for tensor in header.used_tensors() {
        if is_on_host(header, settings, tensor) {
            weights.host += tensor.bytes;
        } else {
            weights.device += tensor.bytes;
        }
        // A tied token table is looked up on the host and multiplied on the device.
        if tensor.name == TOKENS && is_tied(header) {
            weights.device += tensor.bytes;
        }
    }
    let on_host = |layer: usize| layer < settings.layers_on_host as usize;
    let (kv_host, kv_device) = cache::kv_by(header, settings, on_host);
    let states = cache::state(header) * settings.slots as u64;
    let (recurrent, here) = recurrent(header, on_host);
    let state_host = Bytes((u128::from(states.0) * u128::from(here) / u128::from(recurrent.max(1))) as u64);
    context.host += kv_host + state_host + all.output + all.host + all.marks;
    context.device += kv_device + states.saturating_sub(state_host) + all.compute;
    if machine.accelerator.is_some_and(|gpu| gpu.kind == Kind::Cuda) {
        context.device += cuda_scratch(header, settings);
    }
    if settings.layers_on_host > 0 || settings.experts_on_host > 0 {
        context.host += all.compute;
    }
    let charged = |amount: Amount| machine.amount(amount.host, amount.device);
    Footprint { weights: charged(weights), context: charged(context) }
}

/// Memory that CUDA takes for a model's kernels, cuBLAS, recorded graphs and ggml's pool of working
/// memory. Measured on an H200 (CUDA 13, `bench memory`): 80 MiB for a 135M and a 1.2B model, 178
/// MiB for a 24B model with experts, 270 to 284 MiB with experts on the host.
const CUDA_LIBRARIES: Bytes = Bytes::mib(60);
const CUDA_POOL: Bytes = Bytes::mib(24);
const CUDA_EXPERTS: Bytes = Bytes::mib(100);

fn cuda_scratch(header: &Header, settings: &LoadSettings) -> Bytes {
    // Attention reads quantised keys and values from an f16 copy, for one layer and all slots.
    let as_f16 = LoadSettings { kv_type: "f16".to_owned(), ..settings.clone() };
    let is_quantized = settings.kv_type != "f16";
    let copy = if is_quantized { cache::kv_of_widest_layer(header, &as_f16) } else { Bytes::ZERO };
    let experts = if header.experts > 0 { CUDA_EXPERTS } else { Bytes::ZERO };
    // A large batch is multiplied on the device even if the matrix is on the host, which is then
    // copied there first.
    let on_host = header.used_tensors().filter(|tensor| tensor.name != TOKENS && is_on_host(header, settings, tensor));
    let staged = on_host.map(|tensor| tensor.bytes).max().unwrap_or(Bytes::ZERO);
    CUDA_LIBRARIES + CUDA_POOL.max(copy) + experts + staged
}

/// Number of elements in the states of all recurrent layers, and in those of the recurrent layers
/// on the host.
fn recurrent(header: &Header, on_host: impl Fn(usize) -> bool) -> (u64, u64) {
    let layers = header.kept.iter().enumerate().map(|(number, layer)| (number, u64::from(layer.state)));
    layers.fold((0, 0), |(all, here), (number, state)| (all + state, here + if on_host(number) { state } else { 0 }))
}

/// Whether a tensor is on the host. The token table always is; tensors outside layers are placed
/// with the last layer.
fn is_on_host(header: &Header, settings: &LoadSettings, tensor: &Tensor) -> bool {
    if tensor.name == TOKENS {
        return true;
    }
    let layer = tensor.layer().unwrap_or(header.layers);
    layer < settings.layers_on_host || (is_expert(tensor) && layer < settings.experts_on_host)
}

/// Whether a tensor holds one matrix per expert.
pub fn is_expert(tensor: &Tensor) -> bool {
    tensor.name.contains("_exps")
}

/// The index of the first layer with experts, and one past the last.
pub fn expert_layers(header: &Header) -> Option<(u32, u32)> {
    let layers = || header.used_tensors().filter(|tensor| is_expert(tensor)).filter_map(Tensor::layer);
    Some((layers().min()?, layers().max()? + 1))
}

/// The number of layers whose experts are on the host.
pub fn experts_moved(header: &Header, settings: &LoadSettings) -> u32 {
    expert_layers(header).map_or(0, |(first, _)| settings.experts_on_host.saturating_sub(first))
}

/// Decoding speed without repacked weights, relative to the speed with them: 17 instead of 28
/// tokens per second (24B, two AVX-512 cores).
const PLAIN_SPEED: f64 = 17.0 / 28.0;

/// Upper limit on one slot's tokens per second, from memory bandwidth: each token reads every
/// active weight and half of a full KV cache once. Real programs reach 30 to 60 % of it.
pub fn tokens_per_second(header: &Header, settings: &LoadSettings, machine: &Machine) -> f64 {
    let (mut host, mut device) = (0.0, 0.0);
    for tensor in header.used_tensors() {
        let read = read_per_token(header, tensor);
        let plain = !settings.repack && repack::copy(tensor).is_some();
        let output = tensor.name == TOKENS;
        let on_host = match machine.accelerator {
            None => true,
            Some(_) if output => settings.gpu_layers(header) == 0,
            Some(_) => is_on_host(header, settings, tensor),
        };
        if on_host {
            host += read / if plain { PLAIN_SPEED } else { 1.0 };
        } else {
            device += read;
        }
    }
    let on_host = |layer: usize| machine.accelerator.is_none() || layer < settings.layers_on_host as usize;
    let (kv_host, kv_device) = cache::kv_by(header, settings, on_host);
    let slots = settings.slots.max(1) as f64;
    host += kv_host.0 as f64 / slots / 2.0;
    device += kv_device.0 as f64 / slots / 2.0;
    let device_bandwidth = machine.accelerator.map_or(1.0, |gpu| gpu.bandwidth.0.max(1) as f64);
    let seconds = host / machine.host_bandwidth.0.max(1) as f64 + device / device_bandwidth;
    if seconds > 0.0 { 1.0 / seconds } else { 0.0 }
}

/// Bytes read from a tensor per token: only the experts used, and nothing from the token table
/// unless it is also the output matrix.
fn read_per_token(header: &Header, tensor: &Tensor) -> f64 {
    let bytes = tensor.bytes.0 as f64;
    match header.experts {
        experts if experts > 0 && is_expert(tensor) => bytes * f64::from(header.experts_used) / f64::from(experts),
        _ if tensor.name == TOKENS && !is_tied(header) => 0.0,
        _ => bytes,
    }
}

/// Bytes of weights read per token.
pub fn bytes_per_token(header: &Header) -> Bytes {
    Bytes(header.used_tensors().map(|tensor| read_per_token(header, tensor)).sum::<f64>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::example::{self, hybrid};

    /// Eight layers of 17 MiB, the third and the seventh with attention, and a token table of 68
    /// MiB that is also the output matrix.
    fn dense() -> Header {
        hybrid(8, 1024, 0, "q8_0")
    }

    /// Keys and values take 32 MiB in each of the two attention layers, states 16 KiB in each of
    /// the others.
    fn wanted() -> LoadSettings {
        LoadSettings { marks: 4, ..example::wanted(8192, 2, "f16") }
    }

    fn on_host(layers_on_host: u32, experts_on_host: u32) -> LoadSettings {
        LoadSettings { layers_on_host, experts_on_host, ..wanted() }
    }

    fn with_card(kind: Kind) -> Machine {
        Machine::of(Bytes::gib(16)).with_card(kind, Bytes::gib(16))
    }

    #[test]
    fn the_accelerator_alone_computes_a_model_that_leaves_nothing_to_the_processor() {
        let (card, none) = (with_card(Kind::Cuda), Machine::of(Bytes::gib(16)));
        let placed = |layers: Option<u32>, machine: &Machine| wanted().placed(&dense(), layers, machine);
        assert!(placed(None, &card).is_on_accelerator());
        assert!(!placed(Some(8), &card).is_on_accelerator() && !placed(None, &none).is_on_accelerator());
        assert!(!on_host(0, 2).is_on_accelerator());
    }

    #[test]
    fn a_model_is_placed_as_asked_if_there_is_an_accelerator() {
        let check = |gpu_layers: Option<u32>, machine: &Machine, on_host: u32, on_device: u32| {
            let settings = wanted().placed(&dense(), gpu_layers, machine);
            assert_eq!(
                (settings.layers_on_host, settings.gpu_layers(&dense())),
                (on_host, on_device),
                "{gpu_layers:?}"
            );
        };
        let card = with_card(Kind::Vulkan);
        check(None, &card, 0, 9);
        check(Some(3), &card, 6, 3);
        check(Some(0), &card, 9, 0);
        check(Some(3), &Machine::of(Bytes::gib(16)), 9, 0);
    }

    #[test]
    fn what_is_missing_adds_up_unless_the_memory_is_shared() {
        let card = with_card(Kind::Vulkan);
        let more = |machine: &Machine| machine.capacity() + Amount { host: Bytes::gib(1), device: Bytes::gib(2) };
        assert_eq!(overrun(more(&card), &card), Bytes::gib(3));
        let shared = Machine::metal(Bytes::gib(16));
        assert_eq!(overrun(more(&shared), &shared), Bytes::gib(2));
        assert_eq!(overrun(card.capacity(), &card), Bytes::ZERO);
    }

    #[test]
    fn weights_and_cache_lie_where_their_layers_are() {
        let (header, card) = (dense(), with_card(Kind::Vulkan));
        let all = Estimate::of(&header, &wanted());
        let fixed = all.output + all.host + all.marks;
        let check = |layers: u32, weights: (Bytes, Bytes), context: (Bytes, Bytes)| {
            let amount = |(host, device): (Bytes, Bytes)| Amount { host, device };
            let expected = Footprint { weights: amount(weights), context: amount(context) };
            assert_eq!(need(&header, &on_host(layers, 0), &card), expected, "{layers}");
        };
        let (table, layer, kv, state) = (Bytes::mib(68), Bytes::mib(17), Bytes::mib(32), Bytes::kib(16));
        check(0, (table, table + layer * 8), (fixed, kv * 2 + state * 6 + all.compute));
        let split = (fixed + kv + state * 2 + all.compute, kv + state * 4 + all.compute);
        check(3, (table + layer * 3, table + layer * 5), split);
        check(8, (table + layer * 8, table), (fixed + kv * 2 + state * 6 + all.compute, all.compute));
        check(9, (all.of_weights(), Bytes::ZERO), (all.of_context(), Bytes::ZERO));
    }

    #[test]
    fn experts_may_stay_on_the_host_while_their_layers_do_not() {
        // Experts take 8.5 MiB per layer, the rest of a layer 4.25 MiB.
        let (header, card) = (hybrid(8, 1024, 4, "q8_0"), with_card(Kind::Vulkan));
        let all = Estimate::of(&header, &wanted());
        let (inside, moved) = (need(&header, &on_host(0, 0), &card), need(&header, &on_host(0, 2), &card));
        assert_eq!(moved.weights.host, inside.weights.host + Bytes::mib(17));
        assert_eq!(moved.weights.device + Bytes::mib(17), inside.weights.device);
        assert_eq!(moved.context.host, inside.context.host + all.compute);
        assert_eq!(moved.context.device, inside.context.device);
        assert_eq!((expert_layers(&header), expert_layers(&dense())), (Some((0, 8)), None));
    }

    #[test]
    fn cuda_takes_more_for_kernels_copies_and_matrices_on_the_host() {
        let check = |header: &Header, settings: LoadSettings, expected: Bytes| {
            let [cuda, other] =
                [Kind::Cuda, Kind::Vulkan].map(|kind| need(header, &settings, &with_card(kind)).context);
            assert_eq!(cuda.device, other.device + expected);
            assert_eq!(cuda.host, other.host);
        };
        check(&dense(), on_host(0, 0), Bytes::mib(84));
        let quantized = LoadSettings { kv_type: "q8_0".into(), ..wanted() };
        check(&dense(), quantized, Bytes::mib(60 + 32));
        check(&dense(), on_host(3, 0), Bytes::mib(84) + Bytes::kib(12 * 1024 + 768));
        let experts = hybrid(8, 1024, 4, "q8_0");
        check(&experts, on_host(0, 0), Bytes::mib(84 + 100));
        check(&experts, on_host(0, 1), Bytes::mib(84 + 100) + Bytes::kib(8 * 1024 + 512));
    }

    #[test]
    fn a_token_takes_the_time_to_read_weights_and_half_of_a_full_cache() {
        let check = |header: &Header, settings: &LoadSettings, machine: &Machine, host_mib: f64, device_mib: f64| {
            let seconds = host_mib * 1048576.0 / 45e9 + device_mib * 1048576.0 / 256e9;
            let found = tokens_per_second(header, settings, machine);
            assert!((found * seconds - 1.0).abs() < 1e-9, "{found} instead of {}", 1.0 / seconds);
        };
        let (host, card) = (Machine::of(Bytes::gib(16)), with_card(Kind::Vulkan));
        check(&dense(), &on_host(9, 0), &host, 204.0 + 16.0, 0.0);
        check(&dense(), &on_host(0, 0), &card, 0.0, 204.0 + 16.0);
        check(&dense(), &on_host(3, 0), &card, 3.0 * 17.0 + 8.0, 68.0 + 5.0 * 17.0 + 8.0);
        check(&dense(), &on_host(2, 0), &card, 2.0 * 17.0, 68.0 + 6.0 * 17.0 + 16.0);
        check(&dense(), &on_host(9, 0), &card, 204.0 + 16.0, 0.0);
        let nothing = Header { tensors: Vec::new(), kept: Vec::new(), ..dense() };
        assert_eq!(tokens_per_second(&nothing, &on_host(9, 0), &host), 0.0);
        let four_bits = hybrid(8, 1024, 0, "q4_0");
        check(&four_bits, &on_host(9, 0), &host, 108.0 + 16.0, 0.0);
        let plain = LoadSettings { repack: false, ..on_host(9, 0) };
        check(&four_bits, &plain, &host, 108.0 * 28.0 / 17.0 + 16.0, 0.0);
    }

    #[test]
    fn of_experts_only_those_used_are_read_and_of_the_tokens_only_the_output_matrix() {
        assert_eq!(bytes_per_token(&dense()), Bytes::mib(68 + 8 * 17));
        // Four of sixteen: 8.5 MiB per layer.
        let mut header = hybrid(8, 1024, 16, "q8_0");
        assert_eq!(bytes_per_token(&header), Bytes::mib(68 + 8 * 4 + 2 + 8 * 8 + 4));
        let output = Tensor { name: "output.weight".into(), bytes: Bytes::mib(1), ..header.tensors[0].clone() };
        header.tensors.push(output);
        assert_eq!(bytes_per_token(&header), Bytes::mib(1 + 8 * 4 + 2 + 8 * 8 + 4));
    }
}
