"""Recordings: their sound, what is heard in it, and when it is said."""

import socket
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from tests.indexing.loading import load
from tests.indexing.sound_files import (
    CODECS,
    ScriptedTranscriber,
    silent_video,
    sound_file,
    tone,
    words,
)

import knotwork
from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.media import sound, speech
from knotwork._extensions.media.speech import Word, spoken_words, timely_words, utterances
from knotwork._indexing.loaders.loader import Source
from knotwork.errors import LoadError
from knotwork.records import Span, TimeSpan
from knotwork.testing import HashingEmbedder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not speech.is_available(), reason="the extra `audio` is not installed"),
]
MUMBLED = "first turn the bicycle over, open the brake, take the wheel out, find the hole, close it"
SAID = "The stone bridge opened in 1784. It has 900 lamps."


@pytest.fixture
def hearing(monkeypatch):
    """Return a function that sets what is heard in the next files."""

    def hear(*script, **options):
        transcriber = ScriptedTranscriber(list(script), **options)
        monkeypatch.setattr(speech, "open_transcriber", lambda source: transcriber)
        return transcriber

    return hear


def failure(name, data, **options):
    with pytest.raises(LoadError) as caught:
        load(name, data, **options)
    assert name in caught.value.message
    return caught.value


def spans(document):
    return [
        (document.text[slice(*timed.span)], timed.start_s, timed.end_s) for timed in document.times
    ]


def pitch(samples):
    """Return the loudest frequency in hertz."""
    loudness = np.abs(np.fft.rfft(samples))
    return float(np.argmax(loudness) * sound.SAMPLE_RATE / len(samples))


@pytest.mark.parametrize("suffix", CODECS)
def test_every_format_is_decoded(suffix, hearing):
    transcriber = hearing([words(SAID)])
    document = load(f"a{suffix}", sound_file(tone(3.0, 523.0), suffix))
    ((samples, _),) = transcriber.heard
    assert samples.dtype == np.float32
    assert abs(len(samples) / sound.SAMPLE_RATE - 3.0) < 0.15
    assert abs(pitch(samples) - 523.0) < 2
    assert 0.25 < np.abs(samples).max() < 0.4
    assert document.text == SAID
    assert document.media_type.startswith("audio/")
    assert document.metadata["duration"] in {"0:02", "0:03"}
    assert len(document.metadata) == 1


def test_a_video_is_read_by_its_sound(hearing):
    hearing([words(SAID)])
    document = load("a.mp4", sound_file(tone(2.0), ".mp4", pictures=True))
    assert (document.text, document.media_type) == (SAID, "video/mp4")


def test_the_content_decides_the_format(hearing):
    hearing([words(SAID)])
    assert load("a.mp3", sound_file(tone(1.0), ".wav")).media_type == "audio/wav"
    assert load("a.wav", sound_file(tone(1.0), ".ogg")).media_type == "audio/ogg"
    for suffix in (".mp3", ".flac", ".ogg"):
        assert load("notes.txt", sound_file(tone(1.0), suffix)).text == SAID
    assert load("a.txt", "ID3 tags name the title of a recording.").media_type == "text/plain"


def test_tags_are_the_title_and_metadata(hearing):
    hearing([words(SAID)])
    tags = {"title": "The bridges of Tartu", "artist": "Ada Ostrand", "date": "2024"}
    document = load("a.mp3", sound_file(tone(1.0), ".mp3", tags=tags))
    assert document.title == "The bridges of Tartu"
    assert document.metadata["author"] == "Ada Ostrand"
    assert document.metadata["date"] == "2024"


def test_each_sentence_has_the_time_of_its_words(hearing):
    said = words("The bridge is e.g. of stone. It has 4.5 metres and Dr. Varep built it. Yes.", 2.0)
    document = load_said(hearing, said)
    assert spans(document) == [
        ("The bridge is e.g. of stone.", 2.0, 5.0),
        ("It has 4.5 metres and Dr. Varep built it.", 5.0, 9.5),
        ("Yes.", 9.5, 10.0),
    ]
    start = document.text.index("Dr. Varep")
    assert document.time_of(Span(start, start + 9)) == TimeSpan(5.0, 9.5)


def load_said(hearing, *parts):
    hearing(list(parts))
    return load("a.wav", sound_file(tone(0.2), ".wav"))


def test_a_sentence_goes_on_in_the_next_part(hearing):
    document = load_said(
        hearing, words("The pump was", 0.0), words("repaired in May. It runs.", 1.5)
    )
    assert spans(document) == [
        ("The pump was repaired in May.", 0.0, 3.0),
        ("It runs.", 3.0, 4.0),
    ]


def test_a_pause_divides_speech_without_marks(hearing):
    document = load_said(hearing, words("so the pump runs | and then it stops"))
    assert document.text == "so the pump runs and then it stops"
    assert spans(document) == [("so the pump runs", 0.0, 2.0), ("and then it stops", 3.0, 5.0)]


def test_a_very_long_sentence_is_parted_at_its_pauses(hearing):
    document = load_said(hearing, words(f"{MUMBLED} | {MUMBLED} now."))
    assert document.text == f"{MUMBLED}\n\n{MUMBLED} now."
    assert [(t.start_s, t.end_s) for t in document.times] == [(0.0, 8.5), (9.5, 18.5)]


def test_a_short_pause_behind_a_comma_begins_a_part_with_its_time(hearing):
    """The model may write two sentences as one, with a comma between them."""
    said = [*words("It rains, tea", 0.0), *words("is hot,", 1.9), *words("we wait now.", 3.2)]
    document = load_said(hearing, said)
    assert document.text == "It rains, tea is hot, we wait now."
    assert spans(document) == [
        ("It rains, tea is hot,", 0.0, 2.9),
        ("we wait now.", 3.2, 4.7),
    ]


def test_a_long_sentence_has_times_at_short_pauses_and_no_more_paragraphs(hearing):
    document = load_said(hearing, words(MUMBLED, 0.0), words(f"{MUMBLED} now.", 8.8))
    assert document.text == f"{MUMBLED} {MUMBLED} now."
    assert [(t.start_s, t.end_s) for t in document.times] == [(0.0, 8.5), (8.8, 17.8)]


def test_a_stop_and_a_pause_end_a_sentence_even_before_a_small_letter(hearing):
    document = load_said(hearing, words("It protects them from the sun. | water it. on Monday."))
    assert document.text == "It protects them from the sun. Water it. on Monday."
    assert [(t.start_s, t.end_s) for t in document.times] == [(0.0, 3.0), (4.0, 6.0)]


def test_the_times_of_words_leave_out_silence():
    stretched = [Word(" It", 0.0, 1.0), Word(" runs.", 1.0, 2.8), Word(" Now", 2.8, 4.6)]
    voiced = [(0.6, 1.5), (4.0, 9.0)]
    assert [w[1:] for w in timely_words(stretched, voiced, start_s=100.0)] == [
        (100.6, 101.0),
        (101.0, 101.5),
        (104.0, 104.6),
    ]
    assert list(timely_words(stretched, [], start_s=0.0)) == stretched
    assert list(timely_words(stretched[1:2], [(5.0, 6.0)], start_s=0.0)) == stretched[1:2]


@pytest.mark.parametrize(
    ("detected", "asked", "heard"),
    [
        ("en", "", [(None, None)]),
        ("zh", "", [(None, None), ("zh", True)]),
        ("zh", "zh", [("zh", True)]),
    ],
)
def test_chinese_is_heard_with_an_example_of_marks_and_script(detected, asked, heard, monkeypatch):
    calls = []

    class Model:
        def transcribe(self, samples, *, language, hotwords, **options):
            calls.append((language, "，" in hotwords if hotwords else None))
            return iter([]), SimpleNamespace(language=detected, language_probability=0.9)

    monkeypatch.setattr(speech, "_voiced", lambda samples: [])
    found = speech._Whisper(Model()).hear(np.zeros(9, np.float32), asked)
    assert (found.language, calls) == (detected, heard)


def test_the_example_of_chinese_is_not_text():
    echoed = [Word("以下是普通话的句子，", 0.0, 1.0), Word("有标点符号。", 1.0, 2.0)]
    assert list(spoken_words([echoed])) == []


def test_chinese_has_no_spaces_between_sentences(hearing):
    said = [Word(text, n / 2, n / 2 + 0.5) for n, text in enumerate("石桥建成了。它有灯。")]
    document = load_said(hearing, said)
    assert document.text == "石桥建成了。它有灯。"
    assert spans(document) == [("石桥建成了。", 0.0, 3.0), ("它有灯。", 3.0, 5.0)]
    assert document.language == "zh"


def test_unattributed_lines_are_left_out(hearing):
    document = load_said(
        hearing,
        words("[Music]"),
        words("The pump runs."),
        words("Thank you for watching!"),
        words("(applause)"),
        words("Subtitles by the Amara.org community"),
        words("It stops [sic] at night."),
        [Word("字幕由Amara.org社群提供", 9.0, 9.5)],
        words("你 " * 200),
    )
    assert document.text == "The pump runs. It stops [sic] at night."


def test_a_phrase_that_is_repeated_without_end_is_kept_once():
    looped = words("Now listen. " + "and so on, and so forth " * 9 + "The pump runs.")
    (text,) = ["".join(word.text for word in spoken_words([looped]))]
    assert text == " Now listen. and so on, and so forth The pump runs."
    spoken = words("Yes, yes, yes, yes. 1 2 3 4 5 6 7 8 9 10 11 12.")
    assert list(spoken_words([spoken])) == spoken


def test_equal_sentences_in_succession_are_kept_twice():
    said = [Word(" No.", n, n + 0.5) for n in range(9)] + words("It runs.", 20.0)
    assert [u.text for u in utterances(said)] == ["No.", "No.", "It runs."]


def test_long_recordings_are_read_in_pieces_that_end_at_quiet_moments(hearing, monkeypatch):
    monkeypatch.setattr(sound, "PIECE_S", 10.0)
    monkeypatch.setattr(sound, "_LAST_S", 4.0)
    transcriber = hearing([words("One bridge.", 1.0)], [words("Two pumps.", 1.0)], [words("End.")])
    loud = np.concatenate([tone(7.5), np.zeros(8_000, np.float32), tone(8.0), tone(4.0)])
    document = load("a.flac", sound_file(loud, ".flac"))
    lengths = [len(samples) / sound.SAMPLE_RATE for samples, _ in transcriber.heard]
    assert len(lengths) == 3
    assert 7.5 < lengths[0] < 8.0
    assert abs(sum(lengths) - 20.0) < 0.01
    (_, first, second, third) = (0, *(timed.start_s for timed in document.times))
    assert first == 1.0
    assert abs(second - (lengths[0] + 1.0)) < 0.001
    assert abs(third - (lengths[0] + lengths[1])) < 0.001


def test_a_gap_in_the_times_of_a_file_moves_what_follows(hearing):
    transcriber = hearing([words("One bridge.")], [words("Two pumps.")])
    document = load("a.mkv", sound_file(tone(2.0), ".mkv", start_s=(0.0, 60.0)))
    assert len(transcriber.heard) == 2
    first, second = document.times
    assert first.start_s == 0.0
    assert abs(second.start_s - 60.0) < 0.2
    assert document.metadata["duration"] == "1:02"


def test_a_piece_of_uncertain_language_is_read_in_the_language_before_it(hearing, monkeypatch):
    monkeypatch.setattr(sound, "PIECE_S", 1.0)
    monkeypatch.setattr(sound, "_LAST_S", 0.0)
    transcriber = hearing(
        *([words(f"Part {n}.")] for n in range(5)),
        languages=[("cy", 0.3), ("en", 0.9), ("cy", 0.4), ("zh", 0.9), ("nn", 0.2)],
    )
    load("a.wav", sound_file(tone(5.0), ".wav"))
    asked = [language for _, language in transcriber.heard]
    assert asked == ["", "", "", "en", "", "", "zh"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("text.mp3", b"This is no recording, but a text. " * 20),
        ("header.wav", sound_file(tone(1.0), ".wav")[:44] if speech.is_available() else b""),
        ("noise.wav", np.random.default_rng(7).bytes(5_000)),
        ("half.m4a", sound_file(tone(2.0), ".m4a")[:9_000] if speech.is_available() else b""),
        ("list.mp3", b"ffconcat version 1.0\nfile '/etc/hostname'\n"),
        ("call.wav", b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nm=audio 9000 RTP/AVP 0\n"),
    ],
)
def test_a_file_that_is_no_recording_is_reported(name, data, hearing):
    hearing([words(SAID)])
    error = failure(name, data)
    assert error.reason == "broken"
    assert "recording" in error.message or "sound" in error.message


def test_a_playlist_opens_no_file_and_no_connection(hearing):
    hearing([words(SAID)])
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/a.ts"
        lists = f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{there}\n#EXT-X-ENDLIST\n"
        for name in ("a.mp3", "a.mp4", "a.wav"):
            assert failure(name, lists).reason == "broken"
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_video_without_sound_and_sound_without_speech_say_so(hearing):
    hearing([])
    assert "has no sound" in failure("a.mp4", silent_video()).message
    error = failure("a.wav", sound_file(np.zeros(16_000, np.float32), ".wav"))
    assert error.reason == "no_text"
    assert "No speech" in error.message


def test_a_recording_that_is_cut_off_is_read_and_reported(hearing, tmp_path):
    hearing([words(SAID)])
    (tmp_path / "docs").mkdir()
    whole = sound_file(tone(20.0), ".flac")
    (tmp_path / "docs" / "a.flac").write_bytes(whole[: len(whole) // 2])
    with knotwork.open(tmp_path / "a.knot", embedding_model="none", index_workers=0) as kb:
        report = kb.index(tmp_path / "docs")
    (note,) = [note for note in report.notes if "a.flac" in note]
    assert "should be 0:20" in note
    assert report.added == 1


def test_damaged_packets_are_left_out(hearing):
    transcriber = hearing([words(SAID)])
    data = bytearray(sound_file(tone(20.0), ".mp3"))
    data[30_000:34_000] = bytes(4_000)
    load("a.mp3", bytes(data))
    heard_s = len(transcriber.heard[0][0]) / sound.SAMPLE_RATE
    assert 17.0 < heard_s < 20.1


def test_numbers_that_are_no_sound_become_silence(hearing):
    transcriber = hearing([words(SAID)])
    values = np.array([np.nan, np.inf, -np.inf, 1e30, 0.5] * 4_000, "<f4").tobytes()
    form = struct.pack("<HHIIHH", 3, 1, 16_000, 64_000, 4, 32)
    data = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(values))
    load("a.wav", b"RIFF" + struct.pack("<I", len(data) + len(values)) + data + values)
    ((samples, _),) = transcriber.heard
    assert len(samples) == 20_000
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() == 1.0


def test_a_recording_has_a_longest_length(hearing, monkeypatch):
    hearing([words(SAID)])
    monkeypatch.setattr(sound, "LONGEST_S", 5.0)
    error = failure("a.flac", sound_file(np.zeros(6 * 16_000, np.float32), ".flac"))
    assert error.reason == "too_large"
    assert (
        failure("a.mkv", sound_file(tone(1.0), ".mkv", start_s=(0.0, 60.0))).reason == "too_large"
    )


def test_recognition_stops_between_pieces_and_parts(hearing, monkeypatch):
    monkeypatch.setattr(sound, "PIECE_S", 1.0)
    cancellation = Cancellation()
    taken = []

    def parts():
        for number in range(5):
            taken.append(number)
            if number == 2:
                cancellation.cancel()
            yield words(f"Part {number}.")

    hearing(parts())
    with cancellation.scope(), pytest.raises(Cancelled):
        load("a.wav", sound_file(tone(9.0), ".wav"))
    assert taken == [0, 1, 2]


def test_without_the_extra_a_recording_names_it(monkeypatch):
    monkeypatch.setattr(speech, "is_available", lambda: False)
    error = failure("a.wav", sound_file(tone(1.0), ".wav"))
    assert error.reason == "unsupported"
    assert "`audio`" in error.message
    assert "pip install 'knotwork[audio]'" in error.fix


def test_without_a_model_a_recording_names_the_setting(tmp_path):
    data = sound_file(tone(1.0), ".wav")
    (tmp_path / "model.bin").write_bytes(b"no model")
    for folder, problem in [
        ("", "`index.audio_model` names none"),
        (str(tmp_path / "gone"), "gone', which `index.audio_model` names, is not a folder"),
        (str(tmp_path), "has no config.json, no tokenizer.json, no vocabulary"),
    ]:
        error = failure("a.wav", data, audio_model=folder)
        assert error.reason == "unsupported"
        assert problem in error.message
        assert "index.audio_model" in error.fix
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        (tmp_path / name).write_text("{}")
    assert "cannot be loaded" in failure("a.wav", data, audio_model=str(tmp_path)).message


def test_the_setting_reaches_the_loader(tmp_path, monkeypatch):
    seen = []

    def opened(source):
        seen.append(source.audio_model)
        return ScriptedTranscriber([[words(SAID, 61.0)]])

    monkeypatch.setattr(speech, "open_transcriber", opened)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.mp3").write_bytes(sound_file(tone(1.0), ".mp3"))
    settings = {"index_workers": 0, "index_audio_model": str(tmp_path / "model")}
    with knotwork.open(tmp_path / "a.knot", embedder=HashingEmbedder(32), **settings) as kb:
        assert kb.index(tmp_path / "docs").added == 1
        citation = kb.ask("When did the stone bridge open?").citations[0]
    assert seen == [str(tmp_path / "model")]
    assert "1784" in citation.quote
    assert citation.time == TimeSpan(61.0, 66.0), "no reader: that of the whole piece"


def test_a_source_has_no_model_by_default():
    assert Source("a.wav", b"").audio_model == ""
