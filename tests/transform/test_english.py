"""Names in English text: the words of one, what is not a name, and their parts."""

import pytest
from tests.transform.documents import extract, forms, mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She met Ludwig van Beethoven in Vienna.", {"ludwig van beethoven", "vienna"}),
        ("He leads the Ministry of Health in Peru.", {"ministry of health", "peru"}),
        ("It flew a Boeing 747 in World War II.", {"boeing 747", "world war ii"}),
        ("They read J. R. R. Tolkien and C. S. Lewis.", {"jrr tolkien", "cs lewis"}),
        ("He was born in Rochester, New York.", {"rochester", "new york", "rochester new york"}),
        ("It works at AT&T with C++ and C#.", {"at and t", "c++", "c#"}),
        ("They like O'Neill and Jean-Paul Sartre.", {"oneill", "jean paul sartre"}),
        ("He saw “Gone with the Wind” there.", {"gone with the wind"}),
        ("The 2010 FIFA World Cup was held.", {"2010 fifa world cup", "2010", "fifa world cup"}),
        ("It was sold by the Bishop of Elmham.", {"bishop of elmham", "elmham"}),
        ("He met Lambert, Margrave of Tuscany.", {"lambert margrave of tuscany", "tuscany"}),
        ("They read of Sodom and Gomorrah.", {"sodom and gomorrah", "sodom", "gomorrah"}),
        ("She knows Anna Smith and Mary Jones.", {"anna smith", "mary jones"}),
        ("They saw Harry Potter and the Goblet of Fire.", {"harry potter and the goblet of fire"}),
        ("It calls `open_store` and os.path.join in foo_bar.", {"open_store", "foo_bar"}),
        ("Write to ann@example.org or https://example.org/a.", {"ann example.org"}),
        ("It ended in 1999.", {"1999"}),
        ("By marriage to King Norodom Suramarit.", {"norodom suramarit"}),
        ("Directed by S. R. Puttanna Kanagal.", {"puttanna kanagal", "sr puttanna kanagal"}),
        ("They ate at Dunkin' Brands.", {"dunkin brands"}),
        ("In Apollo 11 he flew.", {"apollo 11", "apollo"}),
        ("It ended on 13 March 1963.", {"13 march 1963"}),
    ],
)
def test_names_are_found(text: str, expected: set[str]) -> None:
    if "example" in text:
        found = [m.name for m in extract("", text)[0].mentions]
        assert {"ann@example.org", "https://example.org/a"} <= set(found)
        return
    assert expected <= forms("", text)


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("However, the river rose. Researchers measured it.", {"however", "researchers", "the"}),
        ("In March the board met on Friday.", {"march", "friday", "in march"}),
        ("He told TechCrunch And then left. It is Eagles Each of them.", {"techcrunch and"}),
        ("The term ``Roman '', as in the`` Roman Church'', is old.", {"roman as in the"}),
        ("I think I'm right, and They've left.", {"i", "im", "theyve"}),
        ("She knows Anna Smith and Mary Jones.", {"anna smith and mary jones"}),
        ("He paid Dr. Who a visit. Their dog barked.", {"their", "dr"}),
    ],
)
def test_common_words_are_no_names(text: str, absent: set[str]) -> None:
    assert not absent & forms("", text)


def test_a_word_at_the_start_is_a_name_when_the_document_shows_it() -> None:
    assert "growth" in forms("", "Growth sells maps. We like what Growth sells.")
    assert "growth" not in forms("", "Growth was slow. We like growth.")


def test_the_title_is_found_in_any_case() -> None:
    (extraction,) = extract("Solar Power", "People like solar power. SOLAR POWER is cheap.")
    assert [tuple(span) for span in mentions(extraction)["solar power"].spans] == [
        (12, 23),
        (25, 36),
    ]


def test_headlines_give_names_only_where_the_document_shows_them() -> None:
    text = "Why Big Deals Matter For Apple Today\n\nThe deals of Apple are big. They matter today."
    found = forms("", text)
    assert "apple" in found
    assert not {"deals", "matter", "big deals matter for apple today"} & found


def test_repeated_lower_case_phrases_are_terms() -> None:
    text = "A travel policy helps. Each travel policy is short. A paper mill burned."
    found = forms("", text)
    assert "travel policy" in found
    assert "paper mill" not in found


@pytest.mark.parametrize(
    ("text", "form", "kind"),
    [
        ("He met President Obama in Kenya.", "kenya", "PLACE"),
        ("He met President Obama in Kenya.", "president obama", "PERSON"),
        ("She joined Stanford University.", "stanford university", "ORGANIZATION"),
        ("She crossed the Hudson River.", "hudson river", "PLACE"),
        ("The actor Tom Hanks laughed.", "tom hanks", "PERSON"),
        ('He saw the film "Vertigo" twice.', "vertigo", "WORK"),
        ("It happened on 13 March 1963.", "13 march 1963", "DATE"),
        ("It cost $1.2 in 1999.", "1999", "DATE"),
        ("Call load_index() first.", "load_index", "FUNCTION"),
        ("They liked Blue Falcon.", "blue falcon", ""),
    ],
)
def test_types_follow_cues(text: str, form: str, kind: str) -> None:
    (extraction,) = extract("", text)
    assert mentions(extraction)[form].type == kind


def test_code_without_a_letter_or_digit_is_no_name() -> None:
    (extraction,) = extract("", 'The default of `parent_tokens` is `800`, that of `model` is `""`.')
    assert '""' not in mentions(extraction)
    assert "parent_tokens" in mentions(extraction)
