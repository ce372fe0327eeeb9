"""Read what a question computes from a table, and choose the query for it.

A question is about a table only if each of its words is accounted for: by a column, a value, a
comparison, or a word listed here. Queries are values, counts, sums, means and extremes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from knotwork._questions.reading import reading_of
from knotwork._retrieval.queries.query_plans import PropertyCondition, Returned
from knotwork._retrieval.queries.schema_linker import split_name
from knotwork._stores.table_file import TableShape
from knotwork.records import Span

_OPERATIONS = {
    Returned.COUNT: re.compile(
        r"\bhow many\b|\b(?:total |overall )?(?:number|count) of\b|\bcount\b"
        r"|(?:总共|一共|共)?(?:有(?:多少|几)|(?<!是)(?:多少|几))[个条名人位行笔种家份项部件]?"
        r"|数量|个数|条数",
        re.IGNORECASE,
    ),
    Returned.AVERAGE: re.compile(r"\b(?:average|mean|avg)\b|平均[值数]?", re.IGNORECASE),
    Returned.SUM: re.compile(
        r"\b(?:in )?total\b|\bsum(?: of)?\b|\boverall\b|\bcombined\b|\baltogether\b"
        r"|\bhow much .{0,80}\b(?:spent|spend)\b|花了多少钱?|总[和计共额数]?|合计|一共|之和",
        re.IGNORECASE,
    ),
}
"""In order of precedence: "the total number" is a count, not a sum."""
_MOST_ZH = "最[高大多长]|(?<=第[二三四五2-5])[高大多长]"
_LEAST_ZH = "最[低小少短]|(?<=第[二三四五2-5])[低小少短]"
_SUPERLATIVES = tuple(
    (re.compile(rf"\b(?:{words})\b|{chinese}", re.IGNORECASE), dimension, descending)
    for words, chinese, dimension, descending in (
        ("most expensive|priciest|costliest", "最贵", "price", True),
        ("cheapest|least expensive", "最便宜", "price", False),
        ("latest|newest|most recent|most recently|last", "最近|最新|最晚|最后", "time", True),
        ("earliest|first", "最早|最先", "time", False),
        ("oldest|eldest", "最老|年纪最大|年龄最大", "age", True),
        ("youngest", "最年轻|年纪最小|年龄最小", "age", False),
        ("best|top-rated|highest-rated", "最好", "score", True),
        ("worst|lowest-rated", "最差", "score", False),
        ("heaviest", "最重", "weight", True),
        ("lightest", "最轻", "weight", False),
        ("tallest", "(?!)", "height", True),
        ("longest", "(?!)", "length", True),
        ("shortest", "(?!)", "length", False),
        ("highest|largest|biggest|greatest|maximum|max|most|top", _MOST_ZH, "size", True),
        ("lowest|smallest|least|minimum|min|fewest", _LEAST_ZH, "size", False),
    )
)
_YEAR_WORDS = """
    year built founded established settled published bought purchased acquired installed opened
    closed joined hired born died 年份 年
"""
_DIMENSION_WORDS = {
    dimension: frozenset(words.split())
    for dimension, words in {
        "price": "price cost 价格 单价 售价",
        "year": _YEAR_WORDS,
        "time": f"date day time 日期 时间 {_YEAR_WORDS}",
        "money": "amount price cost salary wage pay 金额 费用 月薪 工资",
        "age": "age 年龄",
        "score": "rating score grade mark marks points 评分 分数 成绩 平均分",
        "weight": "weight 重量 体重",
        "height": "height 身高",
        "depth": "depth 深度",
        "length": "length duration distance",
        "count": "count quantity qty stock units pieces 数量 库存 件数",
    }.items()
}
MEASURE_VERBS = {"price": "cost", "weight": "weigh"}
"""Verbs that mean a column of such numbers."""
_RANK = re.compile(
    r"\b(?P<en>second|2nd|third|3rd|fourth|4th|fifth|5th)[- ](?=most\b|least\b|best\b|[a-z]+est\b)"
    r"|第(?P<zh>[二三四五2-5])(?=[高大多长低小少短贵重轻早晚])",
    re.IGNORECASE,
)
_RANKS = {
    form: rank
    for rank, forms in enumerate(
        ("se 2n 第二 第2", "th 3r 第三 第3", "fo 4t 第四 第4", "fi 5t 第五 第5"), 2
    )
    for form in forms.split()
}
_ADDS = re.compile("most|fewest|least|最[多少]", re.IGNORECASE)
_WHICH_DAY = re.compile(r"\b(?:which|what) (?:day|date)\b|哪一?[天日]", re.IGNORECASE)
_HOW_MANY = re.compile(r"how many|.*(?:多少|几)", re.IGNORECASE)
_MONEY = re.compile(
    r"\bhow much .{0,80}\b(spent|spend|earn(?:ed|s)?|paid|pay|cost)\b|花了?多少钱?", re.IGNORECASE
)
_PEOPLE = re.compile(r"\bhow many (?:people|persons)\b|(?:多少|几)[个名位]?人", re.IGNORECASE)
_COMPARATIVES = {
    "length": re.compile(r"longer|shorter", re.IGNORECASE),
    "age": re.compile(
        r"older|younger|岁|\b(?:are|is) (?:over|under|above|below) \d", re.IGNORECASE
    ),
    "weight": re.compile(r"heavier|lighter", re.IGNORECASE),
    "height": re.compile(r"taller", re.IGNORECASE),
    "depth": re.compile(r"deeper|shallower", re.IGNORECASE),
    "price": re.compile(r"cheaper", re.IGNORECASE),
}
_NUMBERS = {
    word: n for n, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight"], 2)
}
_NUMBERS |= {word: number for number, word in enumerate("二三四五六七八九十", 2)} | {"两": 2}
_COUNTED = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
_LIMIT = re.compile(
    rf"\b(?:top|first|last|highest|lowest|largest|smallest|latest) ({_COUNTED})\b"
    rf"|\b({_COUNTED}) (?=(?:most|least|fewest|best|[a-z]+est)\b)"
    rf"|前\s*({_COUNTED})\s*(?:个|名|位|条|家|种)?|(?<=[高低多少大小贵长短早晚新]的)\s*({_COUNTED})[个名位条家种台]",
    re.IGNORECASE,
)
_GROUPING = re.compile(
    r"(?:\b(?:per|by|(?:(?:for|in) )?(?:each|every))\s+(?:the\s+)?|每个?|各个?|按)$", re.IGNORECASE
)
_WHICH = re.compile(
    r"\b(?:(?:which|what)(?:\s+(?:is|was|are|were)\s+the)?|(?:show|find|list|name|give)(?:\s+me)?"
    r"(?:\s+the)?)(?:\s+[a-z]+)?\s+$",
    re.IGNORECASE,
)
_WHICH_ZH = re.compile(r"哪(?!里|儿)")
_IS_WHICH_ZH = re.compile(r"(?:都|分别)?[是有](?:什么|哪)")
_COUNTS = re.compile(r"how many\s+$|[多几][少个]?\S?$", re.IGNORECASE)
_COUNTS_ZH = re.compile(r"(?:一共|总共|共)?有(?:多少|几)")
_STRUCTURE_WORDS = """
    what which who whom whose how much is are was were be been being do does did has have had
    a an the of in on at for from to with within by per and or as that those these this there it its
    their them they all any each every me us please tell show list give find get display name names
    identify return compute calculate count row rows record records entry entries item items value
    values table tables sheet spreadsheet file csv data dataset can could you i we my our s during
    year years month day only just made place placed published released having together own owns
    pays live lives lived sold scored got come comes came belong belongs stay stays stayed
    euro euros dollar dollars pound pounds franc francs crowns usd eur gbp chf yuan percent
"""
_STRUCTURE = frozenset(_STRUCTURE_WORDS.split())
_STRUCTURE_ZH = re.compile(
    r"请问|请|列出|给出|显示|查询|告诉我|哪(?:一)?(?:些|个|位|名|家|种|款|条|项|部|人|里)?|什么|多少|谁"
    r"|分别|所有|全部|一共|总共|其中|里面|之中|数据|表格?中?|记录|文件|的|在|是|有|为|了|和|与|及|或|中|里|内"
    r"|个|条|名|位|人|家|种|笔|份|项|元|年|月|日|呢|吗|么|来自|属于|于|从|到|至|之间|以?上|以?下|超过|按|每|各|岁|分|度|台|辆|件|张|本|次|间|座"
)
_ONE = re.compile(r"^\W*(?:what|which)(?: \w+)? (?:is|was)\b|是(?:什么|多少)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+(?:['’][a-z]+)?|[^\W_A-Za-z0-9]")
_HAN = re.compile(r"[\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Extreme:
    """The end of a scale that is asked for; ``dimension`` is "size" or that of a column.

    With ``adds``, it is of what all rows of a name have together.
    """

    dimension: str
    descending: bool
    span: Span
    adds: bool = False


@dataclass(frozen=True, slots=True)
class TableWording:
    """What the words of a question compute from a table; ``covered`` are the spans of these words.

    ``limit`` is the number of first or last rows wanted, ``rank`` is 2 for "the second highest".
    ``counts`` is True for "how many", ``counts_people`` for "how many people",
    ``asks_money`` for "how much was spent", and ``asks_for_one`` for "what is".
    """

    operation: Returned | None
    extreme: Extreme | None
    limit: int
    rank: int
    counts: bool
    counts_people: bool
    asks_money: bool
    asks_when: bool
    asks_who: bool
    asks_for_one: bool
    is_clear: bool
    covered: tuple[Span, ...]


def read_table_wording(text: str, names: Sequence[Span] = ()) -> TableWording:
    """Return what a question asks to compute; ``names`` are names of columns, not such words."""
    asked, covered = reading_of(text), list[Span]()
    operation: Returned | None = None
    counts = False

    def is_free(span: Span) -> bool:
        return not any(name.overlaps(span) for name in names)

    for returned, pattern in _OPERATIONS.items():
        for match in pattern.finditer(text):
            if is_free(span := Span(*match.span())):
                covered.append(span)
                is_mean = returned is Returned.AVERAGE  # also "the average number of wins"
                operation = returned if is_mean else operation or returned
                counts |= _HOW_MANY.match(match[0]) is not None
    compared = [comparison.span for comparison in asked.comparisons]
    extremes: list[Extreme] = []
    for pattern, dimension, descending in _SUPERLATIVES:
        for match in pattern.finditer(text):
            span = Span(*match.span())
            # "most" in "most expensive" or "at most 5" is not an extreme of its own.
            around = [*compared, *(extreme.span for extreme in extremes)]
            if is_free(span) and not any(o.contains(span) for o in around):
                adds = _ADDS.fullmatch(match[0]) is not None
                extremes.append(Extreme(dimension, descending, span, adds))
    covered += [extreme.span for extreme in extremes]
    limit, rank, when = _LIMIT.search(text), _RANK.search(text), asked.asked_when
    people, money = _PEOPLE.search(text), _MONEY.search(text)
    covered += [Span(*money.span(1))] if money and money[1] else []
    covered += [when] if when else []
    covered += [Span(*match.span()) for match in (limit, rank, people) if match]
    return TableWording(
        operation,
        extremes[0] if len(extremes) == 1 else None,
        _read_limit(limit) if limit else 1,
        _RANKS[rank[0].lower()[:2]] if rank else 1,
        counts,
        people is not None,
        money is not None,
        asks_when=when is not None or _WHICH_DAY.search(text) is not None,
        asks_who=asked.asks_who,
        asks_for_one=_ONE.search(text) is not None,
        is_clear=len(extremes) < 2 and not asked.asks_yes_or_no and not (rank and not extremes),
        covered=tuple(covered),
    )


def _read_limit(found: re.Match[str]) -> int:
    written = next(group for group in found.groups() if group).lower()
    return _NUMBERS.get(written) or int(written)


def is_measured(column: str, comparison: str) -> bool:
    """Return True for a column that a comparison means without its name, as "older than 30"."""
    return any(
        words.search(comparison) and measures(column, "", dimension)
        for dimension, words in _COMPARATIVES.items()
    )


def is_counted(text: str, span: Span) -> bool:
    """Return True if the words around a span ask for the number of what it names."""
    return bool(_COUNTS.search(text[: span.start]) or _COUNTS_ZH.match(text, span.end))


def is_key(column: str) -> bool:
    """Return True for a column of numbers that name rows."""
    return split_name(column).endswith(("identifier", "number", "号", "编号"))


def people_in(text: str, table: TableShape) -> list[Span]:
    """Return the words for people in a question, if a table has people by name."""
    columns = _person(table)
    has_names = all(_NAMES.intersection(split_name(name).split()) for name in columns)
    found = _PERSONS.finditer(text) if columns and has_names else ()
    return [Span(*match.span()) for match in found]


def is_grouping(text: str, span: Span) -> bool:
    """Return True if the words before a span group by it, as "per" or "for each"."""
    return _GROUPING.search(text[: span.start]) is not None


def is_asked_for(text: str, span: Span) -> bool:
    """Return True if the question asks which of the named rows it is."""
    is_zh = _WHICH_ZH.search(text) or _IS_WHICH_ZH.match(text, span.end)
    return bool(_WHICH.search(text[: span.start]) or is_zh)


def unaccounted(text: str, covered: Iterable[Span]) -> list[str]:
    """Return the words that neither ``covered`` spans nor known words account for."""
    characters = list(text)
    for span in covered:
        characters[span.start : span.end] = " " * (span.end - span.start)
    left = _HAN.sub(lambda match: _STRUCTURE_ZH.sub(" ", match[0]), "".join(characters))
    words = (word.lower().removesuffix("'s") for word in _WORD.findall(left))
    return [word for word in words if word not in _STRUCTURE]


NUMERIC = ("integer", "number")
_BORN = re.compile(r"born|birth|出生|生日", re.IGNORECASE)
_PERSON_WORDS = """
    name firstname lastname surname employee person customer client patient student teacher member
    player author owner driver guest tenant 姓名 员工 客户 学生 老师 教师 患者 病人 会员 作者
"""
_PERSON = frozenset(_PERSON_WORDS.split())
_NAMES = frozenset({"name", "firstname", "lastname", "surname", "姓名"})
_PERSONS = re.compile(
    r"\b(?:people|persons|employees?|students?|members?|staff|workers)\b|学生|员工|学员|职员|同学",
    re.IGNORECASE,
)
_NAME_PARTS = frozenset({"first", "last", "given", "family", "firstname", "lastname", "surname"})


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A condition that a column has one of these texts, or none if ``differs``."""

    column: str
    values: tuple[str, ...]
    differs: bool = False


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query of one table.

    ``returned`` is THING for whole rows and VALUE for ``columns``. An aggregate is of
    ``columns[0]``, or of rows for COUNT without a column. With ``group`` there is a row for each of
    its values. ``order`` is the column to sort by, or "" for the aggregate of a group; ``limit`` is
    the number of rows from the end of that scale, 0 for all, with ``rank`` that of its first value.
    With ``is_single``, several values are no answer.
    """

    table: TableShape
    returned: Returned = Returned.THING
    columns: tuple[str, ...] = ()
    texts: tuple[ColumnValues, ...] = ()
    conditions: tuple[PropertyCondition, ...] = ()
    group: str = ""
    order: str | None = None
    descending: bool = True
    limit: int = 0
    rank: int = 1
    is_single: bool = False


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A part of a question that means a column; ``score`` is the share of its words present."""

    name: str
    kind: str
    span: Span
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class TableReading:
    """A question read as one about a table.

    ``query`` has its conditions and its group; ``columns`` are the other columns it names.
    ``names_table`` is True if it contains a word of the table's name, and ``names_rows`` are the
    columns that such a word names too. ``asks_for_rows`` is True if it asks for rows of the table.
    """

    query: TableQuery
    columns: tuple[NamedColumn, ...]
    wording: TableWording
    names_table: bool
    names_rows: tuple[str, ...] = ()
    asks_for_rows: bool = False

    def without(self, *names: str) -> TableReading:
        """Return the reading without these columns."""
        return replace(self, columns=tuple(c for c in self.columns if c.name not in names))

    def of_kinds(self, *kinds: str) -> list[str]:
        """Return the names of the columns with these types."""
        return [column.name for column in self.columns if column.kind in kinds]


def choose_query(reading: TableReading) -> TableQuery | None:
    """Return the query that the words of a question ask for, or None if that is ambiguous."""
    if reading.wording.extreme is not None:
        return _ask_extreme(reading, reading.wording.extreme)
    if reading.wording.operation is not None:
        return _aggregate(reading)
    return None if reading.query.group else _ask_values(reading)


def _aggregate(reading: TableReading) -> TableQuery | None:
    """Return a query for a count, a sum or a mean."""
    query, operation = reading.query, reading.wording.operation
    numeric = [name for name in reading.of_kinds(*NUMERIC) if not is_key(name)]
    others = reading.of_kinds("text", "date")
    if operation is Returned.COUNT:
        return _count(reading, numeric, others)
    if operation is Returned.SUM and not numeric and reading.wording.asks_money:
        columns = query.table.columns
        numeric = [n for n, kind in columns if kind in NUMERIC and measures(n, kind, "money")]
    if operation is None or len(numeric) != 1 or not set(others) <= set(reading.names_rows):
        return None
    return replace(query, returned=operation, columns=(numeric[0],))


def _count(
    reading: TableReading, numeric: Sequence[str], others: Sequence[str]
) -> TableQuery | None:
    """Return a query for the number of rows or values, or for the sum of a numeric column."""
    query = replace(reading.query, returned=Returned.COUNT)
    if not reading.columns:
        counts_rows = reading.wording.counts_people and _person(query.table)
        return query if reading.names_table or query.group or counts_rows else None
    if len({column.name for column in reading.columns} - set(reading.names_rows)) > 1:
        return None
    if len(numeric) == 1:
        return replace(query, returned=Returned.SUM, columns=(numeric[0],))
    if not others:
        return None
    # "How many employees" in a table of employees with a column of that name.
    return query if others[0] in reading.names_rows else replace(query, columns=(others[0],))


def _ask_extreme(reading: TableReading, extreme: Extreme) -> TableQuery | None:
    """Return a query for the most or least, or the latest or earliest."""
    wording, answers = reading.wording, reading.of_kinds("text")
    if len(answers) > 1:  # in "which owner has the most tools", a column may be named "tool"
        reading = reading.without(*reading.names_rows)
        answers = reading.of_kinds("text")
    if not answers and extreme.dimension == "size":
        answers = reading.of_kinds("date") or list(_day(reading.query.table, wording))
    if len(answers) > 1 or wording.counts:
        return None
    order = _ordered_by(reading, extreme.dimension)
    if order is None and extreme.dimension == "age":
        # The oldest building is the one with the earliest date.
        extreme = replace(extreme, dimension="time", descending=not extreme.descending)
        order = _ordered_by(reading, extreme.dimension)
    query = replace(
        reading.query, descending=extreme.descending, limit=wording.limit, rank=wording.rank
    )
    reading = replace(reading, query=query)
    if wording.operation is not None or order is None:
        return _best_group(reading, answers) if extreme.dimension == "size" else None
    if query.group or reading.without(order, *answers).columns:
        return None
    if not answers and wording.asks_who and extreme.adds:
        answers = list(_person(query.table))
    if extreme.adds and len(answers) == 1:
        return replace(query, returned=Returned.SUM, columns=(order,), group=answers[0], order="")
    if answers:
        columns = (answers[0], order)
        return replace(query, returned=Returned.VALUE, columns=columns, order=order)
    return _best_row(reading, order)


def _best_row(reading: TableReading, order: str) -> TableQuery | None:
    """Return a query for the rows at the end of a scale, or for the extreme value."""
    query, wording = reading.query, reading.wording
    is_size = wording.extreme is not None and wording.extreme.dimension == "size"
    if reading.names_table and (not is_size or wording.limit > 1 or reading.asks_for_rows):
        return replace(query, order=order)
    if wording.limit > 1:
        return None
    if wording.asks_who:
        columns = (*_person(query.table), order)
        asked = replace(query, returned=Returned.VALUE, columns=columns, order=order)
        return asked if len(columns) > 1 else None
    if wording.rank > 1 or all(column.name != order for column in reading.columns):
        return None
    end = Returned.MAXIMUM if query.descending else Returned.MINIMUM
    return replace(query, returned=end, columns=(order,), limit=0)


def _best_group(reading: TableReading, answers: Sequence[str]) -> TableQuery | None:
    """Return a query for the groups with the largest or smallest aggregate."""
    query = reading.query
    if len(answers) + bool(query.group) != 1:
        return None
    query = replace(query, group=query.group or answers[0], order="")
    rest = replace(reading.without(*answers), query=query)
    if reading.wording.operation is not None:
        return _aggregate(rest)
    # "The most orders" counts rows if the table has that name.
    is_count = rest.names_table and not rest.columns
    return replace(query, returned=Returned.COUNT) if is_count else None


def _ordered_by(reading: TableReading, dimension: str) -> str | None:
    """Return the column of a scale, or None if it is ambiguous."""
    kinds = ("date", *NUMERIC) if dimension == "time" else NUMERIC
    named = reading.of_kinds(*kinds)
    if dimension != "size":
        columns = reading.query.table.columns
        fitting = [n for n, kind in columns if kind in kinds and measures(n, kind, dimension)]
        extreme = reading.wording.extreme
        if (
            dimension == "time"
            and reading.wording.asks_who
            and extreme
            and extreme.dimension == "age"
        ):
            # The oldest person is not the one who came first.
            fitting = [name for name in fitting if _BORN.search(name)]
        named = [name for name in named if name in fitting] or fitting
    return named[0] if len(named) == 1 else None


def measures(name: str, kind: str, dimension: str) -> bool:
    """Return True for a column with amounts of a dimension."""
    is_date = dimension == "time" and kind == "date"
    return is_date or not _DIMENSION_WORDS[dimension].isdisjoint([name, *split_name(name).split()])


def _ask_values(reading: TableReading) -> TableQuery | None:
    """Return a query for columns of rows, or for whole rows, under conditions."""
    query, wording = reading.query, reading.wording
    if not (query.texts or query.conditions):
        return None
    columns = tuple(dict.fromkeys(column.name for column in reading.columns))
    if not columns and wording.asks_when:
        columns = _day(query.table, wording)
    elif not columns and wording.asks_who:
        columns = _person(query.table)
    if wording.asks_who and reading.columns and not reading.of_kinds("text"):
        return None  # "who ordered it" is not when it was ordered
    if columns and not set(columns) <= set(reading.names_rows):
        single = wording.asks_for_one
        return replace(query, returned=Returned.VALUE, columns=columns, is_single=single)
    is_plain = not (wording.asks_when or wording.asks_who)
    return query if reading.names_table and is_plain else None


def _day(table: TableShape, wording: TableWording) -> tuple[str, ...]:
    """Return the only column with dates, if a question asks when something was."""
    found = tuple(name for name, kind in table.columns if kind == "date")
    return found if wording.asks_when and len(found) == 1 else ()


def _person(table: TableShape) -> tuple[str, ...]:
    """Return the only column that names persons, or those of the parts of their names."""
    texts = (name for name, kind in table.columns if kind == "text")
    words = {name: {name, *split_name(name).split()} for name in texts}
    found = {name: held for name, held in words.items() if held & _PERSON}
    are_parts = all(held & _NAME_PARTS for held in found.values())
    return tuple(found) if len(found) == 1 or are_parts else ()
