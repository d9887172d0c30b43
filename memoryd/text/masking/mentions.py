"""Whether a sentence may tell a credential at all: it needs one of these words.

Each form of `spoken` and `credentials` holds at least one of them, in plain lower case; a name of a
secret in any language, a verb that opens something, a known user, an order to type. One pass over
the sentence replaces dozens of patterns for most of them.
"""

from functools import cache, lru_cache
from typing import Final

from memoryd.text.masking.anchors import Anchors

_NAMES: Final = (
    *("wort", "pass", "pw", "pin", "puk", "mdp", "contrasena", "clave", "senha", "parola d"),
    *("wachtwoord", "haslo", "пароль", "пин", "パスワード", "暗証番号", "密码", "密碼", "口令"),
    *("비밀번호", "암호", "code", "codigo", "codice", "combination", "phrase", "seed", "word"),
    *("secret", "security", "key", "token", "cred", "ssid", "wifi", "wlan", "account"),
)
_LOGINS: Final = (
    *("login", "log-in", "log in", "log- in", "signin", "sign-in", "sign in", "sign- in"),
    *("basic auth", "zugang", "anmeld", "acceso", "acesso", "accesso", "identifiant"),
    *("user", "root", "admin", "postgres", "guest", "@"),
    *("sa/", "sa /", "sa,", "sa with", "sa and", "sa using"),
)
_VERBS: Final = (
    *("unlock", "opens", "open it", "to open", "decrypt", "encrypted", "protected", "locked"),
    *("secured", "entsperrt", "geoffnet", "disarm", "answer", "type ", "enter ", "dial "),
    *("press ", "punch in ", "tippe ", "gib ", "say ", "whisper ", "give "),
)


@lru_cache(2)  # each sentence is asked about, and again as the one before the next
def may_tell(plain_text: str) -> bool:
    return bool(_words().present_in(plain_text))


@cache
def _words() -> Anchors:
    return Anchors((*_NAMES, *_LOGINS, *_VERBS))
