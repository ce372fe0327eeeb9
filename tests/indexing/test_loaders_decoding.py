import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import Source
from knotwork._text.visible import visible_text
from knotwork.errors import LoadError

SIMPLIFIED = "在欧洲，梵语的学术研究，由德国学者开创。后来发现印欧语系，也要归功于对梵语的研究。"
TRADITIONAL = "在歐洲，梵語的學術研究，由德國學者開創。後來發現印歐語系，也要歸功於對梵語的研究。"
GERMAN = "Die Übung über Äpfel und Öl gefällt den Schülern meist, weil sie früh schließt. " * 4
FRENCH = "L'été, les élèves préfèrent déjeuner dehors, où l'air est plus léger; ça paraît évident. "


def decode(data, **options):
    return decode_text(Source("docs/a.txt", data), **options)


@pytest.mark.parametrize("text", [SIMPLIFIED, TRADITIONAL, GERMAN, "plain\ntext", "🦀 emoji"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_encodings(text, encoding):
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_without_a_mark_is_recognised_by_its_zeros(order):
    text = "An ordinary line of English, with a few 中文字 in it."
    assert decode(text.encode(f"utf-16-{order}")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "gb18030"),
        (SIMPLIFIED, "gb2312"),
        (TRADITIONAL, "big5"),
        (TRADITIONAL, "gb18030"),
        (SIMPLIFIED + " with some English words and numbers, 3.14. ", "gbk"),
        (GERMAN, "latin-1"),
        (GERMAN, "cp1252"),
        (FRENCH * 4, "latin-1"),
    ],
)
def test_older_encodings(text, encoding):
    assert decode(text.encode(encoding)) == text


def test_a_declared_encoding_is_believed_when_it_fits():
    assert decode("früh".encode("latin-1"), declared="iso-8859-1") == "früh"
    assert decode("früh".encode(), declared="no-such-encoding") == "früh"


def test_line_ends_become_one_kind_and_nuls_go():
    assert decode(b"a\r\nb\rc\n\x00d") == "a\nb\nc\nd"


def test_utf_8_forgives_a_cut_end_and_few_stray_bytes():
    assert decode(SIMPLIFIED.encode()[:-1]) == SIMPLIFIED[:-1]
    assert decode(SIMPLIFIED.encode() + b"\xff" + SIMPLIFIED.encode()).count("\ufffd") == 1


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 20,
        b"\x89PNG\r\n\x1a\n" + bytes(1000),
        b"\x01\x02\x03\x04" * 100,
    ],
)
def test_bytes_that_are_no_text_are_refused(data):
    with pytest.raises(LoadError) as caught:
        decode(data)
    assert caught.value.reason in {"binary", "encoding"}
    assert "docs/a.txt" in caught.value.message
    assert caught.value.fix


@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_refused(data):
    try:
        text = decode(data)
    except LoadError:
        return
    assert "\x00" not in text
    assert "\r" not in text
    text.encode("utf-8")


@given(st.text(st.characters(exclude_characters="\r\x00\ufeff", exclude_categories=["Cs", "Cc"])))
def test_utf_8_text_is_kept_as_readers_see_it(text):
    assert decode(text.encode()) == visible_text(text)
