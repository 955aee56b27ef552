# Sourced by the parts that build the library in another way: with a sanitizer, for another machine.
# The build has no optional library (pkg-config finds nothing but the cmocka of tests/long/cmocka), has
# the kernels of the processor that it names (`generic`: plain C alone), is compiled fast (-O1, with asserts) and is
# below the folder of the release build.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The names of the unit tests in folders of tests/; that which compares with jansson needs jansson.
variant_tests() { # FOLDER…
    local folder
    for folder in "$@"; do
        find "$root/tests/$folder" -name 'test_*.c' -printf '%f\n' | sed 's/\.c$//' | grep -v jansson | sort
    done
}

# The names of the fuzz targets' replays.
variant_replays() {
    find "$root/tests/fuzz" -name 'fuzz_*.c' -printf '%f\n' | sed 's/fuzz_\(.*\)\.c$/replay_\1/' | sort
}

# Where they are installed, ninja and ccache save half of the time.
variant_tools=()
if command -v ccache >/dev/null; then variant_tools=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
if command -v ninja >/dev/null; then variant_tools+=(-G Ninja); fi

variant_build() { # FOLDER COMPILER PROCESSOR FLAGS TARGET…
    local folder=$1 compiler=$2 processor=$3 flags=$4
    shift 4
    mkdir -p "$folder/pkgconfig"
    printf 'Name: cmocka\nDescription: a part of cmocka\nVersion: 1.1\nCflags: -I%s\n' \
        "$root/tests/long/cmocka" >"$folder/pkgconfig/cmocka.pc"
    if ! {
        PKG_CONFIG_LIBDIR="$folder/pkgconfig" cmake -S "$root" -B "$folder" "${variant_tools[@]}" \
            -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" -DCMAKE_C_COMPILER="$compiler" \
            -DCMAKE_C_FLAGS="$flags" -DCMAKE_C_FLAGS_RELEASE="-O1" -DATTEND_EXAMPLES=OFF &&
            cmake --build "$folder" -j "${JOBS:-$(nproc)}" --target "$@"
    } >"$folder/log" 2>&1; then
        grep -E 'error:|undefined|truncated' "$folder/log" | cut -c 1-300 | head -n 20
        echo "cannot build: $folder/log"
        return 1
    fi
}

# The tests and the build that msan and truncation share: MemorySanitizer and the checks of UBSan can be
# compiled into one, and UBSAN_OPTIONS decides whether the latter end the program. Two tests replace
# read() by a system call of their own, whose result MemorySanitizer takes for memory never written.
variant_clang() { # BUILD
    "$root/scripts/setup" clang
    if ! command -v clang >/dev/null; then
        echo "skipped: there is no clang"
        exit 0
    fi
    folder=$(realpath "$1")/clang
    mapfile -t tests < <(variant_tests base text tensor settings sheet data import metrics |
        grep -vxE 'test_file|test_bundle' && variant_replays &&
        printf "%s\n" test_model_file test_tokenizer test_beam_search test_sampling test_classify test_training test_slices)
    variant_build "$folder" clang generic "-fsanitize=memory,undefined,implicit-conversion -fno-omit-frame-pointer \
-fsanitize-ignorelist=$root/tests/long/truncation.ignore" "${tests[@]}" || exit 1
}

emulator=() # words before each command, such as the name of an emulator
variant_failed=0
variant_passed=0
variant_skipped=0

# Runs one test and adds its results up; prints the output of one that fails.
variant_run() { # NAME COMMAND…
    local name=$1 output status=0 passed failed
    shift
    output=$(cd "$root" && env CMOCKA_MESSAGE_OUTPUT=TAP timeout 1200 "$@" 2>&1 </dev/null) || status=$?
    passed=$(grep -E '^ok [0-9]+' <<<"$output" | grep -cv '# SKIP')
    variant_skipped=$((variant_skipped + $(grep -cE '^(not )?ok [0-9]+.*# SKIP' <<<"$output")))
    failed=$(grep -E '^not ok' <<<"$output" | grep -cv '# SKIP') # as cmocka 1.1.5 reports a skipped test
    # what is no test, such as a training run, counts as one
    if [ "$status" -eq 0 ] && ! grep -qE '^(not )?ok ' <<<"$output"; then passed=1; fi
    variant_passed=$((variant_passed + passed))
    if [ "$status" -ne 0 ] || [ "$failed" -gt 0 ]; then
        variant_failed=$((variant_failed + (failed > 0 ? failed : 1)))
        echo "FAILED $name (exit code $status)"
        grep -vE '^ok [0-9]+' <<<"$output" | head -n "${LINES_OF_FAILURE:-30}"
    fi
}

# Runs unit tests and replays of a build, each after the words of `emulator`, an array.
variant_run_all() { # FOLDER TEST…
    local folder=$1 test
    shift
    for test in "$@"; do
        case $test in
        replay_*) variant_run "$test" "${emulator[@]}" "$folder/tests/fuzz/$test" "tests/fuzz/corpus/${test#replay_}" ;;
        *) variant_run "$test" "${emulator[@]}" "$folder/tests/$test" ;;
        esac
    done
}

variant_end() { # NAME
    echo "$1: $variant_passed passed, $variant_failed failed, $variant_skipped skipped"
    [ "$variant_failed" -eq 0 ]
}
