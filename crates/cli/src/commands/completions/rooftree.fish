# Completion of rooftree for fish: asks the program what can stand at the cursor.
# Put it into ~/.config/fish/completions/rooftree.fish
function __rooftree_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    # Quoted, because an empty word is what is completed after a space.
    set -l lines (command $program __complete -- $words "$current" 2>/dev/null)
    switch "$lines[1]"
        case ':files'
            __fish_complete_path "$current"
        case ':directories'
            __fish_complete_directories "$current"
        case '*'
            printf '%s\n' $lines
    end
end
complete -c rooftree -f -a '(__rooftree_complete)'
