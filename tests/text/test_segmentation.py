"""Chinese words with parts of speech, in both scripts, with exact offsets."""

from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.languages import segment


def test_names_are_tagged_in_both_scripts() -> None:
    for text in ("李克强总理在北京大学发表讲话", "李克強總理在北京大學發表講話"):
        tags = {word.text: word.tag for word in segment(text)}
        assert tags[text[:3]] == "nr"
        assert tags[text[6:10]] == "nt"


@given(
    st.text(alphabet=st.sampled_from("中國联通的 \n\u3000。《》5Ga.,😀e\u0301\x00"), max_size=30)
)
def test_words_joined_are_the_text(text: str) -> None:
    words = segment(text)
    assert "".join(word.text for word in words) == text
    assert all(text[word.start : word.end] == word.text for word in words)
