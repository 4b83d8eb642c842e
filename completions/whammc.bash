# Completion of whammc's command line in bash.

_whammc_files() { # ENDING...: files with one of these endings, and directories
    local IFS=$'\n' ending
    compopt -o filenames
    for ending; do
        COMPREPLY+=($(compgen -f -X "!*.$ending" -- "$cur"))
    done
    COMPREPLY+=($(compgen -d -- "$cur"))
}

_whammc_words() { # WORDS
    COMPREPLY+=($(compgen -W "$1" -- "$cur"))
    [[ ${COMPREPLY[0]-} == --*= ]] && compopt -o nospace
}

_whammc_scripts() { # names of scripts that come with whammc, and files
    _whammc_words 'arcs branches cache callgraph calls calltree coverage faults first-events heap hotness icount imix imix-map loops memory no-memory profile reached reached-removal sample texts types'
    _whammc_files whamm mm
}

_whammc_value() { # OPTION: what may follow it; false if nothing does
    case $command:$1 in
        *:--message-format) _whammc_words 'text json' ;;
        *:--report-format) _whammc_words 'csv json csv-rfc4180' ;;
        instr:--report | monitor:--report) _whammc_words 'stdout stderr'; compopt -o default ;;
        instr:--host) _whammc_words 'auto wasi js none prof' ;;
        bind:--host) _whammc_words 'auto wasi js none' ;;
        *:--bodies) _whammc_words 'as-written empty' ;;
        instr:--js) _whammc_files js ;;
        instr:--storage) _whammc_words 'auto globals memory' ;;
        instr:--link) _whammc_words 'merge import' ;;
        run:--link) _whammc_words 'merge import auto' ;;
        profile:--style) _whammc_words 'sample tree arcs' ;;
        profile:--sampler) _whammc_words 'engine thread program' ;;
        profile:--cpu) _whammc_words 'all guest' ;;
        profile:--value) _whammc_words 'alloc_space alloc_objects inuse_space inuse_objects' ;;
        run:--engine) _whammc_words 'node node24 wasmtime wizard'; compopt -o default ;;
        run:--clock | profile:--clock) _whammc_words 'auto thread host' ;;
        run:--monitor | report:--module | coverage:--module) _whammc_files wasm wat ;;
        profile:--engine) _whammc_words 'node node24 wasmtime'; compopt -o default ;;
        run:--by | report:--by) _whammc_words 'site line function file' ;;
        run:--sort | report:--sort) _whammc_words 'value place name' ;;
        annotate:--format) _whammc_words 'text html' ;;
        annotate:--color) _whammc_words 'auto always never' ;;
        profile:--format) _whammc_words 'table csv csv-rfc4180 json flat gprof dot folded collapsed svg speedscope cpuprofile perfetto pprof firefox callgrind heap' ;;
        report:--format) _whammc_words 'table csv csv-rfc4180 json flat gprof dot folded collapsed svg speedscope cpuprofile perfetto pprof firefox callgrind heap lcov cobertura html text' ;;
        coverage:--format) _whammc_words 'text lcov cobertura html json' ;;
        coverage:--engine) _whammc_words 'node node24 wasmtime'; compopt -o default ;;
        coverage:--from | coverage:--save | coverage:-o | coverage:--output) compopt -o default ;;
        coverage:--include | coverage:--exclude | coverage:--fail-under | coverage:--engine-option) ;;
        run:--top | run:--engine-option | *:--env | list:--functions | report:--top | report:--flush | report:--only | report:--variable | annotate:--flush | annotate:--variable) ;;
        *:-s | *:--script) _whammc_scripts ;;
        profile:--top | *:--exclude | *:--min-size | profile:--max-depth | profile:--engine-option) ;;
        *:--lib | *:--names | *:--exclude-from | *:--debug-file | *:--include-objects) compopt -o default ;;
        *:-D | *:--define | *:--path-map | *:--label) ;;
        instr:--source-map) compopt -o default ;;
        instr:-o | instr:--output | instr:--runtime | monitor:-o | monitor:--output | bind:-o | bind:--output) _whammc_files wasm ;;
        run:-o | run:--output | report:-o | report:--output | annotate:-o | annotate:--output | profile:-o | profile:--output | profile:--save) compopt -o default ;;
        *) return 1 ;;
    esac
    return 0
}

_whammc() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} app=0 i word
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _whammc_words 'instr run profile report annotate coverage monitor bind list check info --help --version'
        return
    fi

    # "--host=wa" comes as three words.
    if [[ $cur == = ]]; then
        cur=
        _whammc_value "$prev"
        return
    fi
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    [[ $prev == -* ]] && _whammc_value "$prev" && return

    # Behind APP everything is the program's.
    if [[ $command == run || $command == profile || $command == coverage ]]; then
        for ((i = 2; i < COMP_CWORD; i++)); do
            word=${COMP_WORDS[i]}
            if [[ $word == = || $word == -[soD] || ($word == --* && ${COMP_WORDS[i+1]} != =) ]]; then
                ((i++)) # an option's argument
            elif [[ $word != -* ]]; then
                app=1
            fi
        done
        if ((app)); then
            compopt -o default
            return
        fi
    fi

    if [[ $cur == -* ]]; then
        case $command in
            instr)
                _whammc_words '-s --script= --lib= -D --define= --exclude= --min-size= --exclude-from= --names= --debug-file= --path-map= -o --output= --report= --report-format= --host= --storage= --link=
                    --js= --no-js --no-js-views --runtime= --keep-debug --source-map= --no-optimise --no-coalesce --exact-traps --linked --polls --build-id --bodies= --no-predicates --no-report --metrics -j --jobs= -v --verbose --message-format= -h --help' ;;
            bind)
                _whammc_words '-o --output= --host= --keep-debug --no-optimise --no-coalesce --exact-traps --bodies= --metrics -j --jobs= -v --verbose --message-format= -h --help' ;;
            run)
                _whammc_words '-s --script= --lib= -D --define= --exclude= --min-size= --exclude-from= --names= --debug-file= --path-map= --monitor= --link= --engine= --engine-option= --dir= --env= --clock= --http= --http-token= --push= --push-seconds= -o --output=
                    --report-format= --build-id --top= --by= --sort= --nonzero --hex --lines --metrics --by-thread --no-demangle --message-format= -h --help' ;;
            profile)
                _whammc_words '--style= --interval= --sampler= --counts --format= -o --output= --save= --top= --cpu= --counts-only --no-calibrate --exclude= --min-size= --exclude-from= --names= --auto-exclude
                    --sample= --max-depth= --memory --value= --sample-bytes= --alloc= --engine= --engine-option= --dir= --env= --clock= --http= --http-token= --push= --push-seconds= --lines --inlined --debug-file= --path-map= --label= --metrics --by-thread --no-demangle --message-format= -h --help' ;;
            report)
                _whammc_words '--format= -o --output= --module= --only= --names= --variable= --flush= --top= --by= --sort= --nonzero --hex --lines --inlined
                    --debug-file= --path-map= --include-objects= --label= --fail-if= --base= --diff= --suggest-exclude --by-thread --no-demangle --message-format= -h --help' ;;
            annotate)
                _whammc_words '--format= -o --output= --variable= --flush= -s --script= --module= --file= --instructions --names= --debug-file= --path-map=
                    --color= --no-demangle
                    --message-format= -h --help' ;;
            coverage)
                _whammc_words '--format= -o --output= --from= --save= --include= --exclude= --include-objects= --module= --all-files --no-markers --fail-under= --names=
                    --debug-file= --path-map= --engine= --engine-option= --dir= --env= --no-demangle --message-format= -h --help' ;;
            monitor)
                _whammc_words '-s --script= --lib= -D --define= -o --output= --report= --report-format= --no-optimise --no-coalesce
                    --exact-traps --bodies= --no-predicates --no-report --explain --metrics --message-format= -h --help' ;;
            list)
                _whammc_words '-s --script= --lib= -D --define= -c --count --functions= --names= --lines --debug-file= --path-map= -v --verbose --message-format= -h --help' ;;
            check) _whammc_words '--lib= -D --define= --message-format= -h --help' ;;
            info) _whammc_words '-v --verbose -f --functions --scripts --message-format= -h --help' ;;
        esac
        return
    fi
    case $command in
        instr | bind | run | profile | coverage | list | info) _whammc_files wasm wat ;;
        check) _whammc_scripts ;;
        report | annotate) compopt -o default ;;
    esac
}

complete -F _whammc whammc
