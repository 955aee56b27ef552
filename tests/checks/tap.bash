# TAP for shell checks: `expect NAME COMMAND…` is one test that passes when the command succeeds,
# `refuse NAME COMMAND…` one that passes when it fails; `finish` prints the plan.
# shellcheck shell=bash
tap_count=0
tap_failed=0

tap_report() { # NAME STATUS OUTPUT
    tap_count=$((tap_count + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $tap_count - $1"
    else
        echo "not ok $tap_count - $1"
        tap_failed=$((tap_failed + 1))
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

expect() {
    local name=$1 output status=0
    shift
    output=$("$@" 2>&1) || status=$?
    tap_report "$name" "$status" "$output"
}

refuse() {
    local name=$1 output status=0
    shift
    output=$("$@" 2>&1) && status=1
    tap_report "$name" "$status" "succeeded, but was expected to fail: $output"
}

skip() { # NAME REASON
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

finish() {
    echo "1..$tap_count"
    exit $((tap_failed > 0))
}
