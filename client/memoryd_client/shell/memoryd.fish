# Alt-M searches the memories of this folder and inserts the path of the one you pick.
# In ~/.config/fish/config.fish: memoryd shell fish | source

function __memoryd_search
    set -l found (memoryd search --pick </dev/tty)
    and commandline -i -- (string escape -- $found)" "
    commandline -f repaint
end

if status is-interactive
    bind \em __memoryd_search
    bind -M insert \em __memoryd_search
end
