//! Detects this machine's vector instructions, and compiles functions for each instruction set.

use std::sync::OnceLock;

/// An instruction set that this machine supports. Only this module creates one, after checking the
/// processor, so whoever holds one may run code compiled for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Simd {
    /// Portable code, which runs everywhere and is the reference in tests.
    pub const PORTABLE: Simd = Simd(Level::Portable);

    /// The widest instruction set of this machine.
    pub fn best() -> Simd {
        static BEST: OnceLock<Simd> = OnceLock::new();
        *BEST.get_or_init(|| *Simd::available().last().unwrap_or(&Simd::PORTABLE))
    }

    /// Every instruction set of this machine, the portable one first and the widest last.
    pub fn available() -> Vec<Simd> {
        let mut levels = vec![Simd::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            levels.push(Simd(Level::Avx2));
            if is_x86_feature_detected!("avx512f") {
                levels.push(Simd(Level::Avx512));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Simd(Level::Neon));
        }
        levels
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

/// Compiles one generic function, `body::<FMA>(arguments)`, for every instruction set and calls the
/// version for `simd`. `FMA` is true if multiply-add is one instruction; otherwise `f32::mul_add`
/// would be a library call.
macro_rules! compile_for_each {
    ($simd:expr, $body:ident($($name:ident: $type:ty),* $(,)?)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2($($name: $type),*) {
            $body::<true>($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,avx512f")]
        fn avx512($($name: $type),*) {
            $body::<true>($($name),*)
        }
        match $simd.level() {
            $crate::simd::Level::Portable => $body::<false>($($name),*),
            // SAFETY: a `Simd` of this level exists only if the processor has AVX2 and FMA.
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx2 => unsafe { avx2($($name),*) },
            // SAFETY: a `Simd` of this level exists only if the processor has AVX-512F, AVX2 and
            // FMA.
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Level::Avx512 => unsafe { avx512($($name),*) },
            // Every 64-bit ARM target has NEON with fused multiply-add, so the plain compilation
            // uses it.
            #[cfg(target_arch = "aarch64")]
            $crate::simd::Level::Neon => $body::<true>($($name),*),
        }
    }};
}

/// `a * b + c`, in one instruction where available.
#[inline(always)]
pub(crate) fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Panics unless both have equal length and each pair differs by less than `tolerance`.
#[cfg(test)]
pub(crate) fn check_close(simd: Simd, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{simd:?}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < tolerance, "{simd:?}, place {at}: {found} is not {expected}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_portable_code_is_always_there_and_the_best_is_the_last() {
        let levels = Simd::available();
        assert_eq!(levels.first(), Some(&Simd::PORTABLE));
        assert_eq!(levels.last(), Some(&Simd::best()));
    }
}
