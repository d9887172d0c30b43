import threading
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.text.terms import (
    LONGEST_TERM,
    STOP_WORDS,
    compounds_of,
    near_misses,
    passages_of,
    spoken_words,
    term_of,
    terms_of,
)


def test_forms_of_a_word_are_one_term() -> None:
    assert len({*terms_of("Deploy deploys deployed DEPLOYING")}) == 1


def test_stop_words_give_no_term() -> None:
    assert terms_of("What is it that you would have done, and why?") == []
    assert terms_of("don't isn't they're we've I'll") == []


def test_a_possessive_is_its_owner() -> None:
    assert terms_of("Melanie's") == terms_of("Melanie’s") == terms_of("melanie")


@pytest.mark.parametrize("name", ["maxLossPercent", "max_loss_percent", "max-loss-percent"])
def test_an_identifier_is_its_words_and_itself_however_it_is_written(name: str) -> None:
    assert sorted(terms_of(name)) == sorted(terms_of("max loss percent maxlosspercent"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HTTPServer", ["http", "server"]),
        ("getURLs", ["get", "urls"]),
        ("parseJSONFile", ["parse", "json", "file"]),
        ("__init__", ["init"]),
        ("--no-verify", ["verify"]),
        ("utf8Decode", ["utf8", "decode"]),
        ("k8s", ["k8s"]),
        ("std::vector", ["std", "vector"]),
        ("O'Brien", ["o", "brien"]),
    ],
)
def test_an_identifier_is_read_as_a_programmer_says_it(name: str, words: list[str]) -> None:
    assert spoken_words(name) == words


def test_a_path_is_found_by_its_parts_and_as_a_whole() -> None:
    terms = terms_of("see src/app/userProfile.py")
    assert {"src", "app", "userprofil", "profil", "py", "src/app/userprofile.py"} <= set(terms)


def test_a_dotted_name_is_found_by_its_parts_and_as_a_whole() -> None:
    assert {"os", "path", "join", "os.path.join"} == set(terms_of("os.path.join"))


def test_versions_and_dates_stay_whole_and_are_found_by_their_beginning() -> None:
    assert set(terms_of("3.11.7")) == {"3.11.7", "3.11"}
    assert set(terms_of("v2.1")) == {"v2.1", "2.1"}
    assert set(terms_of("2026-03-30")) == {"2026-03-30", "2026-03", "2026", "march", "03-30"}
    assert terms_of("port 8080") == ["port", "8080"]


def test_a_number_at_the_end_of_a_name_may_be_left_out() -> None:
    assert set(terms_of("python3")) == {"python3", "python"}


def test_languages_named_by_signs_keep_them() -> None:
    assert terms_of("C++ and C# or F#") == ["c++", "c#", "f#"]


def test_accents_and_width_make_no_difference() -> None:
    assert terms_of("Café NAÏVE ｆｕｌｌ") == terms_of("cafe naive full")


@pytest.mark.parametrize("text", ["हिन्दी भाषा", "العربية لغة", "привет мир", "γειά σου"])
def test_words_of_other_alphabets_stay_whole(text: str) -> None:
    plain = [term for term in terms_of(text) if term not in STOP_WORDS]
    assert len(plain) == 2


def test_a_script_without_spaces_is_matched_by_pairs() -> None:
    assert terms_of("東京都に") == ["東京", "京都", "都に"]
    assert set(terms_of("東京")) <= set(terms_of("私は東京に住む"))
    assert "python" in terms_of("使用Python的")


def test_a_typo_is_near_the_word_that_was_meant() -> None:
    for typed in ("educaton", "educcation", "educatoin", "educatiom"):
        assert term_of("education") in near_misses(typed, ANYTHING)
    assert term_of("education") not in near_misses("edcatoin", ANYTHING)
    assert term_of("postgres") not in near_misses("postgres", ANYTHING)


def test_a_word_whose_beginning_no_term_has_is_not_near() -> None:
    typed = {
        "educaton": "education",
        "psotgres": "postgres",
        "dpeloy": "deploy",
        "deplyo": "deploy",
    }
    for word, meant in typed.items():
        term = term_of(meant)
        misses = near_misses(word, [set(), {term[:4]}])
        assert term in misses
        assert misses < near_misses(word, ANYTHING)
        assert not near_misses(word, [{"noth"}])


@given(st.text("abst", min_size=5, max_size=9), st.sets(st.text("abst", min_size=3, max_size=4)))
def test_every_word_one_typo_away_whose_beginning_is_known_is_near(
    word: str, beginnings: set[str]
) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    typos = {
        typo
        for at in range(1, len(word) + 1)
        for typo in (
            *(word[:at] + letter + word[at:] for letter in letters),
            *(word[:at] + letter + word[at + 1 :] for letter in letters if at < len(word)),
            word[:at] + word[at + 1 :],
            word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
        )
    }
    near = {term_of(typo) for typo in typos if typo[:4] in beginnings} - {term_of(word)}
    assert near_misses(word, [beginnings]) == near


class _Anything:
    def __contains__(self, _: object) -> bool:
        return True


ANYTHING = [_Anything()]


def test_passages_end_at_sentences_and_lose_nothing() -> None:
    text = "One two three. Four five six.\nSeven eight nine. Ten."
    passages = passages_of(text, 30)
    assert passages == ["One two three. Four five six.", "Seven eight nine. Ten."]
    assert passages_of("", 30) == []


@given(st.text(max_size=400))
def test_any_text_has_terms_of_bounded_length(text: str) -> None:
    for term in terms_of(text):
        assert 0 < len(term) <= LONGEST_TERM
    spoken_words(text)


@given(st.text(max_size=200))
def test_composed_and_decomposed_text_are_the_same(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFKC", "NFKD"))
    assert terms_of(composed) == terms_of(decomposed)


@given(st.text(alphabet="ab c.\n", max_size=300), st.integers(1, 80))
def test_passages_hold_every_word_in_its_order(text: str, longest: int) -> None:
    assert " ".join(passages_of(text, longest)).split() == text.split()


@pytest.mark.parametrize("unit", ["a", "a-", "a.b", "aB", "/", "東", "’s", "A1_"])
def test_a_megabyte_without_a_space_is_fast(unit: str) -> None:
    start = time.process_time()
    terms_of(unit * (1_000_000 // len(unit)))
    assert time.process_time() - start < 10


def test_threads_stem_alike() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}ing testing{n}" for n in range(3000))
    expected = terms_of(text)
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(terms_of(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.parametrize(
    "said",
    [
        "the outage of March 30",
        "what broke on 30 March",
        "30th of march 2026",
        "MARCH 30TH, 2026",
        "am 30. März",
        "le 30 mars",
        "el 30 de marzo de 2026",
        "30 Mar",
    ],
)
def test_a_date_in_words_has_a_term_of_its_iso_form(said: str) -> None:
    assert "03-30" in set(terms_of(said)) & set(terms_of("2026-03-30"))
    assert ("2026-03-30" in terms_of(said)) == ("2026" in said)


def test_a_month_in_words_is_found_in_an_iso_date() -> None:
    assert set(terms_of("in September")) & set(terms_of("until 2026-09"))


def test_what_only_looks_like_a_date_has_no_date() -> None:
    for said in ("march on", "may 99 people", "version 3 marchers", "12 mayors", "2026-13-40"):
        assert not [term for term in terms_of(said) if term[2:3] == "-"], said


def test_whole_identifiers_and_paths_are_compounds_and_their_words_are_not() -> None:
    assert compounds_of("maxLossPercent of svc/import_xml, see v2.1 and 2026-03-30, don't") == {
        term_of("maxlosspercent"),
        term_of("importxml"),
        "svc/import_xml",
    }
    assert compounds_of("plain words, 東京都") == set()


@given(st.text())
def test_every_compound_is_a_term(text: str) -> None:
    assert compounds_of(text) <= set(terms_of(text))
