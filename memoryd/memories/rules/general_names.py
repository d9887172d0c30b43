"""Names and words that say nothing about any one project.

`GENERAL_NAMES` are proper names that everybody knows, in lower case: languages, tools, systems,
days. `COMMON_PARTS` are words of which names of projects are made without giving one away.
"""

from typing import Final

# fmt: off
GENERAL_NAMES: Final = frozenset(
    """
    python java javascript typescript rust go golang ruby php perl lua kotlin swift scala haskell
    ocaml elixir erlang clojure julia fortran cobol dart zig bash zsh fish powershell sql html css
    c r matlab solidity groovy lisp scheme prolog assembly wasm makefile makefiles markdown latex
    json yaml toml xml csv http https rest graphql grpc api apis cli gui ui ux ide ides tdd bdd ddd
    ci cd pr prs os sdk orm mvp regex tls ssh dns ip url urls utf ascii pdf tldr tl dr asap eta faq
    linux unix macos mac windows ubuntu debian fedora arch wsl android ios docker kubernetes podman
    git github gitlab bitbucket vim neovim emacs vscode code visual studio intellij pycharm webstorm
    goland jetbrains cursor sublime tmux terminal iterm django flask fastapi rails react vue angular
    svelte node nodejs deno bun npm pnpm yarn pip poetry uv conda cargo maven gradle webpack vite
    pytest jest mocha junit numpy pandas pytorch tensorflow spark postgres postgresql mysql sqlite
    redis mongodb kafka rabbitmq nginx apache terraform ansible jenkins aws azure gcp google amazon
    microsoft apple claude anthropic openai copilot chatgpt stackoverflow excel word slack notion
    figma chrome firefox safari jupyter colemak dvorak qwerty qwertz azerty
    english german french spanish italian portuguese dutch polish russian ukrainian czech swedish
    norwegian danish finnish greek turkish arabic hebrew hindi chinese mandarin japanese korean
    american british european deutsch englisch französisch spanisch italienisch español inglés
    français anglais
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays january february march april may june july august september october
    november december montag dienstag mittwoch donnerstag freitag samstag sonntag
    utc gmt cet cest est edt pst pdt iso ok adhd adhs dyslexia phd msc bsc us uk eu usa am pm
    i i'm im ich sie mir du dir ihnen why how apply
    """.split()  # noqa: SIM905 - a few lines instead of two hundred
)
COMMON_PARTS: Final = frozenset(
    """
    app apps web site website page pages api apis server client service services backend frontend
    front back end core common shared lib libs library tool tools util utils test tests testing docs
    document documents documentation main master demo example examples sample template templates
    project projects repo repos repository code codebase source work workspace home user users data
    database model models admin dashboard bot plugin plugins extension engine framework platform
    system systems config settings build builds script scripts package packages module modules
    monorepo mobile desktop cloud infra infrastructure deploy release version notes note blog shop
    store game games learn learning practice play playground sandbox hello world first last new old
    personal private public open free simple small tiny quick fast easy better best good my your
    the and for with from into over about some more most every each other answer answers question
    questions short long time times language languages reply text message messages file files list
    editor team company group dev prod staging local remote origin upstream contrib contributors
    authors maintainers noreply mail email info support contact github gitlab com org net
    """.split()  # noqa: SIM905 - as above
)
# fmt: on
