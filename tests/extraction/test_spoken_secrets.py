"""Secrets told in a sentence never reach a memory; what only speaks of secrets stays whole."""

import pytest

from memoryd.extraction.rules.exclusions import savable


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("larkspur", "larkspur is the password for the guest network"),
        ("larkspur", "the guest network's passphrase is larkspur"),
        ("larkspur", "The root password of the old box? It's larkspur."),
        ("larkspur", "use larkspur when sudo asks for a password"),
        ("larkspur", "the vault opens with larkspur"),
        ("larkspur", "everyone knows the password (larkspur) by heart"),
        ("larkspur", "the admin panel wants larkspur as its password"),
        ("larkspur", "we changed the wifi password from rosehip to larkspur"),
        ("rosehip", "we changed the wifi password from rosehip to larkspur"),
        ("larkspur", "username tester, password larkspur"),
        ("larkspur", "log in with anna / larkspur"),
        ("larkspur", "das Kennwort lautet larkspur"),
        ("larkspur", "le mot de passe du NAS est larkspur"),
        ("larkspur", "la contraseña del router es larkspur"),
        ("larkspur", "a senha do painel é larkspur"),
        ("larkspur", "hasło to larkspur"),
        ("larkspur", "to get in you say guest and as password just larkspur ok, remember it"),
        ("larkspur", "the safe word for rollbacks, remember it, is larkspur"),
        ("larkspur", "keystore: alias app, storepass larkspur, in the keys folder"),
        ("larkspur", "my answer for the security question at the bank (first pet) is larkspur"),
        ("4482", "Merk dir die PIN vom Tresor im Keller, 4482."),
        ("4482", "the gate PIN at the depot is 4482, the trucks come at noon"),
        ("larkspur", "you say the word larkspur to the bot and the gate opens"),
        (
            "KX71-33PQ",
            "from now on log in to the key server with code KX71-33PQ, the other is gone",
        ),
        ("duckweed", "we no longer use the old cache password, it's duckweed now"),
        ("quiet amber river", "the passphrase of the disk: quiet amber river"),
        ("4482", "the lift needs PIN 4482 after eight"),
        ("4482", "the code for the back door is 4482"),
        ("12-34-56", "the safe's combination is 12-34-56"),
        ("845 221", "the meeting passcode 845 221"),
        ("QX7P-99KD", "the backup codes QX7P-99KD and LM2T-44WA"),
    ],
)
def test_what_stands_in_a_slot_for_a_secret_is_hidden(secret: str, text: str) -> None:
    assert secret not in savable(text)


@pytest.mark.parametrize(
    "text",
    [
        "The password is rotated every month.",
        "Never log the password, not even hashed.",
        "The recovery codes are kept in 1Password, vault Ops.",
        "Bitwarden is the password manager.",
        "A PIN has 6 digits.",
        "Pin numpy to 1.26.4-post1",
        "The login handler is in the auth service.",
        "Archives are encrypted with gpg.",
        "All tests pass on the new runner.",
    ],
)
def test_what_only_speaks_of_a_secret_stays_whole(text: str) -> None:
    assert savable(text) == text
