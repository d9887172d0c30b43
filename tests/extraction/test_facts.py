"""Facts about the project or a person are recognised by several signs, not by one phrase."""

import pytest

from memoryd.extraction.rules.statements.facts import is_personal_fact, is_project_fact


@pytest.mark.parametrize(
    "said",
    [
        "the clinics have no signal in the basement so everything must work offline",
        "our biggest tenant refuses the new terms, that is why both versions stay",
        "the ministry will audit us before they pay the second half",
        "half the company moved to arm laptops this year, so x86 images are a problem",
        "unser kunde hat die cloud verboten, deshalb bleibt alles im haus",
        "el cliente no acepta nada en la nube, por eso tiene que correr en sus servidores",
        "мы остаемся на старой версии, потому что заказчик не разрешает обновление",
    ],
)
def test_three_signs_make_a_project_fact(said: str) -> None:
    assert is_project_fact(said, has_date=False)


@pytest.mark.parametrize(
    "said",
    [
        "our users table is huge",
        "the client must retry at most three times",
        "we have to hurry",
        "the list must not be empty because the loop would crash",
        "the certificate is wrong so the login fails",
        "we moved the helper to utils",
    ],
)
def test_what_a_program_does_is_not_a_project_fact(said: str) -> None:
    assert not is_project_fact(said, has_date=False)


@pytest.mark.parametrize(
    ("said", "is_event"),
    [
        ("the auditors come on thursday and look at the logs", True),
        ("ab montag ubernimmt das team in graz die abrechnung", True),
        ("the scheduler starts the job on monday", False),
        ("ill look at the rest tomorrow", False),
        ("demo data is missing for tomorrow", False),
    ],
)
def test_on_a_coming_day_someone_other_than_the_speaker_has_to_act(
    said: str, is_event: bool
) -> None:
    assert is_project_fact(said, has_date=True) is is_event


@pytest.mark.parametrize(
    "said",
    [
        "as a hydrologist i read plots faster than tables",
        "i stopped coding professionally ten years ago when i became a manager",
        "cobol dev of 30 years, java since monday",
        "on windows 11 without admin rights",
        "i lead the payments guild",
    ],
)
def test_roles_time_spans_and_skills_make_a_personal_fact(said: str) -> None:
    assert is_personal_fact(said)


@pytest.mark.parametrize(
    "said",
    [
        "im a bit lost",
        "i manage the state with redux here",
        "my role is missing permissions",
        "i studied the logs and found nothing",
        "as a developer i find this confusing",
    ],
)
def test_what_a_person_does_right_now_is_not_a_personal_fact(said: str) -> None:
    assert not is_personal_fact(said)
