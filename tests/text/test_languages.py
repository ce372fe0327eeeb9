import pytest

from knotwork._text.languages import detect_language, is_read


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The quick brown fox jumps over the lazy dog in the park.", "en"),
        ("今天天气很好，我们去公园吧。", "zh"),
        ("今天用 Python 和 SQLite 做了一个 API 服务，效果很好。", "zh"),
        ("戰事再度膠著，而法軍因內部騷動，無力防禦。", "zh"),
        ("The Chinese word 苹果 means apple, and it is used for the company as well.", "en"),
        ("これは日本語の文章です。とても短いです。", "ja"),
        ("이것은 한국어 문장입니다. 아주 짧습니다.", "ko"),
        ("Der Hund ist nicht mit dem Zug in die Stadt gefahren und das ist gut.", "de"),
        ("Le chat est dans la maison et il ne sort pas avec les enfants.", "fr"),
        ("Это русский текст, который не распознаётся.", ""),
        ("Quarterly Report", "en"),
        ("", ""),
        ("12345 67 --- 89", ""),
        ("\x00\x01", ""),
    ],
)
def test_language(text, language):
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "languages", "read"),
    [
        ("今天天气很好，我们去公园吧。", {"en", "de"}, False),
        ("今天天气很好，我们去公园吧。", {"en", "zh"}, True),
        ("今天天气很好，我们去公园吧。", (), True),
        ("이것은 한국어 문장입니다. 아주 짧습니다.", {"en"}, False),
        (
            "The Chinese word 苹果 means apple, and it is used for the company as well.",
            {"en"},
            True,
        ),
        ("12345 67 --- 89", {"en"}, True),
        ("", {"en"}, True),
    ],
)
def test_a_model_reads_its_languages_and_what_is_in_none(text, languages, read):
    assert is_read(text, languages) is read
