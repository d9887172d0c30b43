"""Secrets that a sentence tells are masked; sentences about secrets are not."""

import pytest

from memoryd.text.masking.mask import mask


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("the pin of the safe is 471199", "471199"),
        ("the grafana login is admin / P1nk-Fox", "P1nk-Fox"),
        ("log in to the shop as me@example.com with Gr8t-day7", "Gr8t-day7"),
        ("ftp is ftp.example.com, user deploy, pass zz3!kW_9", "zz3!kW_9"),
        ("la contraseña del servidor es luna_7781", "luna_7781"),
        ("a senha do banco é gato.azul.12", "gato.azul.12"),
        ("the shared secret is 'blue kettle 9 south'", "blue kettle 9 south"),
        ("the basic auth of the preview: demo:kiwi2031", "kiwi2031"),
        ("use the passphrase red owls fly low to unlock the key", "red owls fly low"),
        ("パスワードは kaze-Umi-77 です", "kaze-Umi-77"),
    ],
)
def test_a_secret_told_in_a_sentence_is_masked(text: str, secret: str) -> None:
    assert secret not in mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is required",
        "the password is base64-encoded and the hash is SHA-256",
        "Das Passwort ist falsch.",
        "--- PASS: TestLogin2 (0.01s)",
        "the login page is at https://shop.example.com/login",
        "log in as admin with the new role",
        "pass 2 of the compiler is slow",
    ],
)
def test_talk_about_secrets_is_left_alone(text: str) -> None:
    assert mask(text) == text
