"""Results say where a passage is on a scanned page, and when it is spoken, also to tools."""

from knotwork._extensions.adapters.metadata import passage_metadata
from knotwork._extensions.mcp.results import to_answer_result
from knotwork.records import Answer, Citation, PageBox, Span, TimeSpan

SCANNED = Citation(
    1, "lease.pdf", "Lease", "", "3", Span(4, 9), "1,450", "c1", 0.5,
    box=PageBox("3", 0.1, 0.2, 0.4, 0.25),
)  # fmt: skip
SPOKEN = Citation(
    2, "talk.mp3", "Talk", "", "", Span(0, 4), "Well", "c2", 0.4, time=TimeSpan(61.5, 63.0)
)


def test_the_metadata_of_adapters_have_box_and_times():
    scanned, spoken = map(passage_metadata, (SCANNED, SPOKEN))
    assert (scanned["page"], scanned["box"], scanned["start_s"]) == (
        "3",
        [0.1, 0.2, 0.4, 0.25],
        None,
    )
    assert (spoken["box"], spoken["start_s"], spoken["end_s"]) == (None, 61.5, 63.0)


def test_the_sources_of_the_tool_ask_have_box_and_times():
    answer = Answer("What?", "1,450 [1] well [2]", answered=True, citations=(SCANNED, SPOKEN))
    scanned, spoken = to_answer_result(answer)["sources"]
    assert (scanned["page"], scanned["box"]) == ("3", [0.1, 0.2, 0.4, 0.25])
    assert (spoken["box"], spoken["start_s"]) == (None, 61.5)
