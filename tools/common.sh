# Sourced by the scripts in tools/: where the tree is, how they speak and how they fail. All words go to stderr, so that
# a script's stdout carries its result alone.
set -euo pipefail

BATON_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly BATON_ROOT
readonly BATON_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/baton

say() {
  printf '%s\n' "$*" >&2
}

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Prints the comment block at the head of the calling script: its help text.
print_help() {
  sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"
}

# build_preset NAME [TARGET...]: configures and builds; quiet unless something is to be said.
build_preset() {
  local preset=$1
  shift
  local log=$BATON_ROOT/build/$preset.configure.log
  mkdir -p "$BATON_ROOT/build"
  (cd "$BATON_ROOT" && cmake --preset "$preset") >"$log" 2>&1 || {
    cat "$log" >&2
    fail "cmake could not configure the preset '$preset' (the text above says why)"
  }
  (cd "$BATON_ROOT" && cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}) >&2 ||
    fail "the preset '$preset' does not build"
}
