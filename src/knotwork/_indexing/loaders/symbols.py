"""Return the characters of fonts whose letters are signs: Symbol and Wingdings."""

from __future__ import annotations

_SYMBOL = dict(
    enumerate(
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
        "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
        0x20,
    )
) | dict(enumerate("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑", 0xA0))
_WINGDINGS = (
    {0x22: "✂", 0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x34: "✇", 0x3F: "✍", 0x4A: "☺", 0x4C: "☹"}
    | {0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0xA7: "▪", 0xA8: "☐"}
    | {0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨"}
    | {0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
    | {0x80 + n: sign for n, sign in enumerate("⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿")}
)
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
_PRIVATE = 0xF000
_CODES = range(0x100)


def symbol(text: str, font: str) -> str:
    """Return a text as a font shows it; a sign that is not known has no text."""
    signs = _FONTS.get(font.strip().lower())
    if signs is None or text.isspace():
        return text
    return "".join(
        signs.get(ord(c) % _PRIVATE, "") if ord(c) % _PRIVATE in _CODES else c for c in text
    )
