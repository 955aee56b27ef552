# bash completion for attend(1)

_attend_verbs='explain train run eval score show cells info import features bench gradcheck help'
_attend_explain='--format --output --digits --only --row --head --input --target --part --layer
--color --ascii --svg --png --pdf --scale --quiet --help'
_attend_train='--config --quiet --train --source --target --valid --valid-source
--valid-target --valid-fraction --guided-alignment --alphabet --min-string-length --max-string-length --train-count
--valid-count --source-tokens --target-tokens --bpe-merges --joint --lowercase --min-count
--max-length --tokens --sequence-length --architecture --layers --hidden-size --positions --positions-join --tie-embeddings --init-range --rnn-cell
--embedding-size --bidirectional --attention --normalizer --attention-context --attention-window --preset --decoder-layers
--heads --kv-heads --ffn-size --norm --norm-kind --activation --residuals --attention-scale --embedding-scale
--biases --attention-dropout --embedding-dropout --features --valid-features --features-scale --image-rows
--image-columns --image-depth --image-size --conv-layers --conv-channels --image-positions --init-from-image
--min-window --max-window --pool --pool-score --pool-heads
--dropout --word-dropout --label-smoothing --scheduled-sampling --scheduled-sampling-start
--guided-alignment-weight --optimizer --learning-rate --momentum --beta1 --beta2 --rho --epsilon --weight-decay --clip-norm
--schedule --warmup --min-learning-rate --plateau-factor --plateau-patience --epochs --steps
--batch-tokens --accumulate --validate-every --best-metric --patience --average-checkpoints --seed --data-seed
--out --save-every --log --resume --help'
_attend_decoding='--beam --length-norm --length-penalty --coverage-penalty --no-repeat --min-output-length --max-output-length
--min-length-ratio --max-length-ratio --sample --temperature --top-k --top-p --seed --ensemble'
_attend_run="$_attend_decoding --json --attention --heads --score --alignments --n-best --replace-unknown
--layer --head --image-encoder --prefix --prefixes --prompt --max-new-tokens --max-input-length --input-overflow --batch-size --help"
_attend_eval="$_attend_decoding --json --hyp --ref --metric --tokenizer --lowercase --bootstrap-samples --features --help"
_attend_score='--json --ensemble --help'
_attend_show="$_attend_decoding --target --part --layer --head --heads --cell --signal --gradients --json --svg --png --pdf --html
--scale --digits --color --ascii --quiet --help --image-index --features --image-encoder"
_attend_cells='--text --html --json --signal --held-out --max-tokens --top --color --ascii --help'
_attend_info='--json --help'
_attend_import='--output --tokens --tokenizer --help'
_attend_features='--output --targets --target-names --target-scale --ridge --help'
_attend_formats='ctranslate2 g2p llama2c squeezenet'
_attend_bench='--cpu --threads --time --quick --json --list --ascii --help'
_attend_gradcheck='--samples --json --list --help'

# Offers the words of $1 that begin as the current one does.
_attend_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Whether the word before is an option of decoding that a number follows.
_attend_decoding_value() {
    case $prev in
    --beam | --length-penalty | --coverage-penalty | --no-repeat | --min-output-length | --max-output-length) ;;
    --min-length-ratio | --max-length-ratio | --temperature | --top-k | --top-p | --seed) ;;
    *) return 1 ;;
    esac
}

# Offers files that end in one of the suffixes in $1 (all files where it is empty), and folders.
_attend_files() {
    local suffix
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    if [ -z "$1" ]; then
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
    fi
    for suffix in $1; do
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!*.$suffix" -- "$cur")
    done
    compopt -o filenames 2>/dev/null
}

_attend() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    local prev=${COMP_WORDS[COMP_CWORD - 1]}
    if [ "$COMP_CWORD" -eq 1 ]; then
        _attend_words "$_attend_verbs --help --version"
        return
    fi
    case ${COMP_WORDS[1]} in
    help) _attend_words "$_attend_verbs" ;;
    explain)
        case $prev in
        --format | -f) _attend_words 'text md latex html json' ;;
        --color) _attend_words 'auto always never' ;;
        --svg) _attend_files svg ;;
        --png) _attend_files png ;;
        --pdf) _attend_files pdf ;;
        --output | -o) _attend_files '' ;;
        --digits | -d | --only | --row | --head | --scale) COMPREPLY=() ;;
        *)
            if [[ $cur == -* ]]; then
                _attend_words "$_attend_explain"
            else
                _attend_files att
            fi
            ;;
        esac
        ;;
    train)
        case $prev in
        --source-tokens) _attend_words 'char word subword byte space line' ;;
        --target-tokens) _attend_words 'char word subword byte space line' ;;
        --rnn-cell) _attend_words 'vanilla gru lstm' ;;
        --attention)
            _attend_words 'none fixed dot scaled general additive concat location local coverage'
            ;;
        --normalizer) _attend_words 'softmax mean sparsemax entmax sigmoid sum none' ;;
        --attention-context) _attend_words 'output state both' ;;
        --positions) _attend_words 'none sinusoidal learned' ;;
        --positions-join) _attend_words 'add concat' ;;
        --architecture) _attend_words 'recurrent transformer convolution' ;;
        --pool) _attend_words 'stop last mean max attention' ;;
        --pool-score) _attend_words 'dot scaled additive' ;;
        --tokens) _attend_words 'char word subword byte' ;;
        --norm-kind) _attend_words 'layer rms' ;;
        --optimizer) _attend_words 'sgd adam adamw adadelta' ;;
        --schedule) _attend_words 'constant inverse-sqrt cosine plateau' ;;
        --best-metric) _attend_words 'tokens lines loss bleu' ;;
        --config | --train | --source | --target | --valid | --valid-source | \
            --valid-target | --guided-alignment | --out | --log | --resume) _attend_files '' ;;
        --valid-fraction | --alphabet | --min-string-length | --max-string-length | --train-count | \
            --valid-count | --bpe-merges | --sequence-length | --min-count | --max-length | --layers | --hidden-size | --embedding-size | \
            --attention-window | --min-window | --max-window | --init-range | --pool-heads | --image-rows | --image-columns | --image-depth | --image-size | --conv-layers | --conv-channels | --word-dropout | --dropout | --label-smoothing | --scheduled-sampling | --scheduled-sampling-start | \
            --guided-alignment-weight | --learning-rate | --momentum | --beta1 | --beta2 | --rho | --epsilon | \
            --weight-decay | --clip-norm | --warmup | --min-learning-rate | --plateau-factor | \
            --plateau-patience | --epochs | --steps | --batch-tokens | --accumulate | \
            --validate-every | --patience | --average-checkpoints | --seed | --data-seed | --save-every) COMPREPLY=() ;;
        *)
            if [[ $cur == -* ]]; then
                _attend_words "$_attend_train"
            else
                _attend_words 'pairs translate reverse copy sort classify lm caption shapes'
            fi
            ;;
        esac
        ;;
    run)
        case $prev in
        --length-norm) _attend_words 'mean gnmt none' ;;
        --input-overflow) _attend_words 'refuse cut' ;;
        --ensemble) _attend_files safetensors ;;
        --prefixes) _attend_files '' ;;
        --n-best | --layer | --head | --prefix | --prompt | --max-new-tokens | --max-input-length | --batch-size) COMPREPLY=() ;;
        *)
            if _attend_decoding_value; then
                COMPREPLY=()
            elif [[ $cur == -* ]]; then
                _attend_words "$_attend_run"
            else
                _attend_files safetensors
            fi
            ;;
        esac
        ;;
    eval)
        case $prev in
        --length-norm) _attend_words 'mean gnmt none' ;;
        --hyp | --ref) _attend_files '' ;;
        --metric) _attend_words 'bleu chrf chrf++ ter wer per cer exact bleu-1 bleu-2 bleu-3 bleu-4 cider' ;;
        --tokenizer) _attend_words '13a none char intl' ;;
        --bootstrap-samples) COMPREPLY=() ;;
        --ensemble) _attend_files safetensors ;;
        *)
            if _attend_decoding_value; then
                COMPREPLY=()
            elif [[ $cur == -* ]]; then
                _attend_words "$_attend_eval"
            else
                _attend_files ''
            fi
            ;;
        esac
        ;;
    score)
        if [[ $cur == -* ]]; then
            _attend_words "$_attend_score"
        else
            _attend_files ''
        fi
        ;;
    show)
        case $prev in
        --part) _attend_words 'cross encoder decoder' ;;
        --color) _attend_words 'auto always never' ;;
        --length-norm) _attend_words 'mean gnmt none' ;;
        --ensemble) _attend_files safetensors ;;
        --svg | --png | --pdf | --html) _attend_files "${prev#--}" ;;
        --signal) _attend_words 'usual hidden cell' ;;
        --target | --layer | --head | --cell | --scale | --digits) COMPREPLY=() ;;
        *)
            if _attend_decoding_value; then
                COMPREPLY=()
            elif [[ $cur == -* ]]; then
                _attend_words "$_attend_show"
            else
                _attend_files safetensors
            fi
            ;;
        esac
        ;;
    cells)
        case $prev in
        --color) _attend_words 'auto always never' ;;
        --signal) _attend_words 'usual hidden cell' ;;
        --text) _attend_files '' ;;
        --html) _attend_files html ;;
        --held-out | --max-tokens | --top) COMPREPLY=() ;;
        *)
            if [[ $cur == -* ]]; then
                _attend_words "$_attend_cells"
            else
                _attend_files safetensors
            fi
            ;;
        esac
        ;;
    info)
        if [[ $cur == -* ]]; then
            _attend_words "$_attend_info"
        else
            _attend_files safetensors
        fi
        ;;
    import)
        case $prev in
        import) _attend_words "$_attend_formats" ;;
        --tokens) _attend_words 'space char' ;;
        *)
            if [[ $cur == -* ]]; then
                _attend_words "$_attend_import"
            else
                _attend_files ''
            fi
            ;;
        esac
        ;;
    features)
        if [[ $cur == -* ]]; then
            _attend_words "$_attend_features"
        else
            _attend_files ''
        fi
        ;;
    bench)
        case $prev in
        --cpu) _attend_words 'ref avx2 avx512 all' ;;
        --threads | --time) COMPREPLY=() ;;
        *)
            if [[ $cur == -* ]]; then
                _attend_words "$_attend_bench"
            else
                _attend_words "$("${COMP_WORDS[0]}" bench --list 2>/dev/null | cut -d ' ' -f 1)"
            fi
            ;;
        esac
        ;;
    gradcheck)
        if [[ $cur == -* ]]; then
            _attend_words "$_attend_gradcheck"
        else
            _attend_words "$("${COMP_WORDS[0]}" gradcheck --list 2>/dev/null)"
        fi
        ;;
    esac
}

complete -F _attend attend
