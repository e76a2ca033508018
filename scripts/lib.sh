# Sourced by the scripts beside it: messages, where cargo and the models are.
# shellcheck shell=bash

[[ -d $HOME/.cargo/bin ]] && PATH=$PATH:$HOME/.cargo/bin

# A RUSTFLAGS variable would replace the flags of .cargo/config.toml, and with them the native instructions of llama.cpp.
unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Where the program looks for models when it is not told a folder.
models_dir() {
  if [[ -n ${MONOBLOC_MODEL_DIR:-} ]]; then
    say "$MONOBLOC_MODEL_DIR"
  elif [[ $(uname -s) == Darwin ]]; then
    say "$HOME/Library/Application Support/monobloc/models"
  else
    say "${XDG_DATA_HOME:-$HOME/.local/share}/monobloc/models"
  fi
}
