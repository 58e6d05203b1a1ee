# Completion of rooftree for bash: asks the program what can stand at the cursor.
# Put it into ~/.local/share/bash-completion/completions/rooftree, or: source <(rooftree completions bash)
_rooftree() {
    local line=${COMP_LINE:0:COMP_POINT} word reply
    local -a words lines
    # COMP_WORDS breaks at = and :, which model names contain; split at spaces instead.
    read -ra words <<<"$line"
    [[ $line == *' ' ]] && words+=('')
    mapfile -t lines < <(command "${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    case ${lines[0]} in
        :files) compopt -o default; return ;;
        :directories) compopt -o dirnames; return ;;
    esac
    word=${words[-1]}
    # bash replaces only what stands behind the last = or :, so that is what each reply begins with.
    local kept=${word%"${word##*[=:]}"}
    for reply in "${lines[@]}"; do
        reply=${reply%%$'\t'*}
        reply=${reply#"$kept"}
        # Names of sessions may have spaces in them.
        [[ $reply ]] && printf -v reply %q "$reply"
        COMPREPLY+=("$reply")
    done
}
complete -F _rooftree rooftree
