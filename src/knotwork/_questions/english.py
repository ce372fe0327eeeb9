"""English as questions use it."""

from __future__ import annotations

import re

from knotwork._questions.languages import NOTHING, Language, ScopeWords, Words

_END = r"[\s?.!？。！]*$"
_TEXT = (
    r"(?:documents?|docs|files?|texts?|corpus|collections?|materials?|data ?sets?|knowledge base"
    r"|papers?|articles?|notes?|sources?|transcripts?|reports?|manuals?|handbooks?|guides?|books?"
    r"|story|stories|novels?|documentation|website|site|pages?|wiki|library|folder|index|tales?"
    r"|chapters?|sections?|contents?|contracts?|polic(?:y|ies)|tutorials?|transcript|e-?mails?)"
)
_POLITE = (
    r"(?:(?:please|kindly|now|can you|could you|would you|will you|i want you to|i need"
    r"|i would like(?: you to)?|i'd like(?: you to)?),? )*"
)
_SUMMARY_NOUN = (
    r"(?:(?:give|write|show|provide|make|get|create|have)(?: me| us)? )?(?:what(?:'s| is) )?"
    r"(?:an? |the )?(?:(?:brief|short|quick|concise|high-level|general|rough|full) )*"
    r"(?:summary|overview|outline|synopsis|gist|recap|abstract|tl;?dr)"
)
_DEGREE = r"(?:(?:all|mainly|mostly|primarily|really|generally|basically|actually) )*"
_DETERMINER = (
    r"(?:(?:all|each|both|any|every|of|the|this|these|those|that|my|our|your|whole|entire|full"
    r"|complete|given|uploaded|indexed|above|following|here|it|they)\b\s*)"
)
_NOUN = (
    r"(?P<noun>people|persons?|individuals|characters?|figures|companies|compan(?:y|ies)"
    r"|organi[sz]ations?|institutions?|firms|places?|locations?|cities|countries|regions|names"
    r"|terms|entities|entity|dates|works|things|technologies)"
)
_NAMED = r"(?:mentioned|named|cited|discussed|referred to|talked about|referenced)"
_COMES_UP = rf"(?:(?:is|are|was|were|gets?) {_NAMED}|appears?|occurs?|comes? up)"
_OFTEN = r"(?:the )?most(?: (?:often|frequently|commonly))?"
_MOST = (
    rf"most(?: |-)(?:(?:often|frequently|commonly)[ -])?(?:{_NAMED}|frequent|common|important"
    r"|prominent|central|influential)"
)
_WHERE = rf"(?: (?:in|across|throughout) (?P<where>.+?))?{_END}"
_MANY = rf"^(?:which|what)(?: (?P<limit>\d+))? {_NOUN}"
_SHOW = r"^(?:(?:what|who|which) (?:is|are|were)|list|name|show me|give me) (?:me )?"
_TOP = rf"(?:the )?(?:top )?(?P<limit>\d+)?\s?(?P<most>{_MOST}|main|key|central|top)"
_UNIT = r"(?:documents|files|articles|reports|pages|chapters|sections|passages|papers|notes|texts)"
_MENTION = r"(?:mention|mentions|contain|name|cite|refer to|reference|talk about|discuss)"
_HOW_OFTEN = r"^how (?:often|many times|frequently)"
_PLACE = rf"(?: (?:in|across) .+?)?{_END}"
_APPEAR = r"(?:appear|occur|come up)"
_TEXT_PLACE = (
    rf" (?:in|across|throughout) (?:(?:all|any|each|of|the|this|these|those|my|our|your) )*{_TEXT}"
)
_QUOTED_OR_PROPER = r"(?-i:[“\"'‘]?[A-Z][^?]*?|[“\"'‘《][^?]+?)"
_PART = "(?P<noun>chapters|sections|headings|clauses|documents|files|articles|papers|texts)"
_NOUNS = f"(?:{_PART}|(?P<other>(?-i:[a-z][a-z-]+)(?: (?-i:[a-z-]+)){{0,2}}?))"
_LISTED_OF = rf"(?: (?:of|in|from) (?P<where>.+?))?{_END}"
_LIST = rf"{_POLITE}(?:list|name|show me|show|give me|enumerate) (?:me )?all"

_SCOPES = ScopeWords(
    text=Words(rf"^(?P<rest>.*?)\b{_TEXT}$"),
    titled=Words(rf"\b{_TEXT}$"),
    whole=Words(
        r"(?:all |everything |of )*(?:this|these|that|it|they|everything|all)(?: here)?",
        rf"{_DETERMINER}*\b{_TEXT}",
    ),
    determiner=Words(rf"^{_DETERMINER}+"),
    rankings=(
        Words(rf"{_MANY} {_COMES_UP} {_OFTEN}{_WHERE}"),
        Words(rf"^(?P<noun>who) {_COMES_UP} {_OFTEN}{_WHERE}"),
        Words(rf"{_SHOW}{_TOP} {_NOUN}{_WHERE}"),
        Words(
            rf"{_SHOW}(?:all )?(?:the )?(?:top (?P<limit>\d+) )?{_NOUN}"
            rf" (?:that are |who are )?{_NAMED}(?: {_OFTEN})?{_WHERE}"
        ),
        Words(rf"^how many {_NOUN} (?:are|were|is) {_NAMED}{_WHERE}"),
    ),
    mentions=(
        Words(
            rf"^(?:how many|which|what) (?:of (?:the|my|these) )?{_UNIT} {_MENTION}"
            rf" (?P<subject>.+?){_END}"
        ),
        Words(
            rf"^in (?:how many|which|what) {_UNIT} (?:is|are|was|does|do|did)"
            rf" (?P<subject>.+?) (?:{_NAMED}|{_APPEAR}){_END}"
        ),
        Words(rf"{_HOW_OFTEN} (?:is|are|was|were) (?P<subject>.+?) {_NAMED}{_PLACE}"),
        Words(rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>.+?) {_APPEAR}{_TEXT_PLACE}{_END}"),
        Words(
            rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>{_QUOTED_OR_PROPER})"
            rf" (?:appear|come up){_PLACE}"
        ),
        Words(rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>.+?) get {_NAMED}{_PLACE}"),
    ),
    listings=(
        Words(rf"^(?:{_LIST}|(?:what|which) (?:are|is) all) (?:of )?(?:the )?{_NOUNS}{_LISTED_OF}"),
        Words(rf"^how many {_NOUNS} are (?:there|here){_LISTED_OF}"),
        Words(
            rf"^(?:what|which|how many) {_PART} (?:does|do) (?P<where>.+?) (?:have|contain){_END}"
        ),
        Words(rf"^how many {_PART} (?:do (?:i|we|you) have|are indexed){_END}"),
    ),
    bare=Words(
        rf"^{_POLITE}(?:{_SUMMARY_NOUN}|table of contents"
        r"|(?:list|show|what are|what is)(?: me)? (?:all )?(?:of )?(?:the )?"
        r"(?:chapters|headings|documents|files|contents|table of contents)"
        r"|what (?:documents|files|chapters) (?:are|do you have|do i have)(?: there| here)?"
        r"|what (?:can|could|will) i (?:find|read|learn)(?: in)? here"
        rf"|what (?:kind|sort|type)s? of {_TEXT} (?:is|are) (?:this|these|it|they)"
        rf"|(?:what is |what's )?the big picture|in a nutshell|what is this){_END}"
    ),
    summary=Words(
        rf"^{_POLITE}(?:(?:briefly |shortly )?(?:summari[sz]e|sum up|recap)|{_SUMMARY_NOUN}"
        rf" (?:of|on|about|for))(?: (?P<target>.+?))?{_END}"
    ),
    said=(
        Words(
            rf"^{_POLITE}(?:what(?:'s| is| was) (?:being )?"
            r"(?:said|written|reported|mentioned|there|stated)"
            r"|what information (?:is there|do (?:we|i|you) have)|what do (?:we|i) have"
            r"|(?:find|collect|gather|list|show me)(?: me)?"
            r" (?:everything|all(?: passages| information)?)"
            r"|everything) (?:about|on|regarding|concerning) (?P<subject>.+?)"
            r"(?: (?:in|across|throughout)"
            rf" (?P<where>(?:all |any )*(?:the|this|these|those|my|our)\b.*?))?{_END}"
        ),
        Words(
            rf"^{_POLITE}(?:what|everything|all)(?: (?:that|which))?(?: (?:else|all|exactly))?"
            r" (?:(?:do|does|did) )?(?P<place>.+?) (?:have to |has to |all )*"
            r"(?:say|says|tell us|tell me|tell|mention|write|report|state|teach|recommend|advise"
            r"|contain|note) (?:about|on|regarding|concerning|of|as to|for)"
            rf" (?P<subject>.+?){_END}"
        ),
    ),
    about=(
        Words(
            rf"^(?:so,? )?(?:(?:tell me|explain|describe) what (?P<topic>.+?) (?:is|are)"
            rf"|what(?:'s|'re| is| are| was| were) (?P<target>.+?)) {_DEGREE}about{_END}"
        ),
        Words(
            r"^(?:what|which)(?: (?:main|key|major|kinds? of|sorts? of))*"
            r"(?: (?:topics?|themes?|subjects?|things?|information|areas?|questions))?"
            rf" (?:does|do|did) (?P<target>.+?) {_DEGREE}(?:cover|contain|describe|deal with"
            r"|talk about|discuss|teach|include|say|tell(?: us| me)?|explain|address|consist of"
            rf"|go (?:through|over)){_END}"
        ),
        Words(
            r"^(?:what|which)(?: (?:main|key|major|different|all))*"
            r" (?:topics?|themes?|subjects?|areas|chapters|contents?|information) (?:are|is)"
            r"(?: (?:covered|discussed|contained|treated|addressed|described|included|there"
            r"|available|found))?"
            rf"(?: (?:here|(?:in|by|across|throughout) (?P<target>.+?)))?{_END}"
        ),
        Words(
            r"^(?:(?:what|which) (?:are|is)|list|name|give me|show me|identify)"
            r"(?: (?:the|all|some))*(?: (?:main|key|major|central|most important|principal|core"
            r"|overarching|recurring|common))+"
            r" (?:topics?|themes?|points?|ideas?|takeaways?|subjects?|messages?|contents?|threads)"
            r"(?:(?: (?:discussed|covered|found|presented))?"
            rf" (?:of|in|from|across|throughout|by) (?P<target>.+?))?{_END}"
        ),
        Words(
            r"^(?:what|which)(?: (?:main|key|major|recurring|common|other))*"
            r" (?:topics|themes|subjects|ideas|threads|trends|patterns)"
            r" (?:recur|emerge|appear|run|come up|come back|stand out|prevail|dominate)"
            r"(?: (?:again and again|most often|repeatedly|most))?"
            rf"(?: (?:in|across|throughout|through) (?P<target>.+?))?{_END}"
        ),
        Words(
            r"^what(?:'s| is) (?:in|inside|the (?:content|subject|topic|purpose|structure) of)"
            rf" (?P<target>.+?){_END}",
            rf"^how (?:is|are) (?P<topic>.+?) (?:structured|organi[sz]ed){_END}",
        ),
    ),
    tell=Words(
        rf"^{_POLITE}(?:tell me (?:more )?about|describe|introduce|explain) (?P<target>.+?){_END}"
    ),
    tell_all=Words(
        rf"^{_POLITE}"
        r"(?:tell me|what (?:do|can) you (?:know|tell me|say)|give me|show me|i want to know)"
        r"(?: (?:more|much|everything|something|anything|all|some|a bit|a little|the|any"
        r"|information|info|details|facts|events|news|stories|background))*"
        r" (?:about|on|regarding|concerning)"
        rf" (?P<subject>(?!(?:how|why|when|what|whether|if)\b).+?){_END}"
    ),
    fact=NOTHING,
)

_SAID = Words(
    r"\b(?:discuss(?:es|ed|ing|ions?)?|mention(?:s|ed|ing)?|talk(?:s|ed|ing)?|speak(?:s|ing)?"
    r"|spoken|cited?|broach(?:ed)?|emphasi[sz]ed?|highlight(?:s|ed)?|refer(?:red)? to|referenced"
    r"|express(?:ed)?|debated?|argued?|comment(?:ed|ary)|presented|perceived?|addressed|raised"
    r"|recounting|insights|perspectives|views|opinions|stories|anecdotes|conversations?|guests?"
    r"|speakers|hosts?|authors|leaders|themes|trends|patterns|episodes?|podcasts?|interviews)\b"
)
"""Words for saying, for those who say something, and for what they say."""
_SEVERAL = Words(r"\b[a-z]{3,}(?<!s)s\b")
_ASKS_IN_GENERAL = Words(r"^(?:what|which|how(?! (?:many|much|long))|do|are|can|is)\b")
_OF_A_FEW = Words(r"\b(?:the|these|those) (?:two|three|four|both)\b")
_WORD = re.compile(r"[A-Za-z][\w'’-]*")
_ACRONYM = re.compile(r"[A-Z]{2,}$")
_FEWEST_WORDS = 4


def _asks_what_many_say(text: str) -> bool:
    """Return True if a question without names asks what many say, or how often they do."""
    if not _ASKS_IN_GENERAL.match(text) or _OF_A_FEW.search(text) or _names_something(text):
        return False
    is_long = len(_WORD.findall(text)) >= _FEWEST_WORDS
    return is_long and bool(_SAID.search(text) and _SEVERAL.search(text))


def _names_something(text: str) -> bool:
    """Return True if a question has a name, a number or a quotation; acronyms do not count."""
    if re.search(r"\d|[“\"「][^”\"」]+[”\"」]", text):
        return True
    words = [match[0] for match in _WORD.finditer(text)][1:]
    return any(word[0].isupper() and word != "I" and not _ACRONYM.match(word) for word in words)


ENGLISH = Language(
    scopes=_SCOPES,
    asks_what_many_say=_asks_what_many_say,
    relations=Words(
        r"^(?:please )?(?:tell me (?:more |all |everything )?about|describe|introduce|profile"
        r"|what do (?:we|you) know about)\b"
        r"|\b(?:relationship|relations|connections?|links?|ties) (?:between|among)\b"
        r"|\bhow (?:is|are|was|were) .+ (?:related|connected|linked) to\b"
        r"|(?-i:^[Ww]ho (?:is|was|are|were) (?!.*['’]s?\b)"
        r"[A-Z][\w'’.-]*(?: [\w'’.-]+){0,4}\?*$)"
    ),
    yes_no=Words(
        r"^\W*(?:is|are|was|were|am|do|does|did|can|could|may|might|must|shall|should|will|would"
        r"|has|have|had)\b"
    ),
    amount=Words(
        r"\bhow (?:many|much|long|often|large|big|old|far|high|deep|soon|fast|close|quickly|"
        r"frequently|wide|tall|few|small)\b|\b(?:max(?:imum)?|min(?:imum)?|limit|highest|biggest|"
        r"largest|smallest|lowest|longest|size|age|number|percent(?:age)?|fraction|interval|"
        r"timeout|port|ratio|version|length|speed|amount|price|rate)\b"
    ),
    default=Words(
        r"\bdefaults?\b|\bunless (?:told|otherwise|specified|set)\b|\bout of the box\b"
        r"|\bif (?:nothing|i|you|we) (?:was |is |has been )?"
        r"(?:configured|set|(?:do not|don.t) (?:set|give|specify)|give no|set no|leave)\b"
        r"|\bleft (?:alone|unset)\b"
    ),
    date=Words(
        r"\bwhen (?:did|was|were|is|does|do|will|has|had)\b|\bsince when\b"
        r"|\b(?:what|which) (?:year|date|day|month|time|century)\b"
    ),
    name=Words(
        r"\b(?:which|what) (?:[\w-]+ ){0,2}(?:directive|option|command|setting|parameter|function"
        r"|method|module|file|flag|switch|tool|program|package|variable|keyword|field|button|menu"
        r"|person|city|country|company|name)\b|\bwho(?:m|se)?\b"
    ),
    who=Words(r"\bwhom?\b"),
    when=Words(r"\bwhen\b"),
    where=Words(r"\bwhere\b"),
    pronoun=Words(
        r"(?P<one>(?:he|she)\b)|(?P<ones>(?:his|her)\b)|(?P<it>(?:it|they)\b)"
        r"|(?P<its>(?:its|their)\b)|(?P<the>the (?:company|film|song|album|band|book|city)\b)"
    ),
)
