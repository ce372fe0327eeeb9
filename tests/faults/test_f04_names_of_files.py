"""What only the name, the folder or the front matter of a file says is found."""

import pytest

from .small_files import ask, index_of, read

PHONE = "Phone: 555-0142\nBirthday: 3 May\n"
STATUS = "## Status\nThe array waits for parts.\n\n## Next\nOrder the mast.\n"


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("notes/People/Jane Doe.md", PHONE, "Jane Doe"),
        ("notes/jane_doe.md", PHONE, "jane doe"),
        ("notes/jane-doe.md", "# Contact\n" + PHONE, "jane doe"),
        ("notes/Jane%20Doe.md", PHONE, "Jane Doe"),
        ("notes/Dr. Jane Doe.md", PHONE, "Dr. Jane Doe"),
        ("notes/Ka\u0308the.md", PHONE, "Käthe"),
        ("notes/张三.md", "电话：555\n", "张三"),
        ("会议纪要2026年5月.md", "出席：张三、李四\n决定：购买吊车\n", "会议纪要2026年5月"),
        ("notes/张三/联系方式.md", "电话：555\n", "张三 (联系方式)"),
        ("notes/Jane Doe/contact.md", PHONE, "Jane Doe (contact)"),
        ("notes\\Jane Doe\\contact.md", PHONE, "Jane Doe (contact)"),
        ("Jane Doe/README.md", PHONE, "Jane Doe"),
        ("https://a.example/staff/jane-doe/index.html", "<p>Phone: 5</p>", "jane doe"),
        ("notes/n1.md", f"---\naliases: [Jane Doe]\n---\n{PHONE}", "Jane Doe"),
        ("notes/Jane Doe.md", f"---\naliases:\n- J. Fox\n---\n{PHONE}", "Jane Doe (J. Fox)"),
        ("notes/Lantern Array 2026.md", STATUS, "Lantern Array 2026"),
        ("notes/Lantern Array 2026.md", STATUS[1:], "Lantern Array 2026"),
        ("notes/LanternArray2026.md", STATUS, "Lantern Array 2026"),
        ("notes/Tidewell/lease.txt", "The berth is let.", "lease (Tidewell)"),
        ("notes/Invoice 8841 Tidewell.txt", "Total: 300\nDue: 3 May\n", "Invoice 8841 Tidewell"),
        ("notes/Jane Doe d3b07384d113edec49eaa6238ad5ff00.md", PHONE, "Jane Doe"),
        ("Jane%20Doe%20d3b07384d113edec49eaa6238ad5ff00/contact.md", PHONE, "Jane Doe (contact)"),
        ("notes/C++.md", STATUS, "C++"),
        ("notes/C#.md", STATUS, "C#"),
        ("notes/S7-1200.md", STATUS, "S7-1200"),
        ("notes/Jane Doe/phone.md", PHONE, "phone (Jane Doe)"),
        ("notes/Jane Doe/birthday.md", "Birthday: 3 May\nPhone: 5\n", "birthday (Jane Doe)"),
        ("notes/张三/电话.md", "电话：555\n", "电话 (张三)"),
        ("notes/Grün\u00adwerk.md", PHONE, "Grünwerk"),
        ("notes/n1.md", f"---\nname: Jane Doe\n---\n{PHONE}", "Jane Doe"),
        ("notes/n1.md", f"---\nname: make-pdf\n---\n# Make a file\n{PHONE}", "Make a file"),
        ("notes/bill_tidewell.txt", "ACME\n\nThe total is 300.", "ACME (bill tidewell)"),
    ],
)
def test_a_name_that_reads_as_words_is_the_title(name, text, title):
    assert read(name, text).title == title


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("notes/IMG_2041.md", STATUS, "Status"),
        ("notes/scan0001.md", STATUS, "Status"),
        ("notes/a.md", STATUS, "Status"),
        ("notes/report_final_v2.md", STATUS, "Status"),
        ("notes/3f2a9c77d0e1.md", STATUS, "Status"),
        ("docs/install/linux.md", "# Linux\nInstall the package.\n", "Linux"),
        (
            "docs/runtime-config-client.md",
            "# Defaults of connections\nText.\n",
            "Defaults of connections",
        ),
        (
            "notes/harbour-office.txt",
            "The Harbour Office\n\nIt opens at seven.",
            "The Harbour Office",
        ),
        ("notes/papers/a.md", "# Heron\nA bird.\n", "Heron"),
        ("notes/a.txt", "Bram Ostrand\n\nHe is the head.", "Bram Ostrand"),
    ],
)
def test_other_names_and_slugs_beside_headings_add_nothing(name, text, title):
    assert read(name, text).title == title


def test_questions_find_the_file_by_its_name(tmp_path):
    other = PHONE.replace("0142", "0199")
    files = {
        "People/Jane Doe.md": PHONE,
        "People/Max Berg.md": other,
        "Ada Lind/contact.md": PHONE.replace("0142", "0123"),
        "n2.md": f"---\naliases: [Cid Rosen]\n---\n{PHONE.replace('0142', '0177')}",
    }
    answers = ask(
        tmp_path,
        files,
        "What is Jane Doe's phone number?",
        "What is Max Berg's phone number?",
        "What is Ada Lind's phone number?",
        "What is Cid Rosen's phone number?",
    )
    numbers = ("0142", "0199", "0123", "0177")
    assert all(number in answer for number, answer in zip(numbers, answers, strict=True))


def test_numbers_in_names_distinguish_files(tmp_path):
    files = {
        "Flat 12/keys.md": "Door code: 7741\n",
        "Flat 14/keys.md": "Door code: 2093\n",
        "Room 3.txt": "Seats: 20\nLamps: 4\n",
        "Room 7.txt": "Seats: 48\nLamps: 9\n",
        "Q1 2025 report.md": "Revenue: 12 million\nStaff: 40\n",
        "Q3 2025 report.md": "Revenue: 17 million\nStaff: 44\n",
    }
    answers = ask(
        tmp_path,
        files,
        "What is the door code of flat 14?",
        "How many seats does room 7 have?",
        "What was the revenue in Q3 2025?",
    )
    for answer, said, other in zip(
        answers, ("2093", "48", "17"), ("7741", "20", "12"), strict=True
    ):
        assert said in answer
        assert other not in answer


def test_tags_of_front_matter_are_part_of_the_text(tmp_path):
    files = {
        "lifting.md": "---\ntags: [crane, harbour]\n---\nThe gear is checked each May.\n",
        "other.md": "---\ntags:\n  - kitchen\n---\nThe oven is cleaned weekly.\n",
    }
    assert read("a.md", files["lifting.md"]).text.endswith("\n\nTags: crane, harbour")
    with index_of(tmp_path, files) as kb:
        assert kb.search("crane").hits[0].chunk.document_title == "lifting"
        assert "May" in kb.ask("When is the crane checked?").text
