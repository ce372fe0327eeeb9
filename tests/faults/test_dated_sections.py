"""Sections, and lines, of one document that have dates: the newest value comes first."""

import pytest

from .small_files import ask

NOTES = (
    "## 2024-01-05\n\nThe wifi password is alpha.\n\n## 2025-06-01\n\nThe wifi password is bravo.\n"
)
MINUTES = (
    "# Minutes\n\n## 12 May 2024\n\nThe treasurer is Ola Berg. The fee is 40 euros.\n\n"
    "## 9 May 2025\n\nThe treasurer is Ida Holm. The fee is 55 euros.\n"
)
PAGE = (
    "<h1>News</h1><h2>5 May 2023</h2><p>The venue is the Old Barn.</p>"
    "<h2>8 May 2026</h2><p>The rent is 90 euros.</p><h2>9 May 2026</h2><p>The rent is 95 euros.</p>"
)


@pytest.mark.parametrize(
    ("name", "text", "question", "first", "second"),
    [
        ("a.md", NOTES, "What is the wifi password?", "bravo", "alpha"),
        ("a.md", NOTES, "What was the wifi password in 2024?", "alpha", "bravo"),
        ("a.md", MINUTES, "Who is the treasurer?", "Ida Holm", "Ola Berg"),
        ("a.md", MINUTES, "How much is the fee?", "55 euros", "40 euros"),
        ("a.md", MINUTES, "How much was the fee in 2024?", "40 euros", "55 euros"),
        ("a.html", PAGE, "How much is the rent?", "95 euros", "90 euros"),
    ],
)
def test_the_value_at_the_requested_time_comes_first(tmp_path, name, text, question, first, second):
    (answer,) = ask(tmp_path, {name: text}, question)
    assert first in answer
    assert answer.find(first) < answer.find(second)


def test_days_of_a_diary_stay_apart(tmp_path):
    diary = "## 2025-01-03\n\nI ate fish with Ann.\n\n## 2025-01-04\n\nI ate rice with Bo.\n"
    (answer,) = ask(tmp_path, {"diary.md": diary}, "What did I eat with Ann?")
    assert "fish" in answer
    assert "rice" not in answer


def test_passwords_of_two_documents_are_distinguished_by_their_dates(tmp_path):
    files = {
        "2024-01-01 net.txt": "The wifi password is alpha.\n",
        "2025-01-01 net.txt": "The wifi password is bravo.\n",
    }
    (answer,) = ask(tmp_path, files, "What is the wifi password?")
    assert answer.find("bravo") < answer.find("alpha")
    assert "bravo" in answer
