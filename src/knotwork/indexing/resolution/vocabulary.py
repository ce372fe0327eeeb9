"""Words of names that tell two things apart, or that are no part of what a thing is called."""

from __future__ import annotations


def _canonical(listed: str) -> dict[str, str]:
    """Return the first word of each line for every word of it."""
    lines = (line.split() for line in listed.strip().splitlines())
    return {word: words[0] for words in lines for word in words}


LEGAL_FORMS = _canonical(
    """
    inc incorporated
    corp corporation
    ltd limited
    co company
    llc
    plc
    gmbh
    ag
    pty
    """
)
"""Legal forms at the end of a company's name, and the one spelling of each."""

HAN_LEGAL_FORMS = {"股份有限公司": 2, "有限责任公司": 2, "有限公司": 2, "股份公司": 2, "公司": 4}
"""Legal forms at the end of a Chinese company's name, the longest first, and how many characters
stand before one at least: 外国公司 is not called 外国.
"""

LOOSE_LEGAL_FORMS = frozenset({"公司"})
"""Those behind which many a thing is called by a common noun: 基金管理公司."""

HAN_PLACE_FORMS = {"市": 2, "省": 2}
"""Ends that the name of a Chinese place has or lacks, likewise."""

AMBIGUOUS_PLACES = frozenset({"吉林", "大都", "大城", "长崎", "五岛", "朝阳"})
"""Places of two kinds, or no places: 吉林市 lies in 吉林省, and 大城市 is any large city."""

PROVINCES = frozenset(
    """
    河北 山西 辽宁 黑龙江 江苏 浙江 安徽 福建 江西 山东
    河南 湖北 湖南 广东 四川 贵州 云南 陕西 甘肃 青海
    """.split()  # noqa: SIM905
)
"""Provinces that share their name with nothing else."""

HAN_LANDSCAPE = frozenset("山河江湖海")
"""Ends of names that a mountain or a river shares with a city: 井冈山 and 井冈山市."""

HAN_GENERIC = frozenset("各该本全某每")
"""Characters that open no name: 各乡镇."""

DEGREES = frozenset(
    ["phd", "md", "esq", "mba", "msc", "bsc", "dphil", "cbe", "obe", "mbe", "kbe", "qc", "frs"]
)
"""Letters behind a person's name."""

GENERATIONS = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr"}

OPPOSED = frozenset(
    """
    north south east west northern southern eastern western northeast northwest southeast southwest
    northeastern northwestern southeastern southwestern upper lower inner outer left right
    male female men women mens womens boys girls boy girl man woman king queen prince princess
    mr mrs ms brother sister father mother son daughter
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
    spring summer autumn winter major minor senior junior jr sr old new early late
    pre post anti non un de re sub super inter intra micro macro mini mega
    plus pro max lite ultra beta alpha gamma delta
    internal external public private positive negative input output
    monday tuesday wednesday thursday friday saturday sunday january february march april june
    july august september october november december
    """.split()  # noqa: SIM905 - a list of words is read more easily
)
"""Words that names of different things differ by: where one has it, the other must too."""

HAN_OPPOSED = frozenset("东西南北上下左右前后男女父母兄弟姐妹新旧大小内外正副甲乙丙丁")
"""Characters likewise."""

ORDINALS = {
    word: str(number)
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ],
        start=1,
    )
}

ROMAN = {
    word: str(number)
    for number, word in enumerate(
        [
            "i",
            "ii",
            "iii",
            "iv",
            "v",
            "vi",
            "vii",
            "viii",
            "ix",
            "x",
            "xi",
            "xii",
            "xiii",
            "xiv",
            "xv",
            "xvi",
            "xvii",
            "xviii",
            "xix",
            "xx",
        ],
        start=1,
    )
}

HAN_DIGITS = {character: str(number) for number, character in enumerate("〇一二三四五六七八九")}
HAN_DIGITS |= {"零": "0", "两": "2", "十": "10", "百": "100", "千": "1000"}

DEMONYM_ENDS = ("n", "an", "ian", "ish", "ese", "i", "ic")
"""What makes the name of a people of the name of a country."""

HAN_LANGUAGES = frozenset(
    """
    中文 英文 日文 法文 德文 俄文 外文 英语 汉语 日语 法语 德语 俄语
    """.split()  # noqa: SIM905
)
"""Languages in front of a name: in 英文简称CNTV no language is called CNTV."""
