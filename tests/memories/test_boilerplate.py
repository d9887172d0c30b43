"""What earlier versions added to every memory is not searched; a person's own words are."""

from memoryd.memories.rules.boilerplate import without_boilerplate


def test_added_lines_and_labels_are_dropped_and_everything_else_stays() -> None:
    added = "**How to apply:** Follow it without being told again, until the person says otherwise."
    own = "**How to apply:** Only in the release branch."
    assert without_boilerplate(f"Use tabs.\n\n{added}\n") == "Use tabs.\n\n"
    assert without_boilerplate(f"Use tabs.\n\n{own}\n") == (
        "Use tabs.\n\n Only in the release branch.\n"
    )
    assert without_boilerplate("Use tabs.\n**Why:** They apply it.") == "Use tabs.\n They apply it."
    assert without_boilerplate("Use tabs.") == "Use tabs."


def test_the_time_of_a_later_addition_is_dropped() -> None:
    added = "Said on 2026-11-16 at 10:00:00: Use them in recipes too."
    assert without_boilerplate(f"Use tabs.\n\n{added}\n") == (
        "Use tabs.\n\nUse them in recipes too.\n"
    )
    assert without_boilerplate("He said on 2026-11-16: no.") == "He said on 2026-11-16: no."
