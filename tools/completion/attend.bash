# bash completion for attend(1); printed by 'attend help --format bash'

# Offers the words of $1 that begin like the current one.
_attend_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Offers folders, and files with the suffix $1 (all files if it is empty).
_attend_files() {
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
        if [ -z "$1" ]; then compgen -f -- "$cur"; else compgen -f -X "!*.$1" -- "$cur"; fi
    )
    compopt -o filenames 2>/dev/null || true
}

_attend_verbs() {
    _attend_words 'explain exercise grade train prepare run eval score show cells info import quantize shortlist features bench gradcheck selftest help --help --version'
}

# Completes the value of the option before the cursor; fails if it takes none.
_attend_value() {
    case "$verb $prev" in
    'explain --format' | 'explain -f') _attend_words 'text md latex html json' ;;
    'explain --output' | 'explain -o') _attend_files '' ;;
    'explain --export') _attend_words 'numpy pytorch' ;;
    'explain --digits' | 'explain -d') ;;
    'explain --detail') _attend_words 'none one all' ;;
    'explain --only') ;;
    'explain --row') ;;
    'explain --head') ;;
    'explain --input') ;;
    'explain --target') ;;
    'explain --part') _attend_words 'encoder decoder cross' ;;
    'explain --layer') ;;
    'explain --step') ;;
    'explain --image-index') ;;
    'explain --image-encoder') _attend_files '' ;;
    'explain --color') _attend_words 'auto always never' ;;
    'explain --svg') _attend_files 'svg' ;;
    'explain --png') _attend_files 'png' ;;
    'explain --pdf') _attend_files 'pdf' ;;
    'explain --diagram') _attend_files '' ;;
    'explain --scale') ;;
    'exercise --variant') ;;
    'exercise --variants') ;;
    'exercise --format' | 'exercise -f') _attend_words 'text md latex html json' ;;
    'exercise --output' | 'exercise -o') _attend_files '' ;;
    'exercise --digits' | 'exercise -d') ;;
    'exercise --color') _attend_words 'auto always never' ;;
    'grade --variant') ;;
    'grade --variants') ;;
    'grade --format' | 'grade -f') _attend_words 'text md html json' ;;
    'grade --output' | 'grade -o') _attend_files '' ;;
    'grade --pages') ;;
    'grade --csv') _attend_files '' ;;
    'grade --json') _attend_files '' ;;
    'grade --gradescope') _attend_files '' ;;
    'grade --color') _attend_words 'auto always never' ;;
    'train --config') _attend_files '' ;;
    'train --train') _attend_files '' ;;
    'train --source') _attend_files '' ;;
    'train --target') _attend_files '' ;;
    'train --valid') _attend_files '' ;;
    'train --valid-source') _attend_files '' ;;
    'train --valid-target') _attend_files '' ;;
    'train --valid-fraction') ;;
    'train --guided-alignment') _attend_files '' ;;
    'train --format') _attend_words 'auto tsv conll sigmorphon scan csv jsonl' ;;
    'train --columns') ;;
    'train --features') _attend_files '' ;;
    'train --valid-features') _attend_files '' ;;
    'train --features-scale') ;;
    'train --image-rows') ;;
    'train --image-columns') ;;
    'train --image-depth') ;;
    'train --image-size') ;;
    'train --conv-layers') ;;
    'train --conv-channels') ;;
    'train --alphabet') ;;
    'train --min-string-length') ;;
    'train --max-string-length') ;;
    'train --train-count') ;;
    'train --valid-count') ;;
    'train --source-tokens') _attend_words 'char word bpe byte codepoint space line' ;;
    'train --target-tokens') _attend_words 'char word bpe byte codepoint space line' ;;
    'train --tokens') _attend_words 'char word bpe byte codepoint' ;;
    'train --bpe-merges') ;;
    'train --min-count') ;;
    'train --max-length') ;;
    'train --sequence-length') ;;
    'train --architecture') _attend_words 'rnn transformer cnn' ;;
    'train --layers') ;;
    'train --hidden-size') ;;
    'train --positions') _attend_words 'none sinusoidal learned rotary' ;;
    'train --positions-join') _attend_words 'add concat' ;;
    'train --tie-embeddings') _attend_words 'no output all' ;;
    'train --vectors') _attend_files '' ;;
    'train --char-features') _attend_words 'none cnn lstm' ;;
    'train --char-embedding-size') ;;
    'train --char-size') ;;
    'train --init-range') ;;
    'train --init-from') ;;
    'train --init-vocab') _attend_words 'keep extend' ;;
    'train --rnn-cell') _attend_words 'vanilla gru lstm' ;;
    'train --embedding-size') ;;
    'train --decoder-init') _attend_words 'copy project' ;;
    'train --attention') _attend_words 'none fixed dot scaled general additive concat location local coverage' ;;
    'train --normalizer') _attend_words 'softmax mean sparsemax entmax sigmoid sum none' ;;
    'train --attention-context') _attend_words 'output state both' ;;
    'train --attention-window') ;;
    'train --preset') _attend_words 'tiny small base' ;;
    'train --decoder-layers') ;;
    'train --heads') ;;
    'train --kv-heads') ;;
    'train --ffn-size') ;;
    'train --norm') _attend_words 'pre post none' ;;
    'train --norm-kind') _attend_words 'layer rms' ;;
    'train --activation') _attend_words 'relu gelu swiglu' ;;
    'train --attention-dropout') ;;
    'train --embedding-dropout') ;;
    'train --min-window') ;;
    'train --max-window') ;;
    'train --pool') _attend_words 'stop last mean max attention' ;;
    'train --pool-score') _attend_words 'dot scaled additive' ;;
    'train --pool-heads') ;;
    'train --dropout') ;;
    'train --word-dropout') ;;
    'train --label-smoothing') ;;
    'train --consistency') ;;
    'train --state-reset') ;;
    'train --scheduled-sampling') ;;
    'train --scheduled-sampling-start') ;;
    'train --guided-alignment-weight') ;;
    'train --optimizer') _attend_words 'sgd adam adamw adadelta' ;;
    'train --learning-rate') ;;
    'train --momentum') ;;
    'train --beta1') ;;
    'train --beta2') ;;
    'train --rho') ;;
    'train --epsilon') ;;
    'train --weight-decay') ;;
    'train --clip-norm') ;;
    'train --schedule') _attend_words 'constant inverse-sqrt cosine plateau' ;;
    'train --warmup') ;;
    'train --min-learning-rate') ;;
    'train --plateau-factor') ;;
    'train --plateau-patience') ;;
    'train --epochs') ;;
    'train --steps') ;;
    'train --step-plan') ;;
    'train --batch-tokens') ;;
    'train --accumulate') ;;
    'train --validate-every') ;;
    'train --best-metric') _attend_words 'token-error-rate exact-match loss bleu f1' ;;
    'train --patience') ;;
    'train --average-checkpoints') ;;
    'train --seed') ;;
    'train --data-seed') ;;
    'train --out') _attend_files '' ;;
    'train --save-every') ;;
    'train --log') _attend_files '' ;;
    'train --resume') _attend_files '' ;;
    'train --time') ;;
    'train --try') ;;
    'prepare --output' | 'prepare -o') _attend_files '' ;;
    'prepare --count-limit') ;;
    'prepare --valid') _attend_files '' ;;
    'prepare --valid-source') _attend_files '' ;;
    'prepare --valid-target') _attend_files '' ;;
    'prepare --valid-fraction') ;;
    'prepare --format') _attend_words 'auto tsv conll sigmorphon scan csv jsonl' ;;
    'prepare --columns') ;;
    'prepare --source-tokens') _attend_words 'char word bpe byte codepoint space line' ;;
    'prepare --target-tokens') _attend_words 'char word bpe byte codepoint space line' ;;
    'prepare --tokens') _attend_words 'char word bpe byte codepoint' ;;
    'prepare --bpe-merges') ;;
    'prepare --min-count') ;;
    'prepare --max-length') ;;
    'prepare --init-from') ;;
    'prepare --data-seed') ;;
    'run --prompt') ;;
    'run --max-new-tokens') ;;
    'run --n-best') ;;
    'run --layer') ;;
    'run --head') ;;
    'run --format') _attend_words 'lines conll csv jsonl tsv' ;;
    'run --columns') ;;
    'run --column') ;;
    'run --image-encoder') _attend_files '' ;;
    'run --prefix') ;;
    'run --prefixes') _attend_files '' ;;
    'run --beam') ;;
    'run --beam-stop') _attend_words 'heuristic exact' ;;
    'run --length-norm') _attend_words 'mean gnmt none' ;;
    'run --length-penalty') ;;
    'run --coverage-penalty') ;;
    'run --no-repeat-ngram') ;;
    'run --min-output-length') ;;
    'run --max-output-length') ;;
    'run --min-length-ratio') ;;
    'run --max-length-ratio') ;;
    'run --temperature') ;;
    'run --top-k') ;;
    'run --top-p') ;;
    'run --seed') ;;
    'run --ensemble') _attend_files 'safetensors' ;;
    'run --without-heads') ;;
    'run --precision') _attend_words 'stored float32 int8' ;;
    'run --shortlist') _attend_files '' ;;
    'run --shortlist-frequent') ;;
    'run --shortlist-top') ;;
    'run --max-input-length') ;;
    'run --input-overflow') _attend_words 'refuse truncate' ;;
    'run --batch-size') ;;
    'eval --hyp') _attend_files '' ;;
    'eval --ref') _attend_files '' ;;
    'eval --metric') ;;
    'eval --tokenizer') _attend_words '13a none char intl' ;;
    'eval --bootstrap-samples') ;;
    'eval --baseline') ;;
    'eval --format') ;;
    'eval --columns') ;;
    'eval --stride') ;;
    'eval --features') _attend_files '' ;;
    'eval --beam') ;;
    'eval --beam-stop') _attend_words 'heuristic exact' ;;
    'eval --length-norm') _attend_words 'mean gnmt none' ;;
    'eval --length-penalty') ;;
    'eval --coverage-penalty') ;;
    'eval --no-repeat-ngram') ;;
    'eval --min-output-length') ;;
    'eval --max-output-length') ;;
    'eval --min-length-ratio') ;;
    'eval --max-length-ratio') ;;
    'eval --temperature') ;;
    'eval --top-k') ;;
    'eval --top-p') ;;
    'eval --seed') ;;
    'eval --ensemble') _attend_files 'safetensors' ;;
    'eval --without-heads') ;;
    'eval --precision') _attend_words 'stored float32 int8' ;;
    'eval --shortlist') _attend_files '' ;;
    'eval --shortlist-frequent') ;;
    'eval --shortlist-top') ;;
    'eval --max-input-length') ;;
    'score --max-input-length') ;;
    'score --ensemble') _attend_files 'safetensors' ;;
    'score --precision') _attend_words 'stored float32 int8' ;;
    'show --target' | 'show -t') ;;
    'show --beam') ;;
    'show --beam-stop') _attend_words 'heuristic exact' ;;
    'show --length-norm') _attend_words 'mean gnmt none' ;;
    'show --length-penalty') ;;
    'show --coverage-penalty') ;;
    'show --no-repeat-ngram') ;;
    'show --min-output-length') ;;
    'show --max-output-length') ;;
    'show --min-length-ratio') ;;
    'show --max-length-ratio') ;;
    'show --temperature') ;;
    'show --top-k') ;;
    'show --top-p') ;;
    'show --seed') ;;
    'show --ensemble') _attend_files 'safetensors' ;;
    'show --without-heads') ;;
    'show --precision') _attend_words 'stored float32 int8' ;;
    'show --shortlist') _attend_files '' ;;
    'show --shortlist-frequent') ;;
    'show --shortlist-top') ;;
    'show --part') _attend_words 'cross encoder decoder' ;;
    'show --layer') ;;
    'show --head') ;;
    'show --alternatives') ;;
    'show --max-new-tokens') ;;
    'show --cell') ;;
    'show --signal') _attend_words 'auto hidden cell' ;;
    'show --compare') _attend_files 'safetensors' ;;
    'show --svg') _attend_files 'svg' ;;
    'show --png') _attend_files 'png' ;;
    'show --pdf') _attend_files 'pdf' ;;
    'show --scale') ;;
    'show --html') _attend_files 'html' ;;
    'show --digits' | 'show -d') ;;
    'show --color') _attend_words 'auto always never' ;;
    'show --image-index') ;;
    'show --image-encoder') _attend_files '' ;;
    'show --features') _attend_files '' ;;
    'cells --text' | 'cells -t') _attend_files '' ;;
    'cells --html') _attend_files 'html' ;;
    'cells --signal') _attend_words 'auto hidden cell' ;;
    'cells --held-out') ;;
    'cells --max-tokens') ;;
    'cells --top') ;;
    'cells --property') ;;
    'cells --color') _attend_words 'auto always never' ;;
    'info --plot') _attend_files '' ;;
    'import --output' | 'import -o') _attend_files '' ;;
    'import --tokens') _attend_words 'space char codepoint' ;;
    'import --precision') _attend_words 'stored float32' ;;
    'import --tokenizer') _attend_files '' ;;
    'quantize --output' | 'quantize -o') _attend_files '' ;;
    'shortlist --output' | 'shortlist -o') _attend_files '' ;;
    'shortlist --from') _attend_words 'pairs attention' ;;
    'shortlist --top') ;;
    'shortlist --frequent') ;;
    'shortlist --max-pairs') ;;
    'features --output' | 'features -o') _attend_files '' ;;
    'features --targets') _attend_files '' ;;
    'features --target-names') _attend_files '' ;;
    'features --target-scale') _attend_files '' ;;
    'features --ridge') ;;
    'bench --cpu') ;;
    'bench --threads') ;;
    'bench --time') ;;
    'help --format') _attend_words 'bash zsh mdoc' ;;
    *) return 1 ;;
    esac
}

_attend_options() {
    case $verb in
    explain)
        _attend_words '--help --format --output --export
            --digits --detail --only --row
            --head --input --target --part
            --layer --step --image-index --image-encoder
            --recorded-data --color --ascii --svg
            --png --pdf --diagram --scale
            --quiet'
        ;;
    exercise)
        _attend_words '--help --variant --variants --solution
            --format --output --digits --color
            --ascii'
        ;;
    grade)
        _attend_words '--help --variant --variants --format
            --output --pages --csv --json
            --gradescope --reveal --check --color
            --ascii'
        ;;
    train)
        _attend_words '--help --config --quiet --train
            --source --target --valid --valid-source
            --valid-target --valid-fraction --guided-alignment --format
            --columns --features --valid-features --features-scale
            --image-rows --image-columns --image-depth --image-size
            --conv-layers --conv-channels --image-positions --init-from-image
            --alphabet --min-string-length --max-string-length --train-count
            --valid-count --source-tokens --target-tokens --tokens
            --bpe-merges --joint --lowercase --min-count
            --max-length --sequence-length --architecture --layers
            --hidden-size --positions --positions-join --tie-embeddings
            --vectors --vectors-tune --copy --char-features
            --char-embedding-size --char-size --init-range --init-from
            --init-vocab --rnn-cell --embedding-size --bidirectional
            --decoder-init --attention --normalizer --attention-context
            --attention-window --preset --decoder-layers --heads
            --kv-heads --ffn-size --norm --norm-kind
            --activation --residuals --attention-scale --embedding-scale
            --biases --attention-dropout --embedding-dropout --min-window
            --max-window --pool --pool-score --pool-heads
            --crf --dropout --word-dropout --label-smoothing
            --consistency --state-reset --scheduled-sampling --scheduled-sampling-start
            --guided-alignment-weight --optimizer --learning-rate --momentum
            --beta1 --beta2 --rho --epsilon
            --weight-decay --clip-norm --schedule --warmup
            --min-learning-rate --plateau-factor --plateau-patience --epochs
            --steps --step-plan --batch-tokens --accumulate
            --validate-every --best-metric --patience --average-checkpoints
            --seed --data-seed --out --save-every
            --log --resume --time --try'
        ;;
    prepare)
        _attend_words '--help --output --count-limit --quiet
            --valid --valid-source --valid-target --valid-fraction
            --format --columns --source-tokens --target-tokens
            --tokens --bpe-merges --joint --lowercase
            --min-count --max-length --copy --init-from
            --data-seed'
        ;;
    run)
        _attend_words '--help --prompt --max-new-tokens --json
            --raw --attention --heads --score
            --alignments --n-best --replace-unknown --layer
            --head --format --columns --column
            --image-encoder --recorded-data --prefix --prefixes
            --beam --beam-stop --length-norm --length-penalty
            --coverage-penalty --no-repeat-ngram --min-output-length --max-output-length
            --min-length-ratio --max-length-ratio --sample --temperature
            --top-k --top-p --seed --ensemble
            --without-heads --precision --shortlist --shortlist-frequent
            --shortlist-top --max-input-length --input-overflow --batch-size'
        ;;
    eval)
        _attend_words '--help --json --hyp --ref
            --metric --tokenizer --lowercase --bootstrap-samples
            --baseline --format --columns --stride
            --features --recorded-data --beam --beam-stop
            --length-norm --length-penalty --coverage-penalty --no-repeat-ngram
            --min-output-length --max-output-length --min-length-ratio --max-length-ratio
            --sample --temperature --top-k --top-p
            --seed --ensemble --without-heads --precision
            --shortlist --shortlist-frequent --shortlist-top --max-input-length'
        ;;
    score)
        _attend_words '--help --json --max-input-length --ensemble
            --precision'
        ;;
    show)
        _attend_words '--help --target --beam --beam-stop
            --length-norm --length-penalty --coverage-penalty --no-repeat-ngram
            --min-output-length --max-output-length --min-length-ratio --max-length-ratio
            --sample --temperature --top-k --top-p
            --seed --ensemble --without-heads --precision
            --shortlist --shortlist-frequent --shortlist-top --part
            --layer --head --heads --overview
            --arcs --alternatives --beam-tree --max-new-tokens
            --cell --signal --gradients --compare
            --json --svg --png --pdf
            --scale --html --digits --color
            --ascii --quiet --image-index --image-encoder
            --features --recorded-data'
        ;;
    cells)
        _attend_words '--help --text --html --json
            --signal --held-out --max-tokens --top
            --property --color --ascii'
        ;;
    info)
        _attend_words '--help --json --verify --plot'
        ;;
    import)
        _attend_words '--help --output --tokens --precision
            --tokenizer'
        ;;
    quantize)
        _attend_words '--help --output --quiet'
        ;;
    shortlist)
        _attend_words '--help --output --from --top
            --frequent --max-pairs --quiet'
        ;;
    features)
        _attend_words '--help --output --targets --target-names
            --target-scale --ridge'
        ;;
    bench)
        _attend_words '--help --cpu --threads --time
            --quick --json --list --ascii'
        ;;
    gradcheck)
        _attend_words '--help --samples --json --list'
        ;;
    selftest)
        _attend_words '--help --json --list --record'
        ;;
    help)
        _attend_words '--help --format'
        ;;
    esac
}

_attend_operands() {
    case $verb in
    explain) _attend_files 'att' ;;
    exercise) _attend_files 'att' ;;
    grade) _attend_files '' ;;
    train) _attend_words 'pairs translate reverse copy sort classify tag lm caption shapes' ;;
    prepare) [ "$COMP_CWORD" -gt 2 ] && _attend_files '' && return
        _attend_words 'pairs translate classify tag lm' ;;
    run) _attend_files '' ;;
    eval) _attend_files '' ;;
    score) _attend_files '' ;;
    show) _attend_files '' ;;
    cells) _attend_files 'safetensors' ;;
    info) _attend_files 'safetensors' ;;
    import) [ "$COMP_CWORD" -gt 2 ] && _attend_files '' && return
        _attend_words 'ctranslate2 g2p llama2c squeezenet' ;;
    quantize) _attend_files '' ;;
    shortlist) _attend_files '' ;;
    features) _attend_files '' ;;
    bench) _attend_words "$("${COMP_WORDS[0]}" bench --list 2>/dev/null | cut -d ' ' -f 1)" ;;
    gradcheck) _attend_words "$("${COMP_WORDS[0]}" gradcheck --list 2>/dev/null | cut -d ' ' -f 1)" ;;
    selftest) _attend_files '(null)' ;;
    help) _attend_words 'explain exercise grade train prepare run eval score show cells info import quantize shortlist features bench gradcheck selftest help' ;;
    esac
}

_attend() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    local verb=${COMP_WORDS[1]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _attend_verbs
    elif _attend_value; then
        return
    elif [[ $cur == -* ]]; then
        _attend_options
    else
        _attend_operands
    fi
}

complete -F _attend attend
