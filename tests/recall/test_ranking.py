"""The ranking core: words, meaning, several indexes searched as one, and what is not shown."""

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memoryd.recall.calibration import Calibration
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules import search as ranking
from memoryd.recall.rules.byte_rows import Vector, in_bytes, in_singles
from memoryd.recall.rules.index import Document, Index, sentence_passages
from memoryd.recall.rules.largest import MANY, places_near_largest, places_of_largest
from memoryd.recall.rules.packed_postings import PackedPostings, TextArrays
from memoryd.recall.rules.postings import Postings
from memoryd.recall.rules.relevance import (
    LEAST_SUBSTANCE,
    HitEvidence,
    VectorSimilarity,
    relevant_among,
    surplus,
)
from memoryd.recall.rules.search import Hit, Question, search
from memoryd.recall.rules.vectors import ABSENT, Comparison, Vectors, Wanted, common_part, unit
from tests.support.times import NOW

DAY = 86_400.0

NOTES = {
    "tabs": ("Indentation", "Tabs, never spaces", "Indent Go and Makefiles with tabs."),
    "deploy": ("Deploying", "Deploys go out on Tuesdays", "Run scripts/deploy_prod.sh from CI."),
    "postgres": ("Database port", "Postgres on 5433", "The test database listens on port 5433."),
    "reviews": ("Code review", "Two reviewers", "Ask Dana and Lee before merging to main."),
    "flaky": ("Flaky test", "test_watch is flaky", "TestWatcher.test_rename fails on macOS 14.2."),
    "editor": ("Editor", "The user works in Neovim", "Prefers short answers in German."),
    "zephyr": ("Firmware", "FreeRTOS is pinned", "A contract forbids moving to Zephyr."),
}


def indexed(notes: Mapping[str, tuple[str, str, str]]) -> Index:
    index = Index()
    for key, (name, description, body) in notes.items():
        index.put(Document(key, name, description, body, "project", NOW))
    return index


def found(parts: Iterable[Index], text: str, limit: int = 5) -> list[str]:
    return [hit.key for hit in search(list(parts), Question(text), limit=limit, now=NOW)]


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("which database port do the tests use?", "postgres"),
        ("how do I deploy to prod", "deploy"),
        ("run deployProd", "deploy"),
        ("who reviews before a merge", "reviews"),
        ("is test_rename flaky on macos 14.2?", "flaky"),
        ("should the firmware move to zephyr", "zephyr"),
        ("indenting with tabs or spaces", "tabs"),
        ("does the user like neovim?", "editor"),
        ("scripts/deploy_prod.sh", "deploy"),
        ("ports", "postgres"),
    ],
)
def test_a_memory_is_found_by_its_name_description_or_body(query: str, key: str) -> None:
    assert found([indexed(NOTES)], query)[0] == key


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   \n",
        "and what about that, then?",
        "recipe for sourdough bread with rye flour",
        "write a haiku about autumn leaves falling",
        "continue",
        "?!",
    ],
)
def test_an_unrelated_or_empty_query_finds_nothing(query: str) -> None:
    assert found([indexed(NOTES)], query) == []


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    loaded = Embeddings("", str(tmp_path_factory.mktemp("vectors")))
    loaded.load()
    if loaded.static.words is None:
        pytest.skip("the package with the vectors has no wheel for this machine")
    return loaded


def found_by_meaning(embeddings: Embeddings, text: str) -> list[str]:
    index = Index()
    for key, (name, description, body) in NOTES.items():
        document = Document(key, name, description, body, "project", NOW)
        embeddings.word_vectors_of(document, index.put(document)).give_to(index)
    return [hit.key for hit in search([index], embeddings.question(text), limit=5, now=NOW)]


SMALL_TALK = (
    *("ok", "yes", "thanks", "thanks, looks good", "go on", "continue", "yes do it", "try again"),
    *("sounds good", "what's next", "commit this", "fix it", "proceed", "make it faster"),
    *("that did not work", "good morning", "let's go", "I agree"),
)
ABOUT_OTHER_THINGS = (
    *("what should I cook for dinner", "plan a trip to Lisbon", "is it going to rain tomorrow"),
    *("reverse a linked list in place", "explain what a monad is", "how does raft elect a leader"),
)


@pytest.mark.parametrize("said", SMALL_TALK)
def test_small_talk_finds_nothing(embeddings: Embeddings, said: str) -> None:
    assert found_by_meaning(embeddings, said) == []


@pytest.mark.parametrize("said", SMALL_TALK + ABOUT_OTHER_THINGS)
def test_unasked_small_talk_and_unrelated_questions_are_shown_nothing(
    embeddings: Embeddings, said: str
) -> None:
    index, calibration = indexed(NOTES), Calibration()
    calibration.set_bar(index)
    question = embeddings.question(said)
    background = calibration.background
    assert ranking.search_unasked([index], question, background, limit=5, now=NOW) == []


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("which database port do the tests use?", "postgres"),
        ("on which day do we deploy to production?", "deploy"),
        ("ports", "postgres"),
        ("neovim", "editor"),
        ("who has to review this before merging?", "reviews"),
        ("should we port the firmwear to zephyr", "zephyr"),
    ],
)
def test_a_real_question_finds_its_memory_first(
    embeddings: Embeddings, query: str, key: str
) -> None:
    assert found_by_meaning(embeddings, query)[0] == key


def test_an_empty_index_finds_nothing() -> None:
    assert found([], "deploy") == []
    assert found([Index()], "deploy") == []


def test_the_only_memory_is_found_by_a_plain_question() -> None:
    only = indexed({"tabs": NOTES["tabs"]})
    assert found([only], "should I indent with tabs or spaces?") == ["tabs"]


def test_a_mistyped_word_finds_what_was_meant() -> None:
    assert found([indexed(NOTES)], "databse port")[0] == "postgres"
    assert found([indexed(NOTES)], "is zepyhr allowed in the firmware")[0] == "zephyr"


def test_a_known_word_is_not_taken_for_a_typo() -> None:
    index = indexed({"form": ("Form", "", "form"), "farm": ("Farms", "", "farms")})
    assert found([index], "farms") == ["farm"]


def test_other_scripts_are_found() -> None:
    index = indexed({"ja": ("デプロイ", "", "本番は火曜日にデプロイする"), **NOTES})
    assert found([index], "本番のデプロイはいつ")[0] == "ja"


def test_a_replaced_memory_is_no_longer_found_by_its_old_words() -> None:
    index = indexed(NOTES)
    index.put(Document("zephyr", "Firmware", "", "The board runs NuttX now."))
    assert found([index], "moving to zephyr") == []
    assert found([index], "nuttx board") == ["zephyr"]
    assert len(index) == len(NOTES)


def test_a_memory_can_be_removed_and_removed_again() -> None:
    index = indexed(NOTES)
    index.remove("zephyr")
    index.remove("zephyr")
    assert len(index) == len(NOTES) - 1
    assert found([index], "zephyr firmware freertos") == []


def test_excluded_memories_leave_their_place_to_others() -> None:
    index = indexed(
        NOTES | {"deploy2": ("Deploying", "Deploys are frozen in May", "Deploys stop.")}
    )
    (best, *_) = search([index], Question("deploys"), limit=1, now=NOW)
    (other,) = search([index], Question("deploys"), limit=1, now=NOW, excluded={best.key})
    assert {best.key, other.key} == {"deploy", "deploy2"}
    everything = set(NOTES) | {"deploy2", "unknown"}
    assert search([index], Question("deploys"), limit=5, now=NOW, excluded=everything) == []


def test_hits_come_best_first_up_to_the_limit() -> None:
    index = indexed({str(n): ("Cache", "", "cache " * (n + 1)) for n in range(9)})
    hits = search([index], Question("cache"), limit=3, now=NOW)
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_shares_of_all_words_add_up_to_the_words_score() -> None:
    (hit, *_) = search([indexed(NOTES)], Question("test database port"), limit=5, now=NOW)
    assert max(hit.terms.values()) > 0
    assert sum(hit.terms.values()) == pytest.approx(hit.words)
    assert hit.terms.keys() == {"test", "databas", "port"}
    assert hit.meaning == 0
    assert hit.words <= hit.score <= hit.words * 1.05


def test_among_equals_the_newer_comes_first_and_a_better_one_before_both() -> None:
    index = Index()
    index.put(Document("old", "Cache", "", "redis cache", "project", NOW - 400 * DAY))
    index.put(Document("new", "Cache", "", "redis cache", "project", NOW))
    index.put(Document("best", "Cache", "", "redis cache eviction", "project", NOW - 900 * DAY))
    index.put(Document("other", "Queue", "", "rabbit queue", "project", NOW))
    assert found([index], "redis cache eviction") == ["best", "new", "old"]


def test_a_timestamp_in_the_future_counts_as_new() -> None:
    index = Index()
    index.put(Document("future", "Cache", "", "redis", "", NOW + 10_000 * DAY))
    (hit,) = search([index], Question("redis"), limit=5, now=NOW)
    assert hit.score <= hit.words * 1.05


texts = st.lists(
    st.sampled_from(["alpha", "beta", "gamma", "delta", "épsilon", "snake_case", "3.11"]),
    max_size=8,
)
keys = st.sampled_from("abcdef")
changes = st.lists(st.tuples(keys, st.none() | st.tuples(texts, texts, texts)), max_size=25)


def applied(index: Index, history: Iterable[tuple[str, tuple[list[str], ...] | None]]) -> None:
    for key, fields in history:
        if fields is None:
            index.remove(key)
        else:
            name, description, body = (" ".join(words) for words in fields)
            index.put(Document(key, name, description, body, "user", NOW))


def same(left: list[Hit], right: list[Hit]) -> bool:
    """Whether two answers are the same, apart from the order of equals."""

    def facts(hits: list[Hit]) -> dict[str, tuple[float, float]]:
        return {hit.key: (round(hit.score, 9), round(hit.words, 9)) for hit in hits}

    return facts(left) == facts(right)


@given(changes, texts)
def test_a_changed_index_equals_a_freshly_built_one(
    history: list[tuple[str, tuple[list[str], ...] | None]], words: list[str]
) -> None:
    changed, fresh = Index(), Index()
    applied(changed, history)
    applied(fresh, dict(history).items())
    question = Question(" ".join(words))
    assert len(changed) == len(fresh)
    assert same(
        search([changed], question, limit=9, now=NOW), search([fresh], question, limit=9, now=NOW)
    )


@given(changes, texts)
def test_two_indexes_searched_together_answer_like_one(
    history: list[tuple[str, tuple[list[str], ...] | None]], words: list[str]
) -> None:
    one, low, high = Index(), Index(), Index()
    applied(one, history)
    applied(low, [change for change in history if change[0] < "d"])
    applied(high, [change for change in history if change[0] >= "d"])
    question = Question(" ".join(words))
    assert same(
        search([low, high], question, limit=9, now=NOW), search([one], question, limit=9, now=NOW)
    )


def axis(number: int, *, of: int = 8) -> Vector:
    return np.asarray(np.eye(of)[number], np.float32)


def with_vectors(vectors: Mapping[str, Vector]) -> Index:
    index = Index()
    for number, (key, vector) in enumerate(vectors.items()):
        ticket = index.put(Document(key, f"Note{number}", "", f"body{number}", "", NOW))
        index.give_word_vector(key, ticket, vector)
    return index


def test_meaning_finds_what_shares_no_word() -> None:
    index = with_vectors({f"n{n}": axis(n) for n in range(6)})
    question = Question("kids", word_vector=axis(2))
    (hit,) = search([index], question, limit=5, now=NOW)
    assert (hit.key, hit.words, hit.terms) == ("n2", 0, {})
    assert hit.meaning > 0


def test_what_all_memories_have_in_common_does_not_rank_them() -> None:
    shared = axis(0) * np.float32(0.8)
    index = with_vectors({f"n{n}": shared + axis(n + 1) * np.float32(0.6) for n in range(6)})
    asked = unit(axis(0) * np.float32(0.9) + axis(3) * np.float32(0.4))
    (best, *others) = search([index], Question("kids", word_vector=asked), limit=5, now=NOW)
    assert best.key == "n2"
    assert best.meaning > 1.5 * max(hit.meaning for hit in others)


def test_a_vector_that_comes_too_late_is_ignored() -> None:
    index = Index()
    first = index.put(Document("n", "Old", "", "text"))
    index.put(Document("n", "New", "", "text"))
    index.give_word_vector("n", first, axis(1))
    index.give_sentence_vectors("n", first, axis(1)[np.newaxis])
    index.give_word_vector("gone", 1, axis(1))
    assert search([index], Question("kids", word_vector=axis(1)), limit=5, now=NOW) == []


def test_a_removed_memory_takes_its_vectors_along() -> None:
    index = with_vectors({"a": axis(1), "b": axis(2)})
    index.remove("a")
    ticket = index.put(Document("c", "Other", "", "text"))
    assert search([index], Question("kids", word_vector=axis(1)), limit=5, now=NOW) == []
    index.give_word_vector("c", ticket, axis(3))
    (hit,) = search([index], Question("kids", word_vector=axis(3)), limit=5, now=NOW)
    assert hit.key == "c"


def test_sentence_vectors_count_by_their_best_passage() -> None:
    index = with_vectors({f"n{n}": axis(n) for n in range(5)})
    ticket = index.put(Document("long", "Long", "", "text"))
    index.give_sentence_vectors("long", ticket, np.stack([axis(9, of=16), axis(3, of=16)]))
    question = Question("kids", axis(7), axis(3, of=16), unrelated_cosine=0.5)
    (hit,) = search([index], question, limit=5, now=NOW)
    assert hit.key == "long"


def test_vectors_of_another_model_are_not_compared() -> None:
    index = with_vectors({"a": axis(1)})
    assert search([index], Question("kids", word_vector=axis(1, of=4)), limit=5, now=NOW) == []


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30))
def test_the_common_part_is_the_mean_of_the_present_vectors(steps: list[tuple[int, int]]) -> None:
    vectors, kept = Vectors(), dict[int, int]()
    for owner, rows in steps:
        if rows:
            vectors.put(owner, np.stack([axis((owner + row) % 8) for row in range(rows)]))
            kept[owner] = rows
        else:
            vectors.drop(owner)
            kept.pop(owner, None)
    assert vectors.count == sum(kept.values())
    expected = sum((axis((o + r) % 8) for o, n in kept.items() for r in range(n)), np.zeros(8))
    common = common_part([vectors], axis(0))
    assert np.allclose(common * (vectors.count + 10), expected, atol=1e-4) or not kept
    found = vectors.cosines(range(6), axis(0))
    assert [owner for owner in range(6) if found[owner] != ABSENT] == sorted(kept)
    similarity = Comparison(vectors, Wanted(axis(0), 0.0), 6).similarity
    cosines = [max(cosine, 0.0) for cosine in found]
    assert list(similarity) == cosines


def test_sentence_passages_carry_their_heading() -> None:
    body = "First thing happened here. " * 30
    texts = sentence_passages(Document("k", "Name", "About it", body))
    assert len(texts) > 1
    assert all(text.startswith("Name\nAbout it\n") for text in texts)
    assert sentence_passages(Document("k", "Name", "About it", "")) == ["Name\nAbout it\n"]


def test_postings_drop_a_text_completely() -> None:
    postings = Postings()
    first = postings.add({"a": 2.0, "b": 1.0})
    second = postings.add({"a": 1.0})
    postings.drop(first)
    assert (postings.size, postings.total_length) == (1, 1.0)
    assert (postings.holders_of("a"), postings.holders_of("b")) == (1, 0)
    assert postings.add({"c": 1.0}) == first
    earnings = postings.earnings({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0)
    assert earnings.by_term([second]) == [{"a": pytest.approx(earnings.total[second])}]
    with pytest.raises(LookupError):
        postings.drop(7 if postings.capacity > 7 else _dropped(postings, first))


some_texts = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9).map(float), min_size=1), max_size=6
)


@given(some_texts, some_texts, st.sets(st.integers(0, 11)))
def test_packed_postings_are_searched_like_others(
    packed: list[dict[str, float]], added: list[dict[str, float]], dropped: set[int]
) -> None:
    one_by_one = Postings()
    at_once = Postings(PackedPostings(_as_arrays(packed)))
    for text in packed:
        one_by_one.add(text)
    for text in added:
        assert one_by_one.add(text) == at_once.add(text)
    for slot in sorted(dropped):
        if slot < len(packed) + len(added):
            one_by_one.drop(slot)
            at_once.drop(slot)
    worths = {term: 1.0 + at for at, term in enumerate("abcxdef")}
    earnings, same = at_once.earnings(worths, 3.0), one_by_one.earnings(worths, 3.0)
    assert np.allclose(earnings.total, same.total)
    assert at_once.size == one_by_one.size
    assert at_once.total_length == one_by_one.total_length
    for term in worths:
        assert at_once.holders_of(term) == one_by_one.holders_of(term)
        assert (term in at_once.beginnings) == (term in one_by_one.beginnings)
    slots = sorted(set(range(at_once.capacity)) - dropped)
    for slot, own, of_one in zip(slots, earnings.by_term(slots), same.by_term(slots), strict=True):
        assert own == pytest.approx(of_one)
        assert sum(own.values()) == pytest.approx(earnings.total[slot])
        assert earnings.by_term([slot]) == [own]


def _as_arrays(texts: list[dict[str, float]]) -> TextArrays:
    return TextArrays(
        "abcdef",
        np.array([len(text) for text in texts], np.int32),
        np.array(["abcdef".index(term) for text in texts for term in text], np.int32),
        np.array([count for text in texts for count in text.values()], np.float32),
    )


def _dropped(postings: Postings, slot: int) -> int:
    postings.drop(slot)
    return slot


def evidence(
    covered: float = 0.0,
    cosine: float = 0.0,
    kind: VectorSimilarity = VectorSimilarity.WORDS,
    memories: int = 100,
) -> HitEvidence:
    return HitEvidence(covered=covered, known=covered, kind=kind, cosine=cosine, memories=memories)


def test_more_evidence_never_hides_and_more_memories_never_show() -> None:
    for kind in VectorSimilarity:
        some = evidence(0.5, kind=kind)
        assert relevant_among([evidence(kind=kind)]) == [False]
        assert relevant_among([evidence(covered=1.0, cosine=0.8, kind=kind)]) == [True]
        assert surplus(some) < surplus(evidence(0.6, kind=kind))
        assert surplus(replace(some, memories=10)) > surplus(replace(some, memories=400))
        assert surplus(replace(some, memories=5_000)) == surplus(replace(some, memories=50_000))
    assert surplus(evidence(cosine=0.3)) < surplus(evidence(cosine=0.4))


def test_a_query_that_says_little_needs_more_evidence() -> None:
    said = [surplus(replace(evidence(0.5), substance=substance)) for substance in (5, 15, 20, 90)]
    assert said[0] < said[1] < said[2] == said[3]


def test_beside_a_hit_or_without_one_whatever_is_not_far_off_is_shown() -> None:
    good = evidence(covered=1.0, cosine=0.8)
    steps = [evidence(covered=0.1, cosine=step / 100) for step in range(-60, 80)]
    near, short, far = (
        min(
            (one for one in steps if surplus(one) < -least),
            key=lambda one: abs(surplus(one) + least),
        )
        for least in (0, 3, 6)
    )
    assert relevant_among([near, good, short, far]) == [True, True, True, False]
    assert relevant_among([near, short, far]) == [True, True, False]
    assert relevant_among([]) == []


def test_small_talk_has_no_credit() -> None:
    steps = [evidence(covered=0.1, cosine=step / 100) for step in range(-60, 80)]
    near = max((one for one in steps if surplus(one) < 0), key=surplus)
    assert relevant_among([near]) == [True]
    said_little = replace(near, substance=LEAST_SUBSTANCE - 1)
    assert relevant_among([said_little]) == [False]


def test_a_large_store_uses_words_alone_until_most_memories_have_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "LARGE_STORE", 3)
    index = Index()
    tickets = {
        key: index.put(Document(key, key, "", "", "project", NOW))
        for key in ("kiln", "ferry", "label", "tariff")
    }
    meaning = unit(np.array([1, 0], np.float32))
    question = Question("ferry", word_vector=meaning)
    index.give_word_vector("kiln", tickets["kiln"], meaning)
    assert [hit.key for hit in search([index], question, limit=5, now=NOW)] == ["ferry"]
    for key in ("label", "tariff"):
        index.give_word_vector(key, tickets[key], unit(np.array([0, 1], np.float32)))
    found = [hit.key for hit in search([index], question, limit=5, now=NOW)]
    assert set(found) >= {"ferry", "kiln"}


@pytest.mark.timeout(20)
def test_a_huge_query_ends() -> None:
    index = indexed(NOTES)
    found([index], "databsae " * 50_000 + "x" * 500_000)
    found(
        [index], " ".join(f"wrod{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}" for n in range(20_000))
    )


def test_a_large_store_finds_the_same_by_rough_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(7)
    around = dice.normal(size=(40, 64))
    rows = around[dice.integers(0, 40, 5_000)] + 0.5 * dice.normal(size=(5_000, 64))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    index = Index()
    for at, row in enumerate(rows):
        ticket = index.put(Document(f"{at:04}", f"name{at}", "about everything", ""))
        index.give_word_vector(f"{at:04}", ticket, row)
    questions = [Question("everything", word_vector=row) for row in rows[::500]]
    asked = partial(search, [index], limit=5, now=NOW)
    before = [{hit.key for hit in asked(question)} for question in questions]
    assert (index.word_vectors.is_rough, index.word_vectors.wants_sketch) == (False, True)
    monkeypatch.setattr("memoryd.recall.rules.sketch._DIRECTIONS", 32)
    make = index.word_vectors.begin_sketch()
    late = index.put(Document("0001", "name1", "about everything", ""))
    index.give_word_vector("0001", late, rows[1])
    index.word_vectors.use_sketch(make())
    assert (index.word_vectors.is_rough, index.word_vectors.wants_sketch) == (True, False)
    index.remove("0002")
    ticket = index.put(Document("0002", "name2", "about everything", ""))
    index.give_word_vector("0002", ticket, rows[2])
    assert [{hit.key for hit in asked(question)} for question in questions] == before
    for at, row in enumerate(rows[:2_000]):  # more than there is room for
        ticket = index.put(Document(f"x{at:04}", f"name{at}", "about everything", ""))
        index.give_word_vector(f"x{at:04}", ticket, -row)
    questions += [Question("everything", word_vector=-row) for row in rows[1_800:2_000:50]]
    after = [{hit.key for hit in asked(question)} for question in questions]
    assert any(key.startswith("x") for keys in after for key in keys)
    index.word_vectors.sketch = None
    assert [{hit.key for hit in asked(question)} for question in questions] == after


def test_a_memory_about_something_else_than_all_others_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memoryd.recall.rules.sketch._DIRECTIONS", 16)
    dice = np.random.default_rng(11)
    usual = 0.3 * dice.normal(size=(5_000, 128))
    usual[:, :16] += dice.normal(size=(5_000, 16))
    other = np.zeros((20, 128))
    other[:, 16:] = dice.normal(size=(20, 112))
    rows = np.concatenate([usual, other])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    index = Index()
    for at, row in enumerate(rows):
        ticket = index.put(Document(f"{at:04}", f"name{at}", "about everything", ""))
        index.give_word_vector(f"{at:04}", ticket, row)
    index.word_vectors.use_sketch(index.word_vectors.begin_sketch()())
    for at in range(5_000, 5_020):
        near = unit(rows[at] + 0.08 * dice.normal(size=128).astype(np.float32))
        question = Question("everything", word_vector=near)
        assert search([index], question, limit=5, now=NOW)[0].key == f"{at:04}"


@pytest.mark.parametrize("left", [0, 1, 90])
def test_a_sketch_of_vectors_that_are_mostly_gone_is_not_used(left: int) -> None:
    vectors, rows = Vectors(), np.eye(16, dtype=np.float32)
    for owner in range(200):
        vectors.put(owner, rows[owner % 16 : owner % 16 + 1])
    make = vectors.begin_sketch()
    for owner in range(left, 200):
        vectors.drop(owner)
    for owner in range(200, 300):
        vectors.put(owner, rows[owner % 16 : owner % 16 + 1])
    vectors.use_sketch(make())
    assert not vectors.is_rough
    assert vectors.cosines([208], rows[0]) == [1.0]


def test_a_sketch_is_made_again_when_most_of_its_vectors_were_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memoryd.recall.rules.vectors.MANY", 200)
    vectors, rows = Vectors(), np.eye(16, dtype=np.float32)
    for owner in range(200):
        vectors.put(owner, rows[owner % 16 : owner % 16 + 1])
    vectors.use_sketch(vectors.begin_sketch()())
    for owner in range(200):
        assert not vectors.wants_sketch
        vectors.put(owner, -rows[owner % 16 : owner % 16 + 1])
    assert vectors.wants_sketch


def test_no_slots_earn_nothing() -> None:
    postings = Postings()
    postings.add({"a": 1.0})
    assert postings.earnings({"a": 1.0}, 1.0).by_term(()) == []


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6))
def test_a_row_of_bytes_is_nearly_what_it_was(numbers: list[float]) -> None:
    row = np.array([numbers], np.float32)
    largest = float(np.abs(row).max())
    assert np.allclose(in_singles(in_bytes(row)), row, atol=largest / 127 / 2 + 1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.sampled_from([3, 200, 10**9]))
def test_the_largest_of_many_scores_are_those_that_sorting_finds(
    seed: int, count: int, different: int
) -> None:
    rng = np.random.default_rng(seed)
    for size in (*rng.integers(1, 2 * count + 2, 3), MANY - 1, MANY + int(rng.integers(0, 3000))):
        scores = rng.integers(0, different, size) / different
        scores[rng.random(size) < 0.01] = -np.inf
        places = places_of_largest(scores, count)
        assert len(set(places.tolist())) == len(places) == min(count, size)
        assert sorted(scores[places]) == sorted(scores)[-count:]
        near = places_near_largest(scores, count, 0.1, size)
        assert set(near.tolist()) >= set(np.flatnonzero(scores >= min(scores[places]) - 0.1))
        assert len(places_near_largest(scores, count, 2.0, count)) == min(count, size)
        most = count + 50  # fewer than are near, or more
        some = places_near_largest(scores, count, 0.1, most)
        if len(near) <= most:
            assert set(some.tolist()) >= set(near.tolist())
            assert len(some) <= most
        else:
            assert sorted(scores[some]) == sorted(scores)[-most:]
