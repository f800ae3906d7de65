#!/bin/sh
# Index the example memories into .demo/ (made afresh) and walk through the three layers of one search.
#
#     scripts/demo.sh PATH_TO_GIEOK          e.g. scripts/demo.sh .venv/bin/gieok
set -eu

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: scripts/demo.sh PATH_TO_GIEOK (an executable; 'make demo' installs one and calls this)" >&2
    exit 2
fi
bin=$(cd "$(dirname "$1")" && pwd)
gieok="$bin/$(basename "$1")"
python="$bin/python"
if [ ! -x "$python" ]; then
    echo "scripts/demo.sh: no python beside $gieok; give the gieok of a virtual environment" >&2
    exit 2
fi
cd "$(dirname "$0")/.."

question="재시도마다 키가 달라지면 왜 새 결제가 되나"
home=.demo

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

# Show the command as a reader would type it, then run it.
run() {
    printf '$ gieok'
    for word in "$@"; do
        case $word in
            *' '*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$gieok" "$@"
}

say "Index the memory of a fictional team: diaries, notes, agent sessions"
rm -rf -- "$home"
run index examples/memories --home "$home"

say "Layer 1: what is there? A line for each memory"
run search "$question" --layer 1 --home "$home"

# The id of the best hit, from the same answer as JSON.
id=$("$gieok" search "$question" --layer 1 --json --home "$home" |
    "$python" -c 'import json, sys; print(json.load(sys.stdin)["index"][0]["id"])')

say "Layer 2: what happened around the best hit?"
run timeline "$id" --home "$home"

say "Layer 3: the memory itself"
run show "$id" --home "$home"

say "Now ask it yourself, for example:"
cat <<EXAMPLES
  $1 search "금요일 배포" --home $home
  $1 search "why was the connection pool exhausted" --home $home
  $1 search PAY-4821 --home $home --layer 2
EXAMPLES
