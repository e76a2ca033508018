// Completes GCC's tile intrinsics: up to version 13 they do not tell the compiler which memory the instructions read.
//
// `_tile_loadconfig` names 8 of the 64 bytes it reads and `_tile_loadd` none, so the compiler drops or delays the stores before them.
// ggml's AMX kernels then crash (a tile configuration of rubbish) or compute with old tiles. CPLUS_INCLUDE_PATH in .cargo/config.toml puts
// this file before GCC's own; other compilers have other file names and never see it.

#include_next <amxtileintrin.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14 && !defined(MONOBLOC_TILE_MEMORY)
#define MONOBLOC_TILE_MEMORY

struct monobloc_tile_configuration {
    char bytes[64];
};

#define _tile_loadconfig(configuration) \
    __asm__ volatile("ldtilecfg\t%X0" ::"m"(*(const struct monobloc_tile_configuration *)(configuration)))

#undef _tile_loadd
#define _tile_loadd(tile, base, stride) MONOBLOC_TILE_LOAD(tile, base, stride)
#define MONOBLOC_TILE_LOAD(tile, base, stride)                                                          \
    __asm__ volatile("{tileloadd\t(%0,%1,1), %%tmm" #tile "|tileloadd\t%%tmm" #tile ", [%0+%1*1]}" ::"r"( \
                         (const void *)(base)),                                                         \
                     "r"((long)(stride))                                                                \
                     : "memory")

#endif
