#!/bin/sh
# Builds README's program and the examples with nothing but pkg-config, against the library
# that PKG_CONFIG_PATH leads to, and runs them.
#   installed.sh COMPILER EXAMPLES
set -eu
compiler=$1
examples=$(cd "$2" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flags=$(pkg-config --cflags --libs --static einkorn)

# The first C block of README.
awk '/^```c$/ { on = 1; next } on && /^```$/ { exit } on' "$examples/../README.md" >"$folder/readme.c"
# shellcheck disable=SC2086
$compiler -o "$folder/readme" "$folder/readme.c" $flags
printed=$("$folder/readme")
[ "$printed" = "0x1p+0 0x1.5bf0a8p+1 0x1.d8e64cp+2" ] || {
    echo "installed.sh: README's program printed '$printed'" >&2
    exit 1
}
for example in digits glm pipeline; do
    # shellcheck disable=SC2086
    $compiler -o "$folder/$example" "$examples/$example"/*.c $flags
done
"$folder/digits" --data "$examples/digits" --epochs 1
"$folder/glm" --rows 2000 --steps 10
"$folder/pipeline" --batches 20 --rows 16 --width 64 --threads 3
echo "7 passed, 0 failed, 0 skipped"
