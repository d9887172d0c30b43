# Alt-M searches the memories of this folder and inserts the path of the one you pick.
# In ~/.bashrc: source <(memoryd shell bash)

__memoryd_search() {
  local path
  path=$(memoryd search --pick </dev/tty) || return 0
  printf -v path '%q ' "$path"
  READLINE_LINE="${READLINE_LINE:0:READLINE_POINT}$path${READLINE_LINE:READLINE_POINT}"
  READLINE_POINT=$((READLINE_POINT + ${#path}))
}

if [[ $- == *i* ]]; then
  bind -m emacs -x '"\em": __memoryd_search'
  bind -m vi-insert -x '"\em": __memoryd_search'
fi
