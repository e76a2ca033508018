# Sourced by the scripts beside it: messages, the folder of the models.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

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
