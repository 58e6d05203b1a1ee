#compdef rooftree
# Completion of rooftree for zsh: asks the program what can stand at the cursor.
# Put it as _rooftree into a directory of fpath, for example ~/.zfunc, before compinit runs.
_rooftree() {
    local -a lines candidates
    local line
    lines=("${(@f)$(command $words[1] __complete -- "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    case $lines[1] in
        :files) _files; return ;;
        :directories) _files -/; return ;;
    esac
    for line in $lines; do
        [[ -z $line ]] && continue
        candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    _describe -V 'rooftree' candidates
}
if [[ $funcstack[1] == _rooftree ]]; then
    _rooftree "$@"
else
    compdef _rooftree rooftree
fi
