"""Write numbers of lists and notes in the forms that pages show: 4, d, IV, 四, ④."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from knotwork._text.numbers import SMALL_NUMBERS

_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_MOST_ROMAN, _MOST_WORDED, _MOST_LETTERS = 3_999, 99_999, 780
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_HAN, _LEGAL = ("〇一二三四五六七八九", "十百千万"), ("零壹贰叁肆伍陆柒捌玖", "拾佰仟万")


def roman(number: int) -> str:
    """Return a number in small Roman numerals."""
    if not 0 < number <= _MOST_ROMAN:
        return str(number)
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def letters(number: int, alphabet: str = _LATIN) -> str:
    """Return a, b, …, z, aa, bb, …, as word processors count."""
    if not 0 < number <= _MOST_LETTERS:
        return str(number)
    repeated, place = divmod(number - 1, len(alphabet))
    return alphabet[place] * (repeated + 1)


def chinese(number: int, signs: tuple[str, str] = _HAN) -> str:
    """Return a number in Chinese numerals, as in 二十一."""
    digits, units = signs
    if not 0 < number <= _MOST_WORDED:
        return digits[0] if number == 0 else str(number)
    written = ""
    for place, digit in enumerate(map(int, reversed(str(number)))):
        if digit:
            written = digits[digit] + (units[place - 1] if place else "") + written
        elif written and written[0] not in "〇零":
            written = "零" + written
    return written.removeprefix("一") if signs is _HAN and 10 <= number < 20 else written


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _cycle(signs: str) -> Callable[[int], str]:
    return lambda number: signs[(number - 1) % len(signs)] if number > 0 else str(number)


def _digits(signs: str) -> Callable[[int], str]:
    return lambda number: "".join(signs[int(d)] if d.isdigit() else d for d in str(number))


def _listed(signs: Sequence[str]) -> Callable[[int], str]:
    return lambda number: signs[number - 1] if 0 < number <= len(signs) else str(number)


_ORDINALS = (
    "First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth "
    "Fourteenth Fifteenth Sixteenth Seventeenth Eighteenth Nineteenth Twentieth"
)
_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "lowerLetter": letters,
    "upperLetter": lambda n: letters(n).upper(),
    "lowerRoman": roman,
    "upperRoman": lambda n: roman(n).upper(),
    "decimalZero": lambda n: f"{n:02d}",
    "numberInDash": lambda n: f"- {n} -",
    "ordinal": _ordinal,
    "cardinalText": _listed([word.title() for word in SMALL_NUMBERS[1:]]),
    "ordinalText": _listed(_ORDINALS.split()),
    "russianLower": lambda n: letters(n, _RUSSIAN),
    "russianUpper": lambda n: letters(n, _RUSSIAN).upper(),
    "ideographTraditional": _cycle("甲乙丙丁戊己庚辛壬癸"),
    "ideographZodiac": _cycle("子丑寅卯辰巳午未申酉戌亥"),
    "ideographDigital": _digits(_HAN[0]),
    "chineseCounting": chinese,
    "chineseLegalSimplified": lambda n: chinese(n, _LEGAL),
    "decimalEnclosedCircle": _listed("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
    "decimalEnclosedParen": lambda n: f"({n})",
    "decimalEnclosedFullstop": lambda n: f"{n}.",
    "decimalFullWidth": _digits("０１２３４５６７８９"),
}
_ALIKE = {
    "lowerLetter": "a alphaLc lower-alpha lower-latin",
    "upperLetter": "A alphaUc upper-alpha upper-latin",
    "lowerRoman": "i romanLc lower-roman",
    "upperRoman": "I romanUc upper-roman",
    "decimalZero": "decimal-leading-zero",
    "ideographTraditional": "甲",
    "ideographDigital": "japaneseDigitalTenThousand taiwaneseDigital cjk-decimal",
    "chineseCounting": "一 chineseCountingThousand taiwaneseCounting taiwaneseCountingThousand "
    "japaneseCounting koreanCounting ea1Chs ea1Cht ea1JpnChsDb ea1JpnKor cjk-ideographic "
    "simp-chinese-informal trad-chinese-informal",
    "chineseLegalSimplified": "ideographLegalTraditional",
    "decimalEnclosedCircle": "① decimalEnclosedCircleChinese circleNumDb circleNumWdBlack "
    "circleNumWdWhite",
    "decimalFullWidth": "decimalFullWidth2 arabicDb",
}
"""Other names of forms: more of Word, the first numbers, and those of PowerPoint and CSS."""
_FORMS |= {name: _FORMS[form] for form, names in _ALIKE.items() for name in names.split()}


def written_number(number: int, form: str) -> str:
    """Return a number in a form; 1, 2, 3 if it is unknown.

    A form is named as in Word ("upperRoman"), PowerPoint or CSS, or by its first number.
    """
    return _FORMS.get(form, str)(number)
