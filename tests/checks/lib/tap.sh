# tap.sh - for checks that are shell scripts, `. "$WHAMMC_SRCDIR/tests/checks/lib/tap.sh"`: prints TAP lines; makes the directory $tmp,
# which is removed at the end.
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
number=0

# check TITLE COMMAND...: gives the command's status, and shows the end of what it said if it failed; all of that is in $tmp/log.
check() {
    title=$1
    shift
    number=$((number + 1))
    if "$@" >"$tmp/log" 2>&1; then
        echo "ok $number - $title"
    else
        echo "not ok $number - $title"
        tail -n 30 "$tmp/log" | sed 's/^/# /'
        return 1
    fi
}

# skip TITLE WHY
skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

finish() {
    echo "1..$number"
    exit 0
}
