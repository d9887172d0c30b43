# Alt-M searches the memories of this folder and inserts the path of the one you pick.
# In ~/.zshrc: source <(memoryd shell zsh)

__memoryd_search() {
  local found
  found=$(memoryd search --pick </dev/tty) && LBUFFER+="${(q)found} "
  zle reset-prompt
}

if [[ -o interactive ]]; then
  zle -N __memoryd_search
  bindkey -M emacs '\em' __memoryd_search
  bindkey -M viins '\em' __memoryd_search
fi
