"""Answer from the tables beside an index: rows of a query, and the file rows behind them.

Precision comes first. A question is about a table only if each of its words is accounted for: by a
column, a value, a comparison, or a word listed here, if every name means one column, and if no
other table fits as well. Otherwise passages answer. Queries are values, counts, sums, means and
extremes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from knotwork._extensions.queries.query_plans import (
    PropertyCondition,
    Returned,
    conditions_of,
    require_no_negation,
)
from knotwork._extensions.queries.query_targets import compare_column, quote_column
from knotwork._extensions.queries.target_schema import (
    KindShape,
    PropertyShape,
    SchemaLinker,
    TargetSchema,
    split_name,
)
from knotwork._extensions.tables.table_file import TableFile, TableShape
from knotwork._questions.languages import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.chunk_entities import Place, find_chunks_at
from knotwork._retrieval.query_rows import ROWS_SCORE
from knotwork._stores.base import Store, tables_of
from knotwork._text.names import STOP_NAMES, name_candidates
from knotwork._text.terms import content_terms, terms
from knotwork.errors import QueryRefused
from knotwork.records import Document, Evidence, Hit, PropertyValue, QueryResult, Span

NUMERIC = ("integer", "number")
OPERATIONS = {
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
    pays live lives lived sold scored got come comes came belong belongs stay stays stayed work
    works worked working employed
    euro euros dollar dollars pound pounds franc francs crowns usd eur gbp chf yuan percent
"""
_STRUCTURE = frozenset(_STRUCTURE_WORDS.split())
_STRUCTURE_ZH = re.compile(
    r"请问|请|列出|给出|显示|查询|告诉我|哪(?:一)?(?:些|个|位|名|家|种|款|条|项|部|人|里)?|什么|多少|谁"
    r"|分别|所有|全部|一共|总共|其中|里面|之中|数据|表格?中?|记录|文件|的|在|是|有|为|了|和|与|及|或|中|里|内"
    r"|个|条|名|位|人|家|种|笔|份|项|元|年|月|日|呢|吗|么|来自|属于|工作|于|从|到|至|之间|以?上|以?下|超过|按|每|各|岁|分|度|台|辆|件|张|本|次|间|座"
)
_ONE = re.compile(r"^\W*(?:what|which)(?: \w+)? (?:is|was)\b|是(?:什么|多少)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+(?:['’][a-z]+)?|[^\W_A-Za-z0-9]")
_HAN = re.compile(r"[\u3400-\u9fff]+")
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
LEAST_SHARE = 0.5
"""Minimum share of the words of a header or table name that the question must contain."""
_HINT_CHARACTERS = 12
"""Maximum distance between a value and the name of its column that only describes it."""
_COMPARED_CHARACTERS = 30
_IS = re.compile(
    r"\s*(?:(?:number|no\.?|#|:|：|=|is|are|was|were|of|equals|equal to|exactly|号|是|为|等于|正好)"
    r"\s*)*",
    re.IGNORECASE,
)
_NOT_IN = re.compile(
    r"(?:\b(?:not|except|excluding|other than|apart from|outside)(?: (?:of|in|from|at|for|by|the))*"
    r"|不在|不是|不属于|除了?)\s*$",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"(?:(?P<no>(?P<date>\b(?:not|never)(?: yet)?(?: been)?|还没|尚未|未被?)"
    r"|\b(?:without|no|lack(?:s|ing)?|missing)(?: (?:an?|any|the))?|没有?|无|缺少?)"
    r"|\b(?:with|ha(?:ve|s|d)) (?:an?|any)|(?<!没)有)\s*$",
    re.IGNORECASE,
)
"""What says before a column that it is empty, or that it is not; "not" only before a date."""
_CURRENCIES = {
    name: re.compile(form, re.IGNORECASE)
    for name, form in {
        "EUR": r"€|\beuros?\b|\beur\b|欧元",
        "USD": r"\$|\bdollars?\b|\busd\b|美元",
        "GBP": r"£|\bpounds\b|\bgbp\b|英镑",
        "CNY": r"\byuan\b|\b(?:cny|rmb)\b|人民币|(?<![美欧日])元",
    }.items()
}
_DATE_ENDING = re.compile(r"(?<=\S)(?: (?:date|on|at)|日期|时间)$", re.IGNORECASE)
_COUNT_ENDING = re.compile(r"(?<=..)(?:数量|总数|个数|数)$")
_DIGITS = re.compile(r"\d+")
_BRACKETS = re.compile(r"[(（\[].*?[)）\]]")


class Extreme(NamedTuple):
    """The end of a scale; with ``adds``, of what all rows of a name have together."""

    dimension: str
    descending: bool
    span: Span
    adds: bool = False


class TableWording:
    """What the words of a question compute from a table.

    ``names`` are names of columns, not such words.
    """

    def __init__(self, text: str, names: Sequence[Span] = ()) -> None:
        asked, covered = reading_of(text), list[Span]()

        def is_free(span: Span) -> bool:
            return not any(name.overlaps(span) for name in names)

        self.operation: Returned | None = None
        self.counts = False  # "how many"
        for returned, pattern in OPERATIONS.items():
            for match in pattern.finditer(text):
                if is_free(span := Span(*match.span())):
                    covered.append(span)
                    is_mean = returned is Returned.AVERAGE  # also "the average number of wins"
                    self.operation = returned if is_mean else self.operation or returned
                    self.counts |= _HOW_MANY.match(match[0]) is not None
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
        self.extreme = extremes[0] if len(extremes) == 1 else None
        limit, rank, when = _LIMIT.search(text), _RANK.search(text), asked.asked_when
        self.limit = 1  # the number of first or last rows wanted
        if limit:
            self.limit = next(_NUMBERS.get(n.lower()) or int(n) for n in limit.groups() if n)
        self.rank = _RANKS[rank[0].lower()[:2]] if rank else 1  # 2 for "the second highest"
        people, money = _PEOPLE.search(text), _MONEY.search(text)
        self.counts_people, self.asks_money = people is not None, money is not None
        self.asks_when = when is not None or _WHICH_DAY.search(text) is not None
        self.asks_who = asked.asks_who
        self.asks_for_one = _ONE.search(text) is not None  # "what is"
        self.is_clear = (
            len(extremes) < 2 and not asked.asks_yes_or_no and bool(extremes or not rank)
        )
        covered += [extreme.span for extreme in extremes]
        covered += [Span(*money.span(1))] if money and money[1] else []
        covered += [when] if when else []
        self.limited = [Span(*m.span()) for m in (limit, rank) if m]
        self.covered = [*covered, *self.limited, *([Span(*people.span())] if people else [])]


class ColumnValues(NamedTuple):
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


class NamedColumn(NamedTuple):
    """A part of a question that means a column; ``score`` is the share of its words present."""

    name: str
    kind: str
    span: Span
    score: float = 1.0


_OWNS = re.compile(r"['’]s?\s+(?:\w+\s+)?$|的\s?$")
_OWNED = re.compile(r"\bthe \| (?:of|for) (?:the )?$|\bwho \| $", re.IGNORECASE)
"""What is around the name of a column ("|") and before the value, as in "Who manages Ann"."""


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


Found = Mapping[str, Sequence[tuple[str, str, str]]]
"""Texts in columns by form, as `TableFile.find_values` returns them."""


class _Value(NamedTuple):
    """A part of a question with the texts in columns that it means, by column."""

    span: Span
    columns: Mapping[str, tuple[str, ...]]


def _plan(
    text: str, tables: Sequence[TableShape], forms: Mapping[str, Span], found: Found
) -> Iterator[TableQuery]:
    """Yield what a question can mean: the only query, and one to run if that has no rows.

    ``forms`` are the parts of the question that may be values, ``found`` the stored values among
    them. "The average rating" is first a column of that name, and then the mean of the column.
    """
    for keeps_names in (True, False):
        named, others = list[TableQuery](), list[TableQuery]()
        for table in tables:
            values = _values_in(table, forms, found)
            reader = _TableReader(text, table, values, keeps_names=keeps_names)
            try:
                reading = reader.read()
            except QueryRefused:
                continue
            if reading is not None and (query := _choose_query(reading)) is not None:
                (named if reading.names_table else others).append(query)
        if len(chosen := named or others) == 1:
            yield chosen[0]


def _values_in(table: TableShape, forms: Mapping[str, Span], found: Found) -> list[_Value]:
    by_span: dict[Span, dict[str, dict[str, None]]] = {}
    for form, places in found.items():
        for name, column, value in places:
            if name == table.name and form in forms:
                by_span.setdefault(forms[form], {}).setdefault(column, {})[value] = None
    kept: list[_Value] = []
    for span in sorted(by_span, key=lambda s: (s.start - s.end, s.start)):
        if not overlaps_any(span, (other.span for other in kept)):
            columns = {column: tuple(values) for column, values in by_span[span].items()}
            kept.append(_Value(span, columns))
    return sorted(kept, key=lambda value: value.span)


class _TableReader:
    def __init__(
        self, text: str, table: TableShape, values: Sequence[_Value], *, keeps_names: bool
    ) -> None:
        asked = reading_of(text)
        self._text = text
        self._table = table
        self._labels = {n: t for (n, _), t in zip(table.columns, table.labels, strict=False)}
        self._keeps_names = keeps_names
        self._comparisons = asked.comparisons
        linker, kinds = SchemaLinker(_schema_of(table)), dict(table.columns)
        compared = [comparison.span for comparison in self._comparisons]
        names = [
            m.span
            for m in linker.link(text, taken=compared)
            if m.element == "property"
            and m.score >= 1
            and set(_DIGITS.findall(text[slice(*m.span)])) <= set(_DIGITS.findall(m.name))
        ]
        # "First floor" is a value rather than what comes first.
        held = [v.span for v in values if " " in text[slice(*v.span)]]
        self._wording = TableWording(text, [*held, *(names if keeps_names else ())])
        without = self._wording if keeps_names else TableWording(text, [*held, *names])
        self._computes = keeps_names or vars(self._wording) != vars(without)
        self._numbers = [
            amount
            for amount in asked.amounts
            if amount.number is not None
            and not overlaps_any(amount.span, [*compared, *names, *self._wording.covered])
        ]
        known = [*self._wording.covered, *names, *compared]
        self._values = [
            v
            for v in values
            if text[slice(*v.span)].lower() not in STOP_NAMES and not overlaps_any(v.span, known)
        ]
        taken = [*compared, *(v.span for v in self._values)]
        numbers = [amount.span for amount in self._numbers]
        mentions = linker.link(text, taken=[*taken, *numbers])
        columns = [
            NamedColumn(m.name, kinds[m.name], m.span, m.score)
            for m in mentions
            if m.element == "property"
            and m.score >= LEAST_SHARE
            # A part of a name may be a word that states what to compute.
            and (m.score >= 1 or not overlaps_any(m.span, self._wording.covered))
        ]
        self._tables = [m.span for m in mentions if m.element == "kind" and m.score >= LEAST_SHARE]
        # Whoever has a name in the table is a student, an employee, …
        people = {name: split_name(name).split() for name in _person(table)}
        if not self._tables and people and all(_NAMES.intersection(w) for w in people.values()):
            self._tables = [Span(*match.span()) for match in _PERSONS.finditer(text)]
        # "Members" is a table rather than a part of "member id".
        columns = [c for c in columns if c.score >= 1 or not overlaps_any(c.span, self._tables)]
        self._covered = [*self._wording.covered, *taken, *self._tables]
        self._free = _best_columns(columns)
        self._covered += [column.span for column in self._free]
        self._free = list({column.name: column for column in reversed(self._free)}.values())
        apart = [c for c in self._free if not overlaps_any(c.span, self._wording.covered)]
        if any(column.kind in NUMERIC for column in apart):
            self._free = apart  # "the average mark in maths", beside a column of average marks

    def read(self) -> TableReading | None:
        """Return the reading, or None if words of the question are not accounted for.

        Raises QueryRefused for a condition that cannot be applied.
        """
        if not self._wording.is_clear or not self._computes:
            return None
        if not self._keeps_names and (self._comparisons or self._numbers):
            return None  # a compared column is meant by its name
        used = {column.name for column in self._free}
        compared = tuple(self._compare())
        texts = tuple(self._match_values())
        conditions = (*compared, *self._equal_numbers())
        texts += tuple(self._match_missing())
        require_no_negation(self._text, self._covered)
        self._require_currencies(used | {condition.property for condition in conditions})
        if self._has_other_words():
            return None
        texts_or_days = (column for column in self._free if column.kind not in NUMERIC)
        groups = [c for c in texts_or_days if _GROUPING.search(self._text[: c.span.start])]
        if len(groups) > 1:
            return None
        group = groups[0].name if groups else ""
        rest = tuple(column for column in self._free if column not in groups)
        rows = [column.name for column in rest if overlaps_any(column.span, self._tables)]
        counted = [
            v
            for v in self._values
            if _COUNTS.search(self._text[: v.span.start])
            or _COUNTS_ZH.match(self._text, v.span.end)
        ]
        key = self._table.columns[0][0]
        if not (rest or self._tables) and any(key in value.columns for value in counted):
            # "How many saws" is the sum of a column of counts.
            amounts = [c for c in self._table.columns if c[1] in NUMERIC and _measures(*c, "count")]
            rest = tuple(NamedColumn(*column, Span(0, 0)) for column in amounts)
        query = TableQuery(self._table, texts=texts, conditions=conditions, group=group)
        asked = any(map(self._is_asked_for, self._tables))
        # "How many sloops" and "which sloops" are about the rows with that value.
        which = any(self._is_asked_for(v.span) for v in self._values)
        names = bool(self._tables or counted) or which
        return TableReading(query, rest, self._wording, names, tuple(rows), asked)

    def _is_asked_for(self, rows: Span) -> bool:
        is_zh = _WHICH_ZH.search(self._text) or _IS_WHICH_ZH.match(self._text, rows.end)
        return bool(_WHICH.search(self._text[: rows.start]) or is_zh)

    def _compare(self) -> Iterator[PropertyCondition]:
        """Yield conditions for all comparisons. Raises QueryRefused for one without a column."""
        used: list[NamedColumn] = []
        for comparison in self._comparisons:
            column = self._compared_column(comparison)
            used += [column] if column in self._free else []
            self._cover_unit(column.name, comparison.span)
            yield from conditions_of(comparison, PropertyShape(column.name, column.kind))
        self._free = [column for column in self._free if column not in used]

    def _compared_column(self, comparison: AmountComparison) -> NamedColumn:
        """Return the column that a comparison is about.

        It is the nearest named column, or for a time the only column with times. Raises
        QueryRefused.
        """
        is_year = comparison.is_time and comparison.operator is Operator.EQUALS
        fitting = [
            column
            for column in self._free
            if conditions_of(comparison, PropertyShape(column.name, column.kind))
            and column.span.distance(comparison.span) <= _COMPARED_CHARACTERS
            and (not is_year or _holds_times(column.name, column.kind))
        ]
        if fitting:
            return min(fitting, key=lambda column: column.span.distance(comparison.span))
        written = self._text[max(comparison.span.start - 4, 0) : comparison.span.end + 1]
        fitting = [
            NamedColumn(name, kind, comparison.span)
            for name, kind in self._table.columns
            if conditions_of(comparison, PropertyShape(name, kind))
            and (
                (comparison.is_time and _holds_times(name, kind))
                # "Older than 30" means the age without its name.
                or any(
                    words.search(written) and _measures(name, "", dimension)
                    for dimension, words in _COMPARATIVES.items()
                )
            )
        ]
        # The date of an order is the order date rather than the delivery date.
        named = set(terms(split_name(self._table.name)))
        fitting = [c for c in fitting if named & set(terms(split_name(c.name)))] or fitting
        if len(fitting) != 1:
            raise QueryRefused(f"No column can be compared with “{comparison.surface}”.")
        return fitting[0]

    def _has_other_words(self) -> bool:
        """Return True if neither what is covered nor known words account for a word."""
        characters = list(self._text)
        for span in self._covered:
            characters[span.start : span.end] = " " * (span.end - span.start)
        left = _HAN.sub(lambda match: _STRUCTURE_ZH.sub(" ", match[0]), "".join(characters))
        words = (word.lower().removesuffix("'s") for word in _WORD.findall(left))
        return any(word not in _STRUCTURE for word in words)

    def _match_values(self) -> Iterator[ColumnValues]:
        """Yield conditions for all values; several values of one column are alternatives.

        "Ann's manager" and "the manager of Ann" are in the row of Ann rather than in those of the
        people whom she manages. Raises QueryRefused for a value of several columns if none is named
        next to it, and of no column but the one that is asked for.
        """
        key = self._table.columns[0][0]
        by_column: dict[tuple[str, bool], dict[str, None]] = {}
        for value in self._values:
            owned = {
                column.name for column in self._free if self._is_owned(column.span, value.span)
            }
            places = [name for name in value.columns if name not in owned]
            hints = [
                column
                for column in self._free
                if column.name in places and column.span.distance(value.span) <= _HINT_CHARACTERS
            ]
            names = [column.name for column in hints] or places
            if owned and key in names:
                names = [key]
            if not names or (not hints and len(names) > 1):
                raise QueryRefused("A value occurs in several columns, or in that asked for alone.")
            name = names[0]
            self._free = [column for column in self._free if column not in hints[:1]]
            denied = _NOT_IN.search(self._text[: value.span.start])
            if denied:
                self._covered.append(Span(*denied.span()))
            held = by_column.setdefault((name, bool(denied)), {})
            held.update(dict.fromkeys(value.columns[name]))
        for (name, differs), values in by_column.items():
            yield ColumnValues(name, tuple(values), differs)

    def _is_owned(self, column: Span, value: Span) -> bool:
        """Return True if a question asks for a column of what a value names."""
        if value.end <= column.start:
            return bool(_OWNS.search(self._text[value.start : column.start]))
        return bool(
            _OWNED.search(f"{self._text[: column.start]}|{self._text[column.end : value.start]}")
        )

    def _match_missing(self) -> Iterator[ColumnValues]:
        """Yield conditions that a column is empty, or that it is not, as in "without an owner"."""
        for column in list(self._free):
            found = _MISSING.search(self._text[: column.span.start])
            is_date = column.kind == "date"
            if (
                found
                and (is_date or not found["date"])
                and not overlaps_any(column.span, self._tables)
            ):
                self._covered.append(Span(*found.span()))
                self._free.remove(column)
                yield ColumnValues(column.name, (), differs=not found["no"])

    def _equal_numbers(self) -> Iterator[PropertyCondition]:
        """Yield conditions for numbers next to a column, as in "order id 7" and "4 stars".

        A number behind the name of the table is that of its first column, as in "order 7".
        """
        key, kind = self._table.columns[0]
        keys = [NamedColumn(key, kind, span) for span in self._tables if _is_key(key)]
        for amount in self._numbers:
            for column in [*self._free, *keys]:
                if column.span.distance(amount.span) > _COMPARED_CHARACTERS:
                    continue
                before = self._text[column.span.end : amount.span.start]
                after = self._text[amount.span.end : column.span.start]
                is_next = column.span.end <= amount.span.start and _IS.fullmatch(before)
                is_before = amount.span.end <= column.span.start and not after.strip()
                if column.kind in NUMERIC and (is_next or (is_before and column not in keys)):
                    self._covered.append(amount.span)
                    self._cover_unit(column.name, amount.span)
                    self._free = [other for other in self._free if other != column]
                    value = amount.number or 0.0
                    held = int(value) if value.is_integer() else value
                    yield PropertyCondition(column.name, held)
                    break

    def _cover_unit(self, column: str, amount: Span) -> None:
        """Account for the unit behind an amount if the header of its column has it in brackets."""
        for unit in _BRACKETS.findall(self._labels.get(column, column)):
            written = rf"\s*{re.escape(unit[1:-1].strip())}s?(?![a-z])"
            if found := re.compile(written, re.IGNORECASE).match(self._text, amount.end):
                self._covered.append(Span(*found.span()))

    def _require_currencies(self, columns: Iterable[str]) -> None:
        """Raise QueryRefused for a question in another currency than the header of a column."""
        asked = _currencies_in(self._text)
        for column in columns if asked else ():
            label = self._labels.get(column, column)
            held = _currencies_in(label)
            if not asked & held and (held or _BRACKETS.search(label)):
                raise QueryRefused(f"The column “{column}” is in another currency.")


def overlaps_any(span: Span, others: Iterable[Span]) -> bool:
    """Return True if a span overlaps one of others."""
    return any(span.overlaps(other) for other in others)


def _currencies_in(text: str) -> set[str]:
    return {name for name, form in _CURRENCIES.items() if form.search(text)}


def _schema_of(table: TableShape) -> TargetSchema:
    """Return the schema of a table; headers without brackets are synonyms of its columns.

    "Hire date" and "购买日期" are also "hire" and "购买", unless that is the name of the table, and
    "房间数量" is also "房间".
    """
    named = set(terms(split_name(table.name)))
    columns = tuple(PropertyShape(name, kind) for name, kind in table.columns)
    words: dict[str, tuple[str, ...]] = {}
    for (name, kind), label in zip(table.columns, table.labels, strict=True):
        bare = _BRACKETS.sub("", label).strip()
        ending = _COUNT_ENDING if kind == "integer" else _DATE_ENDING
        event = ending.sub("", bare) if kind in ("date", "integer") else ""
        event = "" if named & set(terms(event)) else event
        verb = next((v for d, v in MEASURE_VERBS.items() if _measures(name, kind, d)), "")
        # "Order no" is "order number", and "order" alone is something else.
        is_whole = len(content_terms(bare)) == len(terms(bare))
        forms = (bare if is_whole else "", split_name(bare), event, verb)
        words[name] = tuple(text for text in dict.fromkeys(forms) if text)
    return TargetSchema("sql", (KindShape(table.name, table.rows, columns),), words=words)


def _best_columns(mentions: Sequence[NamedColumn]) -> list[NamedColumn]:
    """Return the best of overlapping columns; equally good ones are left out."""
    kept: list[NamedColumn] = []
    # "Sold" and "units" mean the units sold rather than the unit price.
    total: defaultdict[str, float] = defaultdict(float)
    for (name, _), score in {(m.name, m.span): m.score for m in mentions}.items():
        total[name] += score
    order = sorted(mentions, key=lambda m: (-m.score, m.span.start - m.span.end, m.span.start))
    for mention in order:
        is_rival = any(
            other.name != mention.name
            and other.score == mention.score
            and total[other.name] >= total[mention.name]
            and other.span == mention.span
            for other in order
        )
        if not is_rival and not overlaps_any(mention.span, (other.span for other in kept)):
            kept.append(mention)
    return sorted(kept, key=lambda column: column.span)


def _holds_times(name: str, kind: str) -> bool:
    return kind == "date" or (kind == "integer" and _measures(name, kind, "year"))


def _choose_query(reading: TableReading) -> TableQuery | None:
    """Return the query that the words of a question ask for, or None if that is ambiguous."""
    if reading.wording.extreme is not None:
        return _ask_extreme(reading, reading.wording.extreme)
    if reading.wording.operation is not None:
        return _aggregate(reading)
    return None if reading.query.group else _ask_values(reading)


def _aggregate(reading: TableReading) -> TableQuery | None:
    query, operation = reading.query, reading.wording.operation
    numeric = [name for name in reading.of_kinds(*NUMERIC) if not _is_key(name)]
    others = reading.of_kinds("text", "date")
    if operation is Returned.COUNT:
        return _count(reading, numeric, others)
    if operation is Returned.SUM and not numeric and reading.wording.asks_money:
        columns = query.table.columns
        numeric = [n for n, kind in columns if kind in NUMERIC and _measures(n, kind, "money")]
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
        extreme = extreme._replace(dimension="time", descending=not extreme.descending)
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
        fitting = [n for n, kind in columns if kind in kinds and _measures(n, kind, dimension)]
        extreme = reading.wording.extreme
        is_age = extreme is not None and extreme.dimension == "age"
        if dimension == "time" and reading.wording.asks_who and is_age:
            # The oldest person is not the one who came first.
            fitting = [name for name in fitting if _BORN.search(name)]
        named = [name for name in named if name in fitting] or fitting
    return named[0] if len(named) == 1 else None


def _measures(name: str, kind: str, dimension: str) -> bool:
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


def _is_key(column: str) -> bool:
    """Return True for a column of numbers that name rows."""
    return split_name(column).endswith(("identifier", "number", "号", "编号"))


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


CONFIDENCE = 0.9
"""Confidence of a query that accounts for every word of the question."""
CITED_ROWS = 6
ROW_LIMIT = 200
RUN_TIMEOUT_S = 5.0
_LONGEST_VALUE = 8
"""Maximum number of words in a value that a question mentions."""
_SOURCE = "tables"

Parameters = dict[str, PropertyValue]


class TableRows:
    """Answers questions that are clearly about one of the tables beside an index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = tables_of(store)

    def add_rows(self, evidence: Evidence, question: str) -> Evidence:
        """Return the evidence with the rows that answer a question, unchanged without any."""
        result = self.ask(question)
        if result is None:
            return evidence
        spans: dict[Place, Span] = {
            Place(Document(source.document, "").id, source.span.start): source.span
            for source in result.row_sources
            if source.span.start < source.span.end
        }
        near = find_chunks_at(self._store, spans)
        chunks = self._store.documents.chunks({ids[0] for ids in near.values() if ids})
        cited: dict[str, list[Span]] = {}
        for place, span in spans.items():
            chunk = chunks.get(near[place][0]) if near[place] else None
            is_leaf = chunk is not None and not chunk.is_parent
            if chunk is not None and is_leaf and chunk.span.start <= span.start < chunk.span.end:
                cited.setdefault(chunk.id, []).append(span)
        top = max((hit.score for hit in evidence.hits), default=1.0)
        hits = [
            Hit(chunks[key], top, {ROWS_SCORE: top}, sentences=tuple((s, 1.0) for s in found))
            for key, found in cited.items()
        ]
        hits += [hit for hit in evidence.hits if hit.chunk.id not in cited]
        return replace(
            evidence,
            hits=tuple(hits[: max(evidence.query.k, len(cited))]),
            results=(result, *evidence.results),
            confidence=max(evidence.confidence, result.confidence),
        )

    def ask(self, question: str) -> QueryResult | None:
        """Return the rows that answer a question, or None if it is not clearly about one table."""
        if self._tables is None or not self._tables.exists():
            return None
        shapes = self._tables.tables()
        known = self._store.ledger.get([shape.document for shape in shapes if shape.document])
        current = {uri: entry.revision for uri, entry in known.items()}
        shapes = [s for s in shapes if not s.document or current.get(s.document) == s.revision]
        if not shapes:
            return None
        forms = dict(name_candidates(question, max_words=_LONGEST_VALUE))
        for span in list(forms.values()):
            if stems := " ".join(terms(question[slice(*span)])):
                forms.setdefault(f"stems {stems}", span)
        found = self._tables.find_values(list(forms))
        results = (self._run(q, self._tables) for q in _plan(question, shapes, forms, found))
        return next((result for result in results if result is not None), None)

    def _run(self, query: TableQuery, tables: TableFile) -> QueryResult | None:
        text, parameters = _write_query(query)
        result = tables.run(text, parameters, row_limit=ROW_LIMIT, timeout_s=RUN_TIMEOUT_S)
        is_aggregate = query.returned not in (Returned.THING, Returned.VALUE)
        if result.is_empty and not (is_aggregate and result.rows and result.rows[0][-1] == 0):
            return None
        if query.is_single and len(result.rows) > 1:
            return None  # "what is the department of Ann" has one answer
        names = {str(row[0]) for row in result.rows}
        if query.order and query.limit > 1 and len(names) < len(result.rows):
            return None  # "the top three products" must be different products
        text, values = write_sources(query, result)
        sources = tables.run(text, values, row_limit=1, timeout_s=RUN_TIMEOUT_S).rows[0]
        if query.columns and query.order == "" and int(sources[0]) == len(result.rows):
            held = ColumnValues(query.group, tuple(str(row[0]) for row in result.rows))
            columns = (query.group, query.columns[0])  # one row each: they are shown as they are
            query = replace(query, returned=Returned.VALUE, columns=columns, group="", limit=0)
            return self._run(replace(query, texts=(*query.texts, held), order=columns[1]), tables)
        # If no row was counted, the table is cited by its first row.
        rows = [int(row) for row in str(sources[1] or sources[2] or "").split(",") if row]
        shape = query.table
        return replace(
            result,
            seconds=0.0,
            source=_SOURCE,
            place=f"the table {shape.name} ({shape.document or shape.source})",
            confidence=CONFIDENCE,
            row_sources=tuple(tables.row_sources(shape, rows)),
            row_count=int(sources[0]),
            is_listing=not is_aggregate and int(sources[0]) == len(result.rows),
        )


def _write_query(query: TableQuery) -> tuple[str, Parameters]:
    head, where, parameters = _where(query)
    table, selected = quote_column(query.table.name), _selected(query)
    if not query.group:
        lines = [*head, f"SELECT {selected}", f"FROM {table}", *where, _order(query)]
        return "\n".join(filter(None, lines)), parameters
    group = quote_column(query.group)
    lines = [f"SELECT {selected}", f"FROM {table}", *where, f"GROUP BY {group}"]
    if query.limit:
        # Groups with the same value at the end of the scale are all wanted.
        lines = [
            f"WITH grouped({group}, value) AS (",
            *lines,
            f") SELECT {group}, value AS {_aggregate_label(query)} FROM grouped",  # noqa: S608
            f"WHERE value IN (SELECT value FROM grouped {_end_of(query, 'value')})",  # noqa: S608
        ]
    sorting = f"2 {_direction(query)}, 1" if query.order is not None else "1"
    return "\n".join([*lines, f"ORDER BY {sorting}"]), parameters


def write_sources(query: TableQuery, result: QueryResult) -> tuple[str, Parameters]:
    """Return the statement that counts the rows behind a result and lists the first of them."""
    head, where, parameters = _where(query)
    table = quote_column(query.table.name)
    condition = ""
    if query.group:
        shown = [row[0] for row in result.rows[:CITED_ROWS]]
        names = [f"g{number}" for number in range(len(shown))]
        parameters |= dict(zip(names, shown, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        condition = f"{quote_column(query.group)} IN ({listed})"
    elif query.returned in (Returned.MAXIMUM, Returned.MINIMUM):
        parameters["end"] = result.rows[0][0]
        condition = f"{quote_column(query.columns[0])} = $end"
    if condition:
        where = [*where, f"{'AND' if where else 'WHERE'} {condition}"]
    order = _order(query) if query.order else ""
    rows = f"FROM {table} {' '.join(where)}"
    first = f"SELECT rowid {rows} {order} LIMIT {CITED_ROWS}"
    statement = (
        f"{' '.join(head)} SELECT (SELECT count(*) {rows}),"  # noqa: S608
        f" (SELECT group_concat(rowid) FROM ({first})), (SELECT min(rowid) FROM {table})"
    )
    return statement, parameters


def _selected(query: TableQuery) -> str:
    column = quote_column(query.columns[0]) if query.columns else ""
    if query.returned is Returned.THING:
        return "*"
    if query.returned is Returned.VALUE:
        return ", ".join(map(quote_column, query.columns))
    if query.returned is Returned.COUNT:
        value = f"count(DISTINCT {column})" if column else "count(*)"
    else:
        value = f"{query.returned}({column})"
    value += f" AS {_aggregate_label(query)}"
    return f"{quote_column(query.group)}, {value}" if query.group else value


def _aggregate_label(query: TableQuery) -> str:
    is_count = query.returned is Returned.COUNT
    return quote_column("count" if is_count else f"{query.returned} {query.columns[0]}")


def _where(query: TableQuery) -> tuple[list[str], list[str], Parameters]:
    """Return what stands before the statement, its conditions, and its parameters.

    Each condition is written once: with an end of a scale, they select the rows of ``held``.
    """
    parameters: Parameters = {}
    conditions = []
    for item in query.texts:
        names = [f"p{len(parameters) + number}" for number in range(len(item.values))]
        parameters |= dict(zip(names, item.values, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        if not names:
            test = f"IS {'NOT ' * item.differs}NULL"
        elif len(names) == 1:
            test = f"{'<>' if item.differs else '='} {listed}"
        else:
            test = f"{'NOT ' * item.differs}IN ({listed})"
        conditions.append(f"{quote_column(item.column)} {test}")
    conditions += [
        compare_column(quote_column(condition.property), condition, parameters)
        for condition in query.conditions
    ]
    if sorted_by := query.order or query.group:
        conditions.append(f"{quote_column(sorted_by)} IS NOT NULL")
    where = [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    if not (query.order and query.limit):
        return [], where, parameters
    table, column = quote_column(query.table.name), quote_column(query.order)
    head = [f"WITH held(line) AS (SELECT rowid FROM {table} {' '.join(where)})"]  # noqa: S608
    end = f"SELECT {column} FROM {table} WHERE rowid IN held {_end_of(query, column)}"  # noqa: S608
    return head, [f"WHERE rowid IN held AND {column} IN ({end})"], parameters


def _end_of(query: TableQuery, column: str) -> str:
    """Return the ending that selects the values at the end of a scale; equal ones all match."""
    ending = f"ORDER BY {column} {_direction(query)} LIMIT {query.limit}"
    # The second highest value is that behind all that are equal to the highest.
    return ending if query.rank == 1 else f"GROUP BY {column} {ending} OFFSET {query.rank - 1}"


def _order(query: TableQuery) -> str:
    """Return the ending that sorts single rows."""
    if query.order:
        return f"ORDER BY {quote_column(query.order)} {_direction(query)}, rowid"
    if query.returned is Returned.VALUE:
        return f"GROUP BY {', '.join(map(quote_column, query.columns))} ORDER BY min(rowid)"
    return "ORDER BY rowid" if query.returned is Returned.THING else ""


def _direction(query: TableQuery) -> str:
    return "DESC" if query.descending else "ASC"
