"""Stops of abbreviations, initials and ordinals do not end a sentence."""

import pytest

from knotwork._text.sentences import split_sentences

from .small_files import ask

TEXTS = [
    ["Dr. Müller ist z. B. am Mo. erreichbar.", "Er wohnt in Ulm."],
    ["Siehe Nr. 5 und Abs. 2 des Gesetzes.", "Der Rest folgt."],
    ["Gem. Art. 5 Abs. 1 S. 2 GG gilt das.", "Der Satz endet."],
    ["Das gilt bzw. galt ca. 3 Jahre, d. h. lange.", "Danach nicht."],
    ["Äpfel, Birnen usw.", "Danach kamen sie."],
    ["Am 3. Mai 2024 kam er im 19. Jahrhundert an.", "Am 4. Juni ging er."],
    ["Ende Dez. 2023 war u. a. Ulm dabei.", "Tel. 0731 555 ist neu."],
    ["Käthe arbeitet bei der Grünwerk GmbH.", "Nguyễn arbeitet in Ulm."],
    ["Sie sagte: „Es ist zu.“", "Dann ging sie."],
    ["The choices are t or n.", "Leading spaces are ignored."],
    ["M. Dupont habite p. ex. à Lyon.", "Il est parti."],
    ["Mme. Curie et al. ont publié l'art. 5 de la loi.", "Cf. p. 12."],
    ["J. R. R. Tolkien wrote it.", "He lived in Oxford."],
    ["See No. 5 on p. 3.", "The rest follows."],
    ["Use a tool, e.g. Python, i.e. a language.", "It is approx. 5 MB."],
    ["Smith vs. Jones was heard at 5 p.m. on Friday.", "The gate closes at 8 p.m."],
    ["The width is 3 ft.", "It fits."],
    ['He said "It is closed."', "Then he left."],
    ["(See Fig. 3.)", "[It was moved.]", "Now it is gone."],
    ["他说：“门关了。”", "然后他走了。"],
    ["Prof. Dr. med. Ing. Berg ist da.", "Herr Dipl.-Kfm. Lind kommt."],
    ["Der Vertrag v. 3. 5. 2024 gilt.", "Am 12. 5. war Schluss.", "Er kam am 13. 6.", "Es war so."],
    ["Gem. § 5 i. V. m. § 7 gilt das.", "Das gilt gem. § 8 nicht.", "§ 9 gilt."],
    ["Die Fa. Müller liefert in die Hauptstr. 5 in Ulm.", "Anna Berg geb. Lind kommt."],
    ["Das kostet inkl. MwSt. 30 Euro.", "Es hat 5 Mio. Einwohner, bald 6 Mio.", "Das ist viel."],
    ["Der 1. FC Ulm gewann am 3. Spieltag.", "Er wurde am 3. Renntag Zweiter."],
    ["Il habite 5 av. Foch.", "L'article n. 5 reste.", "Vive en Av. Juárez 5.", "Es alta."],
    ["It is vitamin C.", "Eat it.", "We have a plan B.", "Everyone likes it."],
    ["I am 12.", "Mary is 5.", "The total is 12.", "Tidewell paid."],
    ["It was written by Franklin D. Roosevelt.", "A gem.", "I love it."],
]


@pytest.mark.parametrize("sentences", TEXTS)
def test_sentences_end_at_their_own_stops(sentences):
    text = " ".join(sentences)
    assert [text[span.start : span.end] for span in split_sentences(text)] == sentences


def test_many_dates_in_one_line_take_linear_time():
    text = "12. 5. " * 50_000
    assert len(split_sentences(text)) < len(text) / 100


def test_an_answer_is_not_cut_at_an_abbreviation(tmp_path):
    files = {"a.txt": "Dr. Müller ist z. B. am Mo. erreichbar.\n\nThe harbour is north of town.\n"}
    (answer,) = ask(tmp_path, files, "Wann ist Dr. Müller erreichbar?")
    assert "z. B. am Mo. erreichbar." in answer.replace("**", "")
