#!/bin/sh
# Installs monobloc from an archive that scripts/release made, after checking its sum. No Rust is needed.
#
#   install.sh ARCHIVE [--prefix DIR]
#
# ARCHIVE is a path or a URL of monobloc-VERSION-TARGET.tar.xz, with the file ARCHIVE.sha256 beside it. The program goes to DIR/bin, completions and
# documents to DIR/share [default: ~/.local]. Needs tar, xz, sha256sum or shasum, and for a URL curl or wget.
set -eu

say() { printf '%s\n' "$*"; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

usage='usage: install.sh ARCHIVE [--prefix DIR]'
archive='' prefix=$HOME/.local
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || die "--prefix needs a folder"
      prefix=$2
      shift
      ;;
    -h | --help)
      say "$usage, where ARCHIVE is a path or a URL [default of DIR: ~/.local]"
      exit 0
      ;;
    -*) die "unknown option $1; $usage" ;;
    *)
      [ -z "$archive" ] || die "two archives are named; $usage"
      archive=$1
      ;;
  esac
  shift
done
[ -n "$archive" ] || die "no archive is named; $usage"

name=${archive##*/}
case $name in
  monobloc-*.tar.xz) ;;
  *) die "$name is not an archive of monobloc; its name is monobloc-VERSION-TARGET.tar.xz" ;;
esac

# The archive has to be built for this machine.
case $(uname -s) in
  Linux) system=linux machine=$(uname -m) ;;
  Darwin) system=darwin machine=$(uname -m | sed 's/^arm64$/aarch64/') ;;
  *) die "there are archives for Linux and macOS only, not for $(uname -s)" ;;
esac
case $name in
  *-"$machine"-*"$system"*) ;;
  *) die "$name is not for this machine ($machine, $system)" ;;
esac
if [ "$system-$machine" = linux-x86_64 ] && ! grep -qw avx2 /proc/cpuinfo; then
  die "the archive needs a processor with AVX2; build from source instead: cargo install --locked --path ."
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# fetch SOURCE FILE: a path, file:// or anything that curl or wget takes.
fetch() {
  case $1 in
    file://*) cp "${1#file://}" "$2" || die "${1#file://} cannot be read" ;;
    *://*)
      if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$2" "$1" || die "$1 cannot be fetched"
      elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || die "$1 cannot be fetched"
      else
        die "neither curl nor wget is installed; fetch $1 and its .sha256 yourself and name the file"
      fi
      ;;
    *) cp "$1" "$2" || die "$1 cannot be read" ;;
  esac
}
fetch "$archive" "$work/$name"
fetch "$archive.sha256" "$work/sum"

expected=$(cut -d ' ' -f 1 "$work/sum")
if command -v sha256sum >/dev/null; then
  actual=$(sha256sum "$work/$name")
elif command -v shasum >/dev/null; then
  actual=$(shasum -a 256 "$work/$name")
else
  die "neither sha256sum nor shasum is installed, so the archive cannot be checked"
fi
actual=${actual%% *}
[ "$actual" = "$expected" ] || die "the sum of $name is $actual, not $expected; nothing was installed, fetch it again"

command -v xz >/dev/null || die "xz is not installed; on Debian: apt-get install xz-utils"
tar -C "$work" -xJf "$work/$name" || die "$name cannot be unpacked"
from=$work/${name%.tar.xz}
[ -x "$from/monobloc" ] || die "$name has no program in it"
version=$("$from/monobloc" --version) || die "the program does not start here (see above); build from source instead: cargo install --locked --path ."

# place FILE TARGET: whole or not at all, also while an older version runs.
place() {
  [ -e "$1" ] || return 0
  mkdir -p "${2%/*}"
  cp -R "$1" "$2.new$$"
  [ ! -d "$2" ] || rm -rf "$2"
  mv -f "$2.new$$" "$2"
}
place "$from/monobloc" "$prefix/bin/monobloc"
place "$from/monobloc.bash" "$prefix/share/bash-completion/completions/monobloc"
place "$from/monobloc.zsh" "$prefix/share/zsh/site-functions/_monobloc"
place "$from/monobloc.fish" "$prefix/share/fish/vendor_completions.d/monobloc.fish"
rm -f "$from/monobloc" "$from/monobloc.bash" "$from/monobloc.zsh" "$from/monobloc.fish"
place "$from" "$prefix/share/doc/monobloc"

say "$version is installed as $prefix/bin/monobloc"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) say "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
say "next: monobloc fit --model-dir DIR-WITH-GGUF-FILES"
