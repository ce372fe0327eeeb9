"""Mails are read whole: all texts, attached messages and files, mailboxes, invitations."""

import base64
from email.message import EmailMessage

import pytest
from tests.faults.small_files import ask, index_of, read
from tests.indexing.office_files import make_docx, make_zip, small_picture

from knotwork.records import BlockKind

HEAD = (
    "From: Ada <a@b.c>\nSubject: Crane\nDate: Mon, 4 May 2026 10:00:00 +0200\nMIME-Version: 1.0\n"
)
PLAIN = "Content-Type: text/plain; charset=utf-8\n\n"
HTML = "Content-Type: text/html; charset=utf-8\n\n"
BOOKED = "The crane is booked for 12 May. The driver is Jan, and he brings the two long ropes."


def parts(kind, *held):
    body = "".join(f"--{kind}\n{part}\n" for part in held)
    return f'Content-Type: multipart/{kind}; boundary="{kind}"\n\n{body}--{kind}--\n'


def encoded(kind, data, name=""):
    shown = f'Content-Disposition: attachment; filename="{name}"\n' if name else ""
    text = base64.encodebytes(data).decode()
    return f"Content-Type: {kind}\n{shown}Content-Transfer-Encoding: base64\n\n{text}"


def body_of(document):
    return document.text.partition("+0200\n\n")[2]


PICTURE = small_picture()
APPLE = parts(
    "mixed", PLAIN + "First.", encoded("image/png", b"\x89PNG\r\n\x1a\n"), PLAIN + "Second."
)


@pytest.mark.parametrize(
    ("held", "body"),
    [
        (parts("alternative", f"{PLAIN} \n\t\n", f"{HTML}<p>{BOOKED}</p>"), BOOKED),
        (parts("alternative", f"{PLAIN}Show me as HTML.", f"{HTML}<p>{BOOKED}</p>"), BOOKED),
        (
            parts("alternative", f"{PLAIN}请用网页版查看。", f"{HTML}<p>{'吊车已预订。' * 9}</p>"),
            "吊车已预订。" * 9,
        ),
        (parts("alternative", f"{PLAIN}{BOOKED}", f"{HTML}<p><b>{BOOKED}</b></p>"), BOOKED),
        (
            parts(
                "alternative",
                f"{PLAIN}\n",
                parts(
                    "related", f"{HTML}<style>x</style><p>{BOOKED}</p>", encoded("image/gif", b"x")
                ),
            ),
            BOOKED,
        ),
        *[
            (parts("alternative", PLAIN + notice, f"{HTML}<p>{shown}</p>"), shown)
            for notice, shown in (
                (
                    "To view this message, please use an HTML compatible email viewer.",
                    "The crane is booked for 12 May.",
                ),
                ("Ihr Mailprogramm kann keine HTML-Mails anzeigen.", "Der Kran kommt am 12. Mai."),
                ("您的邮件客户端不支持HTML。", "吊车已预订。"),
                ("This is a message in HTML format: https://a.b/c", "Yes."),
            )
        ],
        *[
            (parts("alternative", PLAIN + written, HTML + shown), written)
            for written, shown in (
                ("Yes.", "<p><b>Yes.</b></p><p>Ada</p>"),
                ("吊车已预订。", "<p>吊车已预订。</p>"),
                (BOOKED, '<img src="cid:x">'),
                (f"{BOOKED}\n\n{BOOKED * 9}", "<p>Sent by phone</p>"),
            )
        ],
        (APPLE, "First.\n\nSecond."),
        (
            parts("signed", PLAIN + "Yes.", encoded("application/pgp-signature", b"x", "s.asc")),
            "Yes.",
        ),
        (f"{PLAIN.replace('utf-8', 'x-none')}Gr\u00fc\u00dfe", "Gr\u00fc\u00dfe"),
        (
            'Content-Type: text/plain; format="flowed"\n\nIt opens at \nsix.\n\n> as I \n> said\n',
            "It opens at six.\n\n> as I said",
        ),
    ],
)
def test_every_text_of_a_mail_is_read(held, body):
    assert body_of(read("a.eml", HEAD + held)) == body


def test_attached_messages_are_sections():
    inner = "Content-Type: message/rfc822\n\nFrom: Bob\nSubject: Gate\n\nThe gate code is 4711."
    document = read("a.eml", HEAD + parts("mixed", f"{PLAIN}See below.", inner))
    assert body_of(document) == (
        "See below.\n\nAttachments: Gate\n\n## Gate\n\nFrom: Bob\n\nThe gate code is 4711."
    )
    assert [block.level for block in document.blocks if block.kind is BlockKind.SECTION] == [1, 2]


def mail_with(*files):
    message = EmailMessage()
    message["From"], message["Subject"] = "a@b.c", "Papers"
    message.set_content("See the papers.")
    for name, kind, data in files:
        maintype, subtype = kind.split("/")
        message.add_attachment(data, maintype=maintype, subtype=subtype, filename=name)
    return bytes(message)


def test_attached_files_are_read_below_their_names():
    table = b"name,price\nberth,43\npier,50\n"
    word = make_docx(lambda document: document.add_paragraph("The lock opens at six."))
    markdown = "# Preise\n\n## Jetzt\n\n- a\n- b\n\nSpäter.".encode()
    files = [
        ("Preise für Müller.md", "text/markdown", markdown),
        ("p.csv", "text/csv", table),
        ("a.docx", "application/octet-stream", word),
        ("winmail.dat", "application/ms-tnef", b"\x78\x9f\x3e\x22text"),
        ("smime.p7m", "application/pkcs7-mime", b"0\x80 text"),
    ]
    document = read("a.eml", mail_with(*files))
    assert (
        "Attachments: Preise für Müller.md, p.csv, a.docx, winmail.dat, smime.p7m" in document.text
    )
    assert (
        "## Preise für Müller.md\n\n### Preise\n\n#### Jetzt\n\n- a\n- b\n\nSpäter."
        in document.text
    )
    assert "## a.docx\n\nThe lock opens at six." in document.text
    assert document.metadata["unread"] == "2 attachments"
    (held,) = document.tables
    assert [document.text[slice(*span)] for span in held.spans] == [
        "| berth | 43 |",
        "| pier | 50 |",
    ]
    for block in document.blocks:
        if block.kind is BlockKind.SECTION:
            assert document.text[block.span.start :].startswith(
                "#" * block.level + f" {block.label}"
            )


def test_attachments_of_attachments_end_at_a_depth():
    mail = mail_with(("a.txt", "text/plain", b"Innermost."))
    for _ in range(6):
        mail = mail_with(("m.eml", "application/octet-stream", mail))
    document = read("a.eml", mail)
    assert "Innermost." not in document.text
    assert document.metadata["unread"] == "1 attachment"


def test_chinese_mails_of_old_programs():
    name = base64.b64encode("朱镕基".encode("gb18030")).decode()
    head = f"From: =?gb2312?B?{name}?= <a@b.c>\nContent-Type: text/plain; charset=gb2312\n".encode()
    data = head + "Subject: 港口会议\n\n朱镕基：港口在六点开放。".encode("gb18030")
    document = read("a.eml", data)
    assert document.title == "港口会议"
    assert document.metadata["author"] == "朱镕基 <a@b.c>"
    assert document.text.endswith("朱镕基：港口在六点开放。")


INVITATION = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Crane test\nDTSTART;TZID=Europe/Berlin:"
    "20260512T090000\nDTEND;TZID=Europe/Berlin:20260512T113000\nEND:VEVENT\nEND:VCALENDAR\n"
)


def test_an_invitation_is_read_once():
    invitation = f"Content-Type: text/calendar; method=REQUEST\n\n{INVITATION}"
    again = encoded("application/ics", INVITATION.encode(), "invite.ics")
    held = parts("mixed", parts("alternative", f"{PLAIN}Please come.", invitation), again)
    assert body_of(read("a.eml", HEAD + held)) == (
        "Please come.\n\n## Crane test\n\nWhen: 12 May 2026, 09:00 to 11:30 (Europe/Berlin)"
    )


BOX = (
    "From ada@b.c Mon May  4 10:00:00 2026\nSubject: Gate\nFrom: Ada\n\nThe gate code is 4711.\n\n"
    "From the harbour it is far.\n\n"
    "From bob@b.c Mon May  4 11:00:00 2026\nSubject: =?gb2312?B?uNu/2r+qt8U=?=\nFrom: Bob\n"
    "Content-Transfer-Encoding: base64\n\nVGhlIGxvY2sgb3BlbnMgYXQgc2l4Lg==\n\n"
    "From bob@b.c Mon May  4 11:00:00 2026\nSubject: Gate\nFrom: Bob\n\nThanks.\n"
)


def test_a_mailbox_is_a_folder_of_mails(tmp_path):
    with index_of(tmp_path, {"box.mbox": BOX, "one.mbox": HEAD + PLAIN + "Alone."}) as kb:
        names = sorted(document.uri.partition("files/")[2] for document in kb.documents())
        assert names[:3] == ["box.mbox/Gate (2).eml", "box.mbox/Gate.eml", "box.mbox/港口开放.eml"]
        assert names[3:] == ["one.mbox"]
        answer = kb.ask("What is the gate code?")
        assert "4711" in answer.text
        assert "box.mbox/Gate.eml" in answer.citations[0].document


@pytest.mark.parametrize("name", ["Inbox", "box.txt", "mail.eml"])
def test_a_mailbox_of_another_name_has_a_section_for_each_mail(name):
    document = read(name, BOX)
    sections = [block.label for block in document.blocks if block.level == 1]
    assert (sections[0], sections[2], len(sections)) == ("Gate", "Gate", 3)
    assert "The lock opens at six." in document.text
    assert "From the harbour it is far." in document.text


def test_a_text_that_begins_with_from_is_text():
    assert read("a.txt", "From Ada to Bob\nthe bridge is old.\n").media_type == "text/plain"


PAGE = (
    "Snapshot-Content-Location: https://a.b/\nSubject: Tides\nMIME-Version: 1.0\n"
    'Content-Type: multipart/related; type="text/html"; boundary="b"\n\n--b\n'
    "Content-Type: text/html\n"
    'Content-Transfer-Encoding: quoted-printable\n\n<meta charset=3D"gbk"><title>'
    "Tides</title><h1>Ebb"
    "</h1><p>High w=\nater is at 6 =E2=80=93 7.</p>\n--b\nContent-Type: image/png\n\nx\n--b--\n"
)


@pytest.mark.parametrize("name", ["a.mht", "a.mhtml", "a.eml", "page", "page.txt"])
def test_a_saved_web_page_is_a_web_page(name):
    for saved in (PAGE, "From: <Saved by Blink>\n" + PAGE):
        document = read(name, saved)
        assert (document.media_type, document.title) == ("text/html", "Tides")
        assert document.text == "# Ebb\n\nHigh water is at 6 – 7."


def test_questions_about_mails(tmp_path):
    files = {
        "a.eml": HEAD + parts("alternative", f"{PLAIN} ", f"{HTML}<p>{BOOKED}</p>"),
        "b.eml": mail_with(("p.md", "text/markdown", b"The berth costs 43 euros a night.")),
    }
    booked, cost = ask(tmp_path, files, "When is the crane booked?", "What does the berth cost?")
    assert "12 May" in booked
    assert "43 euros" in cost


@pytest.mark.parametrize("name", ["", "a.eml"])
def test_attached_messages_may_be_encoded(name):
    inner = f"From: Bob <b@c.d>\nSubject: Inner\n{parts('mixed', f'{PLAIN}{BOOKED}')}".encode()
    held = encoded("message/rfc822", inner, name)
    document = read("a.eml", HEAD + parts("mixed", f"{PLAIN}See below.", held))
    assert f"Inner\n\nFrom: Bob <b@c.d>\n\n{BOOKED}" in document.text
    assert "Attachments: " + (name or "Inner") in document.text


def test_figures_that_only_html_has_are_read():
    said = "The prices of the berths are below. They hold until the end of December."
    table = (
        "<table><tr><th>Berth</th><th>Price</th></tr><tr><td>North</td><td>450</td></tr></table>"
    )
    held = parts("alternative", f"{PLAIN}{said}\n[table]", f"{HTML}<p>{said}</p>{table}")
    assert "| North | 450 |" in read("m.eml", HEAD + held).text


def test_reports_on_the_delivery_are_read():
    status = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nAction: failed\n"
    external = (
        "Content-Type: message/external-body; access-type=URL\n\nContent-Type: text/plain\n\n"
    )
    document = read("m.eml", HEAD + parts("report", f"{PLAIN}Sorry.", status, external))
    assert "Sorry.\n\nReporting-MTA: dns; x\n\nAction: failed" in document.text
    assert document.metadata["unread"] == "1 attachment"


ARMOUR = (
    "\n\n" + "hQEMA1v6rVU0HbMTAQf/XYZabcd1234567890abcdefghijklmnopqrstuvwxyzAB\n" * 2 + "=abcd\n"
)


def test_armour_of_pgp_is_no_text():
    sealed = f"-----BEGIN PGP MESSAGE-----{ARMOUR}-----END PGP MESSAGE-----\n"
    signed = (
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nThe code is 4711.\n"
        f"-----BEGIN PGP SIGNATURE-----{ARMOUR}-----END PGP SIGNATURE-----\n"
    )
    document = read("m.eml", f"{HEAD}{PLAIN}Hello.\n\n{sealed}\n{signed}")
    assert body_of(document) == "Hello.\n\nThe code is 4711."
    assert document.metadata["unread"] == "1 encrypted text"


def test_the_files_of_an_attached_archive_are_sections():
    files = make_zip({"in/rope.txt": "The rope has 30 metres.", "x.bin": bytes(range(256))})
    held = parts("mixed", f"{PLAIN}See.", encoded("application/zip", files, "all.zip"))
    document = read("m.eml", HEAD + held)
    assert "## all.zip\n\n### in/rope.txt\n\nThe rope has 30 metres." in document.text
    assert document.metadata["unread"] == "1 attachment"
