"""Forecasts of the number of chunks of a run."""

from knotwork._indexing.prepare import SourceFile
from knotwork._indexing.run import ChunkForecast


def source(uri, size):
    return SourceFile(uri, lambda: None, size=size)


def test_formats_are_guessed_apart_before_any_file_is_read():
    forecast = ChunkForecast()
    forecast.expect(source("a.md", 100_000))
    assert forecast.total == 100
    forecast.expect(source("b.PDF", 1_000_000))
    assert forecast.total == 150


def test_files_that_are_read_say_what_others_of_their_format_will_make():
    forecast = ChunkForecast()
    files = [source(f"{n}.txt", 1_000_000) for n in range(10)]
    for file in files:
        forecast.expect(file)
    for file in files[:5]:
        forecast.note(file, 100)
    assert 1_000 <= forecast.total < 1_050
    for file in files[5:]:
        forecast.note(file, 0)
    assert forecast.total == 500


def test_a_file_that_was_not_expected_counts_once_it_is_read():
    forecast = ChunkForecast()
    forecast.note(source("a.txt", 10), 3)
    assert forecast.total == 3


def test_files_without_a_size_do_no_harm():
    forecast = ChunkForecast()
    forecast.expect(source("a", 0))
    assert forecast.total == 0
    forecast.note(source("a", 0), 2)
    assert forecast.total == 2
