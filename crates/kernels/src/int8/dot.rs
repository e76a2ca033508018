//! The inner loop of the eight-bit product: tiles of sums kept in registers, one function per instruction set.

use std::sync::OnceLock;

/// Inputs per output that one instruction multiplies and adds.
pub(super) const GROUP: usize = 4;
/// Outputs stored side by side: the number of sums in an AVX-512 register.
pub(super) const PANEL: usize = 16;

/// An instruction set for eight-bit dot products that this machine supports. Only this module
/// creates one, after checking the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "aarch64")]
    DotProduct,
}

impl Dot {
    /// Portable code, which runs everywhere and is the reference in tests.
    pub const PORTABLE: Dot = Dot(Level::Portable);

    /// The fastest instruction set of this machine.
    pub fn best() -> Dot {
        static BEST: OnceLock<Dot> = OnceLock::new();
        *BEST.get_or_init(|| *Dot::available().last().unwrap_or(&Dot::PORTABLE))
    }

    /// Every instruction set of this machine, the portable code first and the fastest last.
    pub fn available() -> Vec<Dot> {
        let mut levels = vec![Dot::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Dot(Level::Avx2));
                if is_x86_feature_detected!("avxvnni") {
                    levels.push(Dot(Level::AvxVnni));
                }
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                levels.push(Dot(Level::Avx512Vnni));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("dotprod") {
            levels.push(Dot(Level::DotProduct));
        }
        levels
    }
}

/// Rows on the left, panels of weights on the right, in the formats of `Activations` and `Weights`.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    pub numbers: &'a [u8],
    pub row_scales: &'a [f32],
    /// Bytes per row, a multiple of `GROUP`; a panel has `PANEL` times as many.
    pub stride: usize,
    pub panels: &'a [i8],
    pub scales: &'a [f32],
    pub excess: &'a [i32],
}

/// The sums of one tile: for each of R rows, those of `PANELS` panels.
type Sums<const R: usize, const PANELS: usize> = [[[i32; PANEL]; PANELS]; R];

impl<'a> Tile<'a> {
    /// The first R rows.
    #[inline(always)]
    fn rows<const R: usize>(self) -> [&'a [u8]; R] {
        std::array::from_fn(|row| &self.numbers[row * self.stride..][..self.stride])
    }

    /// The first PANELS panels, each stored group by group.
    #[inline(always)]
    fn panels<const PANELS: usize>(self) -> [&'a [i8]; PANELS] {
        let bytes = self.stride * PANEL;
        std::array::from_fn(|panel| &self.panels[panel * bytes..][..bytes])
    }

    #[inline(always)]
    fn after_rows(self, rows: usize) -> Tile<'a> {
        Tile { numbers: &self.numbers[rows * self.stride..], row_scales: &self.row_scales[rows..], ..self }
    }

    #[inline(always)]
    fn after_panels(self, panels: usize) -> Tile<'a> {
        let outputs = panels * PANEL;
        Tile {
            panels: &self.panels[outputs * self.stride..],
            scales: &self.scales[outputs..],
            excess: &self.excess[outputs..],
            ..self
        }
    }

    /// Scales the sums of a tile's rows and panels, and writes `width` numbers to each row of
    /// `out`.
    #[inline(always)]
    fn store<const R: usize, const P: usize>(self, sums: Sums<R, P>, out: &mut [f32], stride: usize, width: usize) {
        for ((out, sums), row_scale) in out.chunks_mut(stride).zip(&sums).zip(self.row_scales) {
            for (panel, sums) in sums.iter().enumerate() {
                let scales = &self.scales[panel * PANEL..][..PANEL];
                let excess = &self.excess[panel * PANEL..][..PANEL];
                let numbers: [f32; PANEL] =
                    std::array::from_fn(|at| (sums[at] - excess[at]) as f32 * (scales[at] * row_scale));
                let from = panel * PANEL;
                match out.get_mut(from..from + PANEL).filter(|_| from + PANEL <= width) {
                    Some(out) => out.copy_from_slice(&numbers),
                    None => out[from..width].copy_from_slice(&numbers[..width - from]),
                }
            }
        }
    }
}

/// Covers `out` [rows, outputs] with tiles of `$panels` panels and one of the listed row counts,
/// the largest first and 1 last; `$sums::<R, P>(tile)` computes the sums of one tile. A macro, so
/// that everything is compiled with the caller's instruction set.
macro_rules! cover {
    ($tile:expr, $out:expr, $outputs:expr, $panels:literal, [$($rows:literal),+], $sums:path) => {{
        let (all, outputs) = ($tile, $outputs);
        let mut panel = 0;
        while panel * PANEL < outputs {
            let left = outputs - panel * PANEL;
            let mut tile = all.after_panels(panel);
            let mut out = &mut $out[panel * PANEL..];
            let panels = if left > ($panels - 1) * PANEL { $panels } else { 1 };
            loop {
                let count = tile.row_scales.len();
                let rows = if panels == 1 {
                    cover!(@rows tile, out, outputs, left.min(PANEL), 1, [$($rows),+], $sums, count)
                } else {
                    cover!(@rows tile, out, outputs, left.min($panels * PANEL), $panels, [$($rows),+], $sums, count)
                };
                if rows == count {
                    break;
                }
                tile = tile.after_rows(rows);
                out = &mut out[rows * outputs..];
            }
            panel += panels;
        }
    }};
    (@rows $tile:ident, $out:ident, $stride:expr, $width:expr, $panels:literal, [$($rows:literal),+], $sums:path, $count:ident) => {
        $(if $count >= $rows {
            $tile.store::<$rows, $panels>($sums($tile), $out, $stride, $width);
            $rows
        } else)+ {
            0
        }
    };
}

/// Writes the products of all rows and all panels to `out` [rows, outputs]; there is at least one
/// row.
pub(super) fn multiply(dot: Dot, tile: Tile, out: &mut [f32], outputs: usize) {
    match dot.0 {
        Level::Portable => cover!(tile, out, outputs, 1, [4, 1], portable),
        // SAFETY: a `Dot` of this level exists only if the processor has AVX2.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::avx2(tile, out, outputs) },
        // SAFETY: a `Dot` of this level exists only if the processor has AVX2 and AVX-VNNI.
        #[cfg(target_arch = "x86_64")]
        Level::AvxVnni => unsafe { x86::avx_vnni(tile, out, outputs) },
        // SAFETY: a `Dot` of this level exists only if the processor has AVX-512F and AVX-512 VNNI.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vnni => unsafe { x86::avx512_vnni(tile, out, outputs) },
        // SAFETY: a `Dot` of this level exists only if the processor has dot products.
        #[cfg(target_arch = "aarch64")]
        Level::DotProduct => unsafe { arm::dot_product(tile, out, outputs) },
    }
}

fn portable<const R: usize, const P: usize>(tile: Tile) -> Sums<R, P> {
    let mut sums = [[[0; PANEL]; P]; R];
    for (sums, row) in sums.iter_mut().zip(tile.rows::<R>()) {
        for (sums, panel) in sums.iter_mut().zip(tile.panels::<P>()) {
            for (four, group) in row.as_chunks::<GROUP>().0.iter().zip(panel.as_chunks::<{ GROUP * PANEL }>().0) {
                for (sum, weights) in sums.iter_mut().zip(group.as_chunks::<GROUP>().0) {
                    *sum += four.iter().zip(weights).map(|(x, weight)| i32::from(*x) * i32::from(*weight)).sum::<i32>();
                }
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{GROUP, PANEL, Sums, Tile};

    /// Twelve rows by two panels: 24 sums, two weights and a factor in 32 registers.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn avx512_vnni(tile: Tile, out: &mut [f32], outputs: usize) {
        cover!(tile, out, outputs, 2, [12, 8, 4, 2, 1], sums_512);
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    fn sums_512<const R: usize, const P: usize>(tile: Tile) -> Sums<R, P> {
        let (rows, panels) = (tile.rows::<R>(), tile.panels::<P>());
        let mut sums = [[_mm512_setzero_si512(); P]; R];
        for group in 0..tile.stride / GROUP {
            let mut weights = [_mm512_setzero_si512(); P];
            for (weights, panel) in weights.iter_mut().zip(panels) {
                // SAFETY: a panel has 64 bytes for each group of the rows, and the load requires no
                // alignment.
                *weights = unsafe { _mm512_loadu_si512(panel.as_ptr().add(group * GROUP * PANEL).cast()) };
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                // SAFETY: the row has four bytes for each group.
                let four = unsafe { row.as_ptr().add(group * GROUP).cast::<i32>().read_unaligned() };
                let four = _mm512_set1_epi32(four);
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_dpbusd_epi32(*sum, four, weights);
                }
            }
        }
        let mut stored = [[[0; PANEL]; P]; R];
        for (stored, sum) in stored.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            // SAFETY: sixteen integers fill the register exactly, and the store requires no
            // alignment.
            unsafe { _mm512_storeu_si512(stored.as_mut_ptr().cast(), *sum) };
        }
        stored
    }

    /// Six rows by one panel: twelve sums, two weights and a factor in 16 registers.
    #[target_feature(enable = "avx2,avxvnni")]
    pub fn avx_vnni(tile: Tile, out: &mut [f32], outputs: usize) {
        cover!(tile, out, outputs, 1, [6, 2, 1], sums_256);
    }

    #[target_feature(enable = "avx2,avxvnni")]
    fn sums_256<const R: usize, const P: usize>(tile: Tile) -> Sums<R, P> {
        let (rows, panels) = (tile.rows::<R>(), tile.panels::<P>());
        let mut stored = [[[0; PANEL]; P]; R];
        for (at, panel) in panels.into_iter().enumerate() {
            let mut sums = [[_mm256_setzero_si256(); 2]; R];
            for group in 0..tile.stride / GROUP {
                // SAFETY: a panel has 64 bytes for each group of the rows, and the loads require no
                // alignment.
                let weights: [__m256i; 2] = unsafe {
                    let first = panel.as_ptr().add(group * GROUP * PANEL);
                    [_mm256_loadu_si256(first.cast()), _mm256_loadu_si256(first.add(32).cast())]
                };
                for (sums, row) in sums.iter_mut().zip(rows) {
                    // SAFETY: the row has four bytes for each group.
                    let four = unsafe { row.as_ptr().add(group * GROUP).cast::<i32>().read_unaligned() };
                    let four = _mm256_set1_epi32(four);
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        *sum = _mm256_dpbusd_avx_epi32(*sum, four, weights);
                    }
                }
            }
            for (stored, sums) in stored.iter_mut().zip(sums) {
                for (half, sum) in stored[at].as_chunks_mut::<8>().0.iter_mut().zip(sums) {
                    // SAFETY: eight integers fill the register exactly, and the store requires no
                    // alignment.
                    unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), sum) };
                }
            }
        }
        stored
    }

    /// Three rows by one panel: without VNNI, bytes are first widened to 16 bits, so a panel takes
    /// four registers of sums.
    #[target_feature(enable = "avx2")]
    pub fn avx2(tile: Tile, out: &mut [f32], outputs: usize) {
        cover!(tile, out, outputs, 1, [3, 1], sums_widened);
    }

    #[target_feature(enable = "avx2")]
    fn sums_widened<const R: usize, const P: usize>(tile: Tile) -> Sums<R, P> {
        let (rows, panels) = (tile.rows::<R>(), tile.panels::<P>());
        let mut stored = [[[0; PANEL]; P]; R];
        for (at, panel) in panels.into_iter().enumerate() {
            // Each register holds two sums of pairs for each of four outputs.
            let mut sums = [[_mm256_setzero_si256(); 4]; R];
            for group in 0..tile.stride / GROUP {
                let mut factors = [_mm256_setzero_si256(); R];
                for (factor, row) in factors.iter_mut().zip(rows) {
                    // SAFETY: the row has four bytes for each group.
                    let four = unsafe { row.as_ptr().add(group * GROUP).cast::<i32>().read_unaligned() };
                    *factor = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
                }
                for quarter in 0..4 {
                    // SAFETY: a panel has 64 bytes for each group of the rows, and the load
                    // requires no alignment.
                    let bytes = unsafe {
                        _mm_loadu_si128(panel.as_ptr().add(group * GROUP * PANEL + quarter * 16).cast::<__m128i>())
                    };
                    let weights = _mm256_cvtepi8_epi16(bytes);
                    for (sums, factor) in sums.iter_mut().zip(factors) {
                        sums[quarter] = _mm256_add_epi32(sums[quarter], _mm256_madd_epi16(factor, weights));
                    }
                }
            }
            for (stored, sums) in stored.iter_mut().zip(sums) {
                for (four, sums) in stored[at].as_chunks_mut::<4>().0.iter_mut().zip(sums) {
                    let mut pairs = [0i32; 8];
                    // SAFETY: eight integers fill the register exactly, and the store requires no
                    // alignment.
                    unsafe { _mm256_storeu_si256(pairs.as_mut_ptr().cast(), sums) };
                    *four = std::array::from_fn(|output| pairs[2 * output] + pairs[2 * output + 1]);
                }
            }
        }
        stored
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;
    use std::arch::asm;

    use super::{GROUP, PANEL, Sums, Tile};

    /// Six rows by one panel: 24 sums, four weights and a factor in 32 registers.
    #[target_feature(enable = "neon,dotprod")]
    pub fn dot_product(tile: Tile, out: &mut [f32], outputs: usize) {
        cover!(tile, out, outputs, 1, [6, 2, 1], sums_128);
    }

    #[target_feature(enable = "neon,dotprod")]
    fn sums_128<const R: usize, const P: usize>(tile: Tile) -> Sums<R, P> {
        let (rows, panels) = (tile.rows::<R>(), tile.panels::<P>());
        let mut stored = [[[0; PANEL]; P]; R];
        for (at, panel) in panels.into_iter().enumerate() {
            let mut sums = [[vdupq_n_s32(0); 4]; R];
            for group in 0..tile.stride / GROUP {
                // SAFETY: a panel has 64 bytes for each group of the rows.
                let weights: [int8x16_t; 4] = std::array::from_fn(|quarter| unsafe {
                    vld1q_s8(panel.as_ptr().add(group * GROUP * PANEL + quarter * 16))
                });
                for (sums, row) in sums.iter_mut().zip(rows) {
                    // SAFETY: the row has four bytes for each group.
                    let four = unsafe { row.as_ptr().add(group * GROUP).cast::<u32>().read_unaligned() };
                    // The instruction needs both sides signed: 128 is subtracted here, and its
                    // effect is added back below.
                    let four = vreinterpretq_s8_u32(vdupq_n_u32(four ^ 0x8080_8080));
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        // SAFETY: this function is compiled for processors with the instruction; it touches no memory.
                        unsafe {
                            asm!(
                                "sdot {sum:v}.4s, {weights:v}.16b, {four:v}.16b",
                                sum = inout(vreg) *sum, weights = in(vreg) weights, four = in(vreg) four,
                                options(pure, nomem, nostack, preserves_flags)
                            );
                        }
                    }
                }
            }
            for (stored, sums) in stored.iter_mut().zip(sums) {
                for (quarter, sum) in sums.into_iter().enumerate() {
                    // SAFETY: both sides are four integers long.
                    unsafe { vst1q_s32(stored[at][quarter * 4..][..4].as_mut_ptr(), sum) };
                }
                for (sum, excess) in stored[at].iter_mut().zip(&tile.excess[at * PANEL..]) {
                    *sum += excess;
                }
            }
        }
        stored
    }
}
