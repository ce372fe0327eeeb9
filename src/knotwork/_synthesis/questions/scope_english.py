"""Patterns of English questions about the whole, a document, a topic, a number or steps."""

from __future__ import annotations

import re

from knotwork._synthesis.questions.scopes import QuestionScope, ScopeKind, read_count
from knotwork._text.terms import content_terms

_MOST_NAME_WORDS = 12
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
_SUMMARY_WORD = r"(?:summary|overview|outline|synopsis|gist|recap|abstract|tl;?dr)"
_SUMMARY_NOUN = (
    r"(?:(?:give|write|show|provide|make|get|create|have)(?: me| us)? )?(?:what(?:'s| is) )?"
    r"(?:an? |the )?(?:(?:brief|short|quick|concise|high-level|general|rough|full) )*"
    rf"{_SUMMARY_WORD}"
)
_SUMMARY = re.compile(
    rf"^{_POLITE}(?:(?:briefly |shortly )?(?:summari[sz]e|sum up|recap)|{_SUMMARY_NOUN}"
    rf" (?:of|on|about|for))(?: (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_BARE_SUMMARY = re.compile(
    rf"^{_POLITE}(?:{_SUMMARY_NOUN}|table of contents"
    r"|(?:list|show|what are|what is)(?: me)? (?:all )?(?:of )?(?:the )?"
    r"(?:chapters|headings|documents|files|contents|table of contents)"
    r"|what (?:documents|files|chapters) (?:are|do you have|do i have)(?: there| here)?"
    r"|what (?:can|could|will) i (?:find|read|learn)(?: in)? here"
    rf"|what (?:kind|sort|type)s? of {_TEXT} (?:is|are) (?:this|these|it|they)"
    rf"|(?:what is |what's )?the big picture|in a nutshell|what is this){_END}",
    re.IGNORECASE,
)
_DEGREE = r"(?:(?:all|mainly|mostly|primarily|really|generally|basically|actually) )*"
_ABOUT = re.compile(
    rf"^(?:so,? )?(?:(?:tell me|explain|describe) what (?P<topic>.+?) (?:is|are)"
    rf"|what(?:'s|'re| is| are| was| were) (?P<target>.+?)) {_DEGREE}about{_END}",
    re.IGNORECASE,
)
_COVERS = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|kinds? of|sorts? of))*"
    r"(?: (?:topics?|themes?|subjects?|things?|information|areas?|questions))?"
    rf" (?:does|do|did) (?P<target>.+?) {_DEGREE}(?:cover|contain|describe|deal with|talk about"
    rf"|discuss|teach|include|say|tell(?: us| me)?|explain|address|consist of){_END}",
    re.IGNORECASE,
)
_COVERED = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|different|all))*"
    r" (?:topics?|themes?|subjects?|areas|chapters|contents?|information) (?:are|is)"
    r"(?: (?:covered|discussed|contained|treated|addressed|described|included|there|available"
    rf"|found))?(?: (?:here|(?:in|by|across|throughout) (?P<target>.+?)))?{_END}",
    re.IGNORECASE,
)
_THEMES = re.compile(
    r"^(?:(?:what|which) (?:are|is)|list|name|give me|show me|identify)(?: (?:the|all|some))*"
    r"(?: (?:main|key|major|central|most important|principal|core|overarching|recurring|common))+"
    r" (?:topics?|themes?|points?|ideas?|takeaways?|subjects?|messages?|contents?|threads)"
    r"(?:(?: (?:discussed|covered|found|presented))?"
    rf" (?:of|in|from|across|throughout|by) (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_RECUR = re.compile(
    r"^(?:what|which)(?: (?:main|key|major|recurring|common|other))*"
    r" (?:topics|themes|subjects|ideas|threads|trends|patterns)"
    r" (?:recur|emerge|appear|run|come up|come back|stand out|prevail|dominate)"
    r"(?: (?:again and again|most often|repeatedly|most))?"
    rf"(?: (?:in|across|throughout|through) (?P<target>.+?))?{_END}",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"^what(?:'s| is) (?:in|inside|the (?:content|subject|topic|purpose|structure) of)"
    rf" (?P<target>.+?){_END}"
    rf"|^how (?:is|are) (?P<structured>.+?) (?:structured|organi[sz]ed){_END}",
    re.IGNORECASE,
)
_TELL_OF = re.compile(
    rf"^{_POLITE}(?:tell me (?:more )?about|describe|introduce|explain) (?P<target>.+?){_END}",
    re.IGNORECASE,
)
_TELL_ALL = re.compile(
    rf"^{_POLITE}"
    r"(?:tell me|what (?:do|can) you (?:know|tell me|say)|give me|show me|i want to know)"
    r"(?: (?:more|much|everything|something|anything|all|some|a bit|a little|the|any|information"
    r"|info|details|facts|events|news|stories|background))*"
    r" (?:about|on|regarding|concerning)"
    rf" (?P<subject>(?!(?:how|why|when|what|whether|if)\b).+?){_END}",
    re.IGNORECASE,
)
_SAYS = re.compile(
    rf"^{_POLITE}(?:what|everything|all)(?: (?:that|which))?(?: (?:else|all|exactly))?"
    r" (?:(?:do|does|did) )?(?P<where>.+?) (?:have to |has to |all )*"
    r"(?:say|says|tell us|tell me|tell|mention|write|report|state|teach|recommend|advise|contain"
    r"|note) (?:about|on|regarding|concerning|of|as to|for) (?P<subject>.+?)" + _END,
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"^{_POLITE}(?:what(?:'s| is| was) (?:being )?(?:said|written|reported|mentioned|there|stated)"
    r"|what information (?:is there|do (?:we|i|you) have)|what do (?:we|i) have"
    r"|(?:find|collect|gather|list|show me)(?: me)? (?:everything|all(?: passages| information)?)"
    r"|everything) (?:about|on|regarding|concerning) (?P<subject>.+?)"
    r"(?: (?:in|across|throughout)"
    rf" (?P<where>(?:all |any )*(?:the|this|these|those|my|our)\b.*?))?{_END}",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:people|persons?|individuals|characters?|figures|companies|compan(?:y|ies)|organi[sz]ations?"
    r"|institutions?|firms|places?|locations?|cities|countries|regions|names|terms|entities|entity"
    r"|dates|works|things|technologies)"
)
_NAMED = r"(?:mentioned|named|cited|discussed|referred to|talked about|referenced)"
_OFTEN = r"(?:the )?most(?: (?:often|frequently|commonly))?"
_MOST = (
    rf"most(?: |-)(?:(?:often|frequently|commonly)[ -])?(?:{_NAMED}|frequent|common|important"
    r"|prominent|central|influential)"
)
_WHERE = r"(?: (?:in|across|throughout) (?P<where>.+?))?"
_MANY = rf"^(?:which|what)(?: (?P<limit>\d+))? (?P<noun>{_NOUN})"
_SHOW = r"^(?:(?:what|who|which) (?:is|are|were)|list|name|show me|give me) (?:me )?"
_TOP = rf"(?:the )?(?:top )?(?P<limit>\d+)?\s?(?P<most>{_MOST}|main|key|central|top)"
_ALL = r"(?:all )?(?:the )?(?:top (?P<limit>\d+) )?"
_RANKINGS = tuple(
    re.compile(form + _WHERE + _END, re.IGNORECASE)
    for form in (
        rf"{_MANY} (?:is|are|was|were|gets?) {_NAMED} {_OFTEN}",
        rf"{_MANY} (?:appears?|occurs?|comes? up) {_OFTEN}",
        rf"^(?P<noun>who) (?:is|are|was|gets?) {_NAMED} {_OFTEN}",
        rf"^(?P<noun>who) (?:appears?|comes? up) {_OFTEN}",
        rf"{_SHOW}{_TOP} (?P<noun>{_NOUN})",
        rf"{_SHOW}{_ALL}(?P<noun>{_NOUN}) (?:that are |who are )?{_NAMED}(?: {_OFTEN})?",
        rf"^how many (?P<noun>{_NOUN}) (?:are|were|is) {_NAMED}",
    )
)
_UNIT = r"(?:documents|files|articles|reports|pages|chapters|sections|passages|papers|notes|texts)"
_MENTION = r"(?:mention|mentions|contain|name|cite|refer to|reference|talk about|discuss)"
_HOW_OFTEN = r"^how (?:often|many times|frequently)"
_PLACE = r"(?: (?:in|across) .+?)?"
_APPEAR = r"(?:appear|occur|come up|get mentioned)"
_MENTIONS = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"^(?:how many|which|what) (?:of (?:the|my|these) )?{_UNIT} {_MENTION} (?P<subject>.+?)",
        rf"^in (?:how many|which|what) {_UNIT} (?:is|are|was) (?P<subject>.+?) {_NAMED}",
        rf"^in (?:how many|which|what) {_UNIT} (?:does|do|did) (?P<subject>.+?) {_APPEAR}",
        rf"{_HOW_OFTEN} (?:is|are|was|were) (?P<subject>.+?) {_NAMED}{_PLACE}",
        rf"{_HOW_OFTEN} (?:does|do|did) (?P<subject>.+?) {_APPEAR}{_PLACE}",
    )
)

_NO_TEXT = frozenset(["to", "you", "i", "we", "can", "could", "do", "would", "should"])
_DETERMINER = re.compile(
    r"^(?:(?:all|each|both|any|every|of|the|this|these|those|that|my|our|your|whole|entire|full"
    r"|complete|given|uploaded|indexed|above|following|here|it|they)\b\s*)+",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"(?:all |everything |of )*(?:this|these|that|it|they|everything|all)(?: here)?$", re.IGNORECASE
)
_LAST_TEXT = re.compile(rf"^(?P<rest>.*?)\b{_TEXT}$", re.IGNORECASE)


def read_english(text: str) -> QuestionScope | None:
    """Return the scope of an English question; None for any other question."""
    if counted := read_count(text, _RANKINGS, _MENTIONS):
        return counted
    return (
        read_english_steps(text) or _read_summary(text) or _read_topic(text) or _read_subject(text)
    )


def _read_summary(text: str) -> QuestionScope | None:
    """Return the scope of "summarise …" and "an overview of …"."""
    if _BARE_SUMMARY.match(text):
        return QuestionScope(ScopeKind.WHOLE)
    found = _SUMMARY.match(text)
    if found is None:
        return None
    target = found["target"] or ""
    # "Summarize what the documents say about storms" is about storms.
    return _read_topic(target) or _of_target(target, otherwise=ScopeKind.TOPIC)


def _read_topic(text: str) -> QuestionScope | None:
    """Return the scope of "what do the documents say about …"."""
    if found := _SAID.match(text):
        return QuestionScope(ScopeKind.TOPIC, found["subject"], _restriction(found["where"] or ""))
    found = _SAYS.match(text)
    return _said_somewhere(found) if found else None


def _read_subject(text: str) -> QuestionScope | None:
    """Return the scope of "what is … about" and similar questions."""
    for form in (_ABOUT, _COVERS, _COVERED, _THEMES, _RECUR, _INSIDE):
        if found := form.match(text):
            target = next((part for part in found.groups() if part), "")
            return _of_target(target, otherwise=ScopeKind.PART)
    found = _TELL_OF.match(text)
    if found and (_POINTING.match(found["target"]) or _LAST_TEXT.match(found["target"])):
        return _of_target(found["target"], otherwise=ScopeKind.PART)
    # "Tell me about Ada" is about her, even if a document has her name as its title.
    found = _TELL_ALL.match(text)
    return QuestionScope(ScopeKind.THING, found["subject"]) if found else None


def _restriction(where: str) -> str:
    """Return a phrase that may name a document; "" for phrases such as "these files"."""
    return "" if _means_all(where) else where


def _of_target(target: str, *, otherwise: ScopeKind) -> QuestionScope | None:
    """Return the scope of a phrase: all documents, or else of the kind ``otherwise``.

    None if the phrase is too long to be a name.
    """
    if _means_all(target):
        return QuestionScope(ScopeKind.WHOLE)
    if otherwise is ScopeKind.TOPIC:
        return QuestionScope(ScopeKind.TOPIC, target, target)
    if len(target.split()) > _MOST_NAME_WORDS:
        return None
    return QuestionScope(ScopeKind.PART, target, target, is_sure=False)


def _means_all(phrase: str) -> bool:
    if not phrase or _POINTING.match(phrase):
        return True
    last = _LAST_TEXT.match(phrase)
    return last is not None and not _DETERMINER.sub("", last["rest"]).strip()


def _said_somewhere(found: re.Match[str]) -> QuestionScope | None:
    where = found["where"]
    if _means_all(where):
        return QuestionScope(ScopeKind.TOPIC, found["subject"])
    if len(where.split()) > _MOST_NAME_WORDS or where.split()[0].casefold() in _NO_TEXT:
        return None
    # "the maintenance chapter" means a part of the corpus; for "BBC article" one must exist.
    is_small = where == where.lower()
    ours = is_small and bool(_LAST_TEXT.match(where) and _DETERMINER.match(where))
    return QuestionScope(ScopeKind.TOPIC, found["subject"], where, is_sure=ours)


def strip_english(phrase: str) -> str:
    """Return a phrase without words for texts: "travel" for "the travel chapter"."""
    bare = _DETERMINER.sub("", phrase)
    last = _LAST_TEXT.match(bare)
    return (last["rest"] if last else bare).strip()


_STEPS_END = r"[\s?.!]*$"
_STEPS_POLITE = r"(?:(?:please|can you|could you|would you|i need|i(?:'d| would) like),? )*"
_SUBJECT = r"(?P<subject>.+?)"
_STEP_BY_STEP = r"step[- ]by[- ]step"
_STEPS = r"(?:(?!the\b)\w+ ){0,2}(?:steps|stages|phases)"
_NEEDED = r"(?: (?:needed|required|involved|necessary))?"
_ACTOR = r"(?:i|we|you|one|someone|an? \w+)"
_WHAT, _IS = r"(?:what|which)", r"(?:what is|what's)"
_MUST = rf"(?:do|should|must|shall|would) {_ACTOR} (?:need to |have to |first )*"
_THINGS = r"(?:what|which (?:things|questions|points|issues|decisions|aspects))"
_CONSIDER = (
    r"(?:consider|settle|decide(?: on)?|clarify|plan|prepare|think (?:about|of|through|over)"
    r"|be clear about|take into account|sort out|work out|keep in mind|figure out"
    r"|ask (?:my|our|your)sel(?:f|ves))"
)
_BE_CONSIDERED = (
    r"(?:has to|have to|must|should|needs? to|ought to) (?:first )?be"
    r" (?:considered|settled|decided|clarified|planned|prepared|thought (?:about|of|through)"
    r"|taken into account|sorted out|worked out|kept in mind|answered|asked)"
)
_BEFORE = r"(?: first)? (?:before|when|prior to)"
_PROCEDURE = (
    r"(?:(?:right|correct|recommended|proper|usual) )?"
    r"(?:procedure|process|workflow|order of steps|sequence of steps)"
)
_TAKE = (
    r"(?:take|involve|include|consist of|need|require|go through|follow|have|to take|required"
    r"|necessary)"
)
_GUIDE = rf"{_STEP_BY_STEP} (?:guide|instructions?|tutorial|explanation)"
_FORMS = tuple(
    re.compile(f"^{_STEPS_POLITE}{form}{_STEPS_END}", re.IGNORECASE)
    for form in (
        rf"{_SUBJECT},? \(?(?:{_STEP_BY_STEP}|from (?:start|beginning) to (?:finish|end))\)?",
        (
            rf"(?:(?:tell|show|explain|describe)(?: to)?(?: me| us)?,? )?{_STEP_BY_STEP},? "
            r"(?P<subject>(?:how|what) .+?)"
        ),
        rf"{_WHAT} (?:are|were) (?:the )?{_STEPS}{_NEEDED} (?:of|for|to|in|when) {_SUBJECT}",
        (
            rf"(?:list|give me|show me|describe|explain|name) (?:the )?{_STEPS}{_NEEDED}"
            rf" (?:of|for|to|in) {_SUBJECT}"
        ),
        (
            rf"{_WHAT} {_STEPS} {_MUST}(?:take|follow|do|perform|go through)"
            rf" (?:to|for|when|before) {_SUBJECT}"
        ),
        rf"{_WHAT} {_STEPS} (?:do|does|did|must|should|have to|has to|are|is) {_SUBJECT} {_TAKE}",
        rf"in {_WHAT} (?:order|sequence) (?:do|should|must|shall) {_ACTOR} {_SUBJECT}",
        rf"{_IS} the {_PROCEDURE} (?:for|to|of|when) {_SUBJECT}",
        rf"(?:walk|take|guide|lead) (?:me|us) through {_SUBJECT}",
        rf"(?:give|show|write)(?: me| us)? an? {_GUIDE} (?:to|for|on|of) {_SUBJECT}",
        rf"{_THINGS} {_MUST}{_CONSIDER}{_BEFORE} {_SUBJECT}",
        rf"{_THINGS} {_BE_CONSIDERED}{_BEFORE} {_SUBJECT}",
        rf"before {_SUBJECT}, {_THINGS} (?:{_MUST}{_CONSIDER}|{_BE_CONSIDERED})(?: first)?",
    )
)


def read_english_steps(text: str) -> QuestionScope | None:
    """Return the scope of an English question for steps; None for any other question.

    The subject keeps the words that ask ("what should I do"), so that it is similar to advice.
    """
    for form in _FORMS:
        found = form.match(text)
        if found and content_terms(found["subject"]):
            return QuestionScope(ScopeKind.STEPS, found["subject"])
    return None
