"""Documents that disagree are quoted with their dates, and nothing else is called a conflict."""

from datetime import date

import pytest
from tests.faults.small_files import index_of

import knotwork
from knotwork._questions.reading import reading_of
from knotwork._synthesis.conflicts import Comparison, asked_day, compare_claims, read_claim

FEES = {
    "Fees 2022.md": "# Fees 2022\n\nThe annual membership fee is 30 euros.",
    "minutes.md": "# Minutes of 12 March 2024\n\nFrom 1 May 2024 the annual membership fee is €35.",
}

MAIL = "From: a@example.org\nSubject: News\nDate: Tue, 06 Feb 2024 10:00:00 +0000\n\n"


def listed(folder, files):
    """Return the values and dates of the conflicts between some files."""
    for name, text in files.items():
        place = folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    with knotwork.open(folder / "index.knot", embedding_model="none") as kb:
        kb.index(folder / "files")
        return [[(c.value, c.date) for c in each.claims] for each in kb.graph.conflicts()]


def compared(one, other):
    return compare_claims(read_claim(one), read_claim(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The parcel weighs 1,000 g.", "The parcel weighs 1 kg."),
        ("The tour takes 90 minutes.", "The tour takes 1.5 hours."),
        ("The office opens at 9 am.", "The office opens at 9:00."),
        ("The fee is €30.", "The fee is 30 euros."),
        ("About 3,500 people live here.", "3,512 people live here."),
        ("The town has 3,500 people.", "The town has 3,512 people."),
        ("At least 5 helpers come.", "7 helpers come."),
        ("It takes 3 to 5 days.", "It takes 4 days."),
        ("The tent has 5 rooms.", "The tent weighs 7 kg."),
        ("A group of 10 people pays 100 euros.", "A group of 20 people pays 180 euros."),
        ("The fee of 30 euros no longer applies.", "The fee is 35 euros."),
        ("The deadline is 1 May 2023.", "The deadline is 3 May 2024."),
        ("The club was founded in 1950.", "The club was founded on 3 May 1950."),
        ("The captain is Ana Silva.", "The captain is Silva."),
        ("包裹重1000克。", "包裹重1公斤。"),
        ("山谷里住着约3500人。", "山谷里住着3512人。"),
        ("Call 030 555 0123.", "Call +49 30 555 0123."),
    ],
)
def test_values_that_agree_or_are_about_different_things(one, other):
    assert compared(one, other) is Comparison.NONE
    assert compared(other, one) is Comparison.NONE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The fee is 30 euros.", "The fee is now €35."),
        ("The minimum age is at least 16 years.", "The minimum age is at least 18 years."),
        ("It opens from 9:00 to 17:00.", "It opens from 9 am to 6 pm."),
        ("The captain is Ana Silva.", "Tom Berg was the captain until 2023."),
        ("The deadline is 31 March.", "The deadline is 15 April."),
        ("The club was founded in 1950.", "The club was founded in 1952."),
        ("The fee is 30 euros.", "The fee of 30 euros no longer applies."),
        ("会费为每年30元。", "自2024年5月1日起，会费调整为每年三十五元。"),
        ("队长是王强。", "自2024年起由李娜担任队长。"),
    ],
)
def test_values_that_differ(one, other):
    assert compared(one, other) is Comparison.DIFFERS


def test_a_history_replaces_a_value():
    assert compared("The fee is 30 euros.", "The fee rose from 30 to 35 euros.") == "replaces"
    assert compared("会费为30元。", "会费由30元上调至35元。") == "replaces"


@pytest.mark.parametrize(
    "sentence", ["Is the fee 30 euros?", "Tom proposed a fee of 40.", "5" * 500]
)
def test_a_question_a_proposal_and_a_long_text_state_nothing(sentence):
    assert read_claim(sentence) is None


@pytest.mark.parametrize(
    "sentence", ["9" * 60 + " euros", "一" * 300, "$" * 390, "25点99分", "5 to " * 70]
)
def test_hostile_sentences_are_read(sentence):
    claim = read_claim(sentence)
    assert compare_claims(claim, claim) is Comparison.NONE


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What was the fee in 2022?", date(2022, 12, 31)),
        ("What is the fee as of May 2023?", date(2023, 5, 31)),
        ("What was the fee before 2022?", date(2021, 12, 31)),
        ("What was the fee last year?", date(2024, 12, 31)),
        ("What has been the fee since 2022?", date(2025, 6, 1)),
        ("What is the fee now?", date(2025, 6, 1)),
        ("截至2023年会费是多少？", date(2023, 12, 31)),
        ("2022年的会费是多少？", date(2022, 12, 31)),
        ("目前的会费是多少？", date(2025, 6, 1)),
        ("去年的会费是多少？", date(2024, 12, 31)),
    ],
)
def test_the_time_of_a_question(question, day):
    assert asked_day(reading_of(question), date(2025, 6, 1)) == day.toordinal()


def test_conflicts_are_listed_with_their_dates(tmp_path):
    assert listed(tmp_path, FEES) == [[("€35", "2024-05-01"), ("30 euros", "2022")]]


def test_dates_of_documents(tmp_path):
    text = "The harbour has {} berths."
    files = {
        "a.md": "---\ndate: 2021-03-04\n---\n" + text.format(10),
        "harbour_2020.txt": text.format(20),
        "b.txt": "Sheet\nDate: 9 October 2023\n\n" + text.format(30),
        "mail.eml": MAIL + text.format(40),
    }
    (found,) = listed(tmp_path, files)
    assert found == [
        ("40", "2024-02-06"),
        ("30", "2023-10-09"),
        ("10", "2021-03-04"),
        ("20", "2020"),
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"a.md": "The fee for members is 5 euros.", "b.md": "The fee for guests is 8 euros."},
        {
            "a.md": "# Ashford pool\n\nA day costs 4 euros.",
            "b.md": "# Belton pool\n\nA day costs 6 euros.",
        },
        {"ashford/x.md": "A locker costs 2 euros.", "belton/x.md": "A locker costs 3 euros."},
        {
            "a.md": "# Report Q1\n\nThere were 80 visitors.",
            "b.md": "# Report Q2\n\nThere were 95 visitors.",
        },
        {
            "a.md": "# Fees\n\n## Adults\n\nIt costs 9 euros.",
            "b.md": "# Fees\n\n## Children\n\nIt costs 4 euros.",
        },
        {"a.md": "In 2019 Novex had 95 employees.", "b.md": "In 2023 Novex had 140 employees."},
        {"a.md": "Room 12 seats 30 people.", "b.md": "Room 14 seats 45 people."},
        {"a.md": "In 2021 the fee was 5 euros. Since 2023 the fee is 7 euros."},
        {"a.md": "一季度参观人数为800人。", "b.md": "二季度参观人数为950人。"},
    ],
)
def test_different_things_do_not_conflict(tmp_path, files):
    assert listed(tmp_path, files) == []


def test_numbers_of_files_beside_a_title_are_no_names(tmp_path):
    files = {
        "scan0012.md": "---\ndate: 2021-02-03\n---\n# Sauna\n\nThe sauna costs 5 euros.",
        "scan0044.md": "---\ndate: 2023-02-03\n---\n# Sauna\n\nThe sauna costs 7 euros.",
    }
    assert listed(tmp_path, files) == [[("7 euros", "2023-02-03"), ("5 euros", "2021-02-03")]]


def test_a_rule_that_no_longer_applies_conflicts_with_itself(tmp_path):
    files = {
        "a.md": "# Garden 2020\n\nThe garden is open on Sundays.",
        "b.md": "# Garden 2023\n\nThe garden is no longer open on Sundays.",
    }
    assert listed(tmp_path, files) == [[("", "2023"), ("", "2020")]]


def test_an_answer_gives_both_values(tmp_path):
    others = {
        "garden.md": "# Garden\n\nThe garden has 12 apple trees.",
        "novex.md": "# Novex\n\nIn 2019 Novex had 95 employees.",
        "profile.md": "# Novex profile\n\nIn 2023 Novex had 140 employees.",
        "a.md": "---\ndate: 2023-04-01\n---\n# Notice\n\nA locker costs 8 euros.",
        "b.md": "---\ndate: 2023-04-01\n---\n# Prices\n\nA locker costs 10 euros.",
    }
    with index_of(tmp_path, FEES | others) as kb:
        now, then = kb.ask("What is the membership fee?"), kb.ask("What was the fee in 2022?")
        periods = kb.ask("How many employees does Novex have?")
        plain, tied = kb.ask("How many apple trees are there?"), kb.ask("What does a locker cost?")
    assert now.text.startswith("2024-05-01: ")
    assert now.text.index("€35") < now.text.index("2022: ") < now.text.index("30 euros")
    assert then.text.startswith("2022: ")
    assert then.text.index("30 euros") < then.text.index("€35")
    values = "€35 (2024-05-01, Minutes of 12 March 2024); 30 euros (2022, Fees 2022)"
    assert now.notes == (f"The documents disagree: {values}",)
    assert not plain.notes
    (note,) = periods.notes
    assert note.startswith("The value depends on the date: 140 (2023, ")
    assert not tied.short
    assert tied.text.count("2023-04-01: ") == 2
