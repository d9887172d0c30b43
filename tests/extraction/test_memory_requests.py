"""Requests to remember, however they are worded, and what only sounds like one."""

from datetime import UTC, datetime

import pytest

from memoryd.extraction.rules.exclusions import exclusion_of
from memoryd.extraction.rules.memory_requests import without_request
from memoryd.extraction.rules.statements import Statement, statements_in
from memoryd.extraction.rules.written_down import WrittenDown

SAID_AT = datetime(2026, 11, 17, 10, tzinfo=UTC)


def saved(message: str) -> list[Statement]:
    return [
        one
        for one in statements_in(message, said_at=SAID_AT)
        if one.certainty == "sure" and exclusion_of(one.body, WrittenDown()) is None
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Looks fine. Note that the hospital only takes PDF/A files.",
        "for the record: we promised Okafor a patch before the summer. now the footer",
        "Just to have it on file: we chose Kafka since ops knows it.",
        "can you write down that the printers need a week of notice?",
        "Store this: the rollout needs a sign-off by the works council.",
        "It would help if you remembered that the crews have no signal.",
        "fyi & remember: the ferry data is a day late on Mondays",
        "thanks! one for your memory: invoices are always in euros",
        "for all future releases: tag them on the release branch. now tag this",
        "pls store: the crash reports land in the blue channel",
        "Could you remember something for me? The lab closes at nine.",
        "Keep in mind going forward that the boats lose GPS in the fjord :) what is next?",
        "Please to remember, the auditors read every log line.",
        "Starting today every migration needs a second pair of eyes.",
        "Bitte merken: das Archiv zieht im Mai um.",
        "覚えておいてください。検品は毎月第2木曜日です。",
        "Notier dir: die Abnahme macht Frau Keller.",
        "Mémorise que la recette est partagée avec le mobile.",
        "Apunta que el equipo de soporte está en Lima.",
        "Tenha em mente que o cliente fecha às 18h.",
        "Segnati che le fatture le controlla Marta.",
        "Remember: the seed data comes from the samples repo, file base.sql.",
    ],
)
def test_a_request_to_remember_is_heard_in_every_form(message: str) -> None:
    assert len(saved(message)) == 1


def test_anothers_voice_counts_for_what_it_leads_in_and_not_for_what_was_said_before() -> None:
    own = "From now on ask me before you add a package."
    others = "The reviewer wrote that it is too slow."
    assert [one.text for one in saved(f"{own} Then look at the parser. {others}")] == [own]
    assert saved(f"{others} {own}") == []


@pytest.mark.parametrize(
    "message",
    [
        "note that I already rebased it",
        "memorize the sums with lru_cache",
        "store that value in redis",
        "Memory leak: the cache keeps every request.",
        "don't forget to close the socket in the finally block",
        "merk dir die Nummer in einer Variable",
        "recuerda borrar el import",
        "from now on the field holds a list, so change the loop",
        "ab jetzt ist das Feld optional, passe das Schema an",
        "We no longer use this helper, delete it.",
        "I asked you to open the other image",
        "can you remember the layout of the first mockup?",
        "can you remember which module had the lookup?",
        "remember to run the formatter before committing this",
        "keep in mind I haven't merged it yet",
        "remember: step 4 comes after step 3",
    ],
)
def test_an_order_about_the_code_at_hand_is_not_a_request(message: str) -> None:
    assert saved(message) == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Please remember that tabs are banned.", "tabs are banned."),
        ("Merk dir bitte: nur Tabs.", "nur Tabs."),
        ("Recuerda que usamos tabs.", "usamos tabs."),
        ("For your notes: tabs only.", "tabs only."),
        ("Tabs only.", "Tabs only."),
    ],
)
def test_a_title_begins_behind_the_request(text: str, left: str) -> None:
    assert without_request(text) == left
