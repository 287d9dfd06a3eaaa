"""Which gold answer an answer may be another spelling of: proposals for a person, who decides.

Each rule compares one spelling of a gold answer with the answer and, if it fits, gives its score: how often
people called the answer right where the rule was the first to fit, (right + 1) / (cases + 2). That was
counted on half of the questions of three sets of human verdicts, and `python -m benchmarks.human_verdicts`
counts it again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache

from anyascii import anyascii
from nicknames import NickNamer
from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein

from rtv_core.annotation.values import LONGEST, amount, dates, digits, same_amount
from rtv_core.text import same_answer
from rtv_core.words import stem

__all__ = ["LIKELY", "Suggestion", "suggest"]

LIKELY = 0.6
"""From this score on a proposal is good enough to stand first: of those, people accepted nine in ten."""

SPELLING_ERROR = 0.85
"""Spellings this alike (Damerau-Levenshtein, 1 is equal) may differ by a typing error."""

ALIKE = 85
"""Answers whose words are this alike, of 100, share their words (rapidfuzz's token set ratio)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SMALL_WORDS = _words(
    "a an the of in at on by from to for with and or as since during over under about around is s was are "
    "were be it its this that their his her he she they"
)
HEDGES = _words(
    "approximately approx circa roughly nearly almost up early mid late typically mainly mostly called named "
    "known located also per each"
)
TITLES = _words(
    "mr mrs ms miss dr doctor sir lord lady dame king queen prince princess emperor empress president vice "
    "general gen colonel captain admiral commander major chief justice pope reverend rev father professor "
    "prof senator governor sultan tsar czar duke duchess count earl baron"
)
NEGATIONS = _words("no not never none nor non without neither unknown")
NUMERALS = _words("ii iii iv vi vii viii ix xi xii xiii xiv xv xvi")

_WORD = re.compile(r"\d+(?:\.\d+)?[a-z]*|[a-z]+[+#]*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The answer may be a spelling of the gold answer `gold`: it relates to `spelling` as `reason` says.

    `score` is 0 to 1: the share of such answers that people called right. It is no verdict on this one.
    """

    gold: str
    spelling: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Form:
    """A text as the rules see it: Latin letters without accents, lower case, numbers in digits.

    `joined` is all of it in one word; `content` leaves out small words, unless there are no others; `numbers`
    holds Roman numerals too; `currencies` holds currency signs, which are no words.
    """

    text: str
    joined: str
    words: tuple[str, ...]
    content: tuple[str, ...]
    stems: frozenset[str]
    numbers: frozenset[str]
    currencies: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Rule:
    score: float
    reason: str
    fits: Callable[[_Form, _Form, Set[str]], bool]


def suggest(answer: str, gold: Sequence[Sequence[str]], question: str = "") -> list[Suggestion]:
    """The gold answers, each a sequence of spellings, that `answer` may be a spelling of; best first.

    Nothing is said of a gold answer that no rule relates to it. With the `question`, words that only repeat
    it count for nothing: "four feet" against "4" is the number that was asked for.
    """
    own, asked = _form(answer), _form(question).stems
    found = [_best(own, spellings, asked) for spellings in gold] if own.words else []
    return sorted((suggestion for suggestion in found if suggestion), key=lambda s: -s.score)


def _best(own: _Form, spellings: Sequence[str], asked: Set[str]) -> Suggestion | None:
    """The best rule over the spellings of one gold answer; the first spelling names it."""
    best: tuple[int, str] | None = None
    for spelling in spellings:
        gold = _form(spelling)
        rules = RULES[: best[0]] if best else RULES
        if gold.words and (number := _first(rules, own, gold, asked)) is not None:
            best = number, spelling
    if best is None:
        return None
    rule = RULES[best[0]]
    return Suggestion(spellings[0], best[1], rule.score, rule.reason)


def _first(rules: Sequence[_Rule], own: _Form, gold: _Form, asked: Set[str]) -> int | None:
    if own.currencies and gold.currencies and own.currencies.isdisjoint(gold.currencies):
        return None
    return next((number for number, rule in enumerate(rules) if rule.fits(own, gold, asked)), None)


@lru_cache(maxsize=16384)
def _form(text: str) -> _Form:
    signs = frozenset(c for c in text if unicodedata.category(c) == "Sc")
    plain = anyascii("".join(" " if c in signs else c for c in text)).lower()
    plain = _THOUSANDS.sub("", plain.replace("'s ", " ").replace("'", ""))
    words = tuple(_WORD.findall(digits(plain)))
    content = tuple(word for word in words if word not in SMALL_WORDS) or words
    return _Form(
        text,
        "".join(re.findall(r"[a-z0-9+#]", plain)),
        words,
        content,
        frozenset(map(stem, content)),
        frozenset(word for word in words if _is_number(word)),
        signs,
    )


@cache
def _nicknames() -> NickNamer:
    return NickNamer()


def _equal(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return bool(own.joined) and (own.joined == gold.joined or same_answer(own.text, gold.text))


def _same_words(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return own.stems == gold.stems


def _same_date(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    mine, theirs = _dates(own, gold, asked)
    return bool(mine) and set(mine) == set(theirs)


def _same_amount(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    if not (own.numbers and gold.numbers):
        return False
    one, other = amount(own.text), amount(gold.text)
    return one is not None and other is not None and same_amount(one, other)


def _same_but_title(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return bool(_names(own)) and _names(own) == _names(gold)


def _same_name(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    """Surnames equal, first names equal, short for each other or initials, the middle names in order."""
    one, other = _names(own), _names(gold)
    if min(len(one), len(other)) < 2 or own.numbers or gold.numbers or one[-1] != other[-1]:
        return False
    fewer, more = sorted((one[1:-1], other[1:-1]), key=len)
    rest = iter(more)
    return _short_for(one[0], other[0]) and all(any(_short_for(n, m) for m in rest) for n in fewer)


def _abbreviates(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return _initials_of(own, gold) or _initials_of(gold, own)


def _same_but_brackets(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    one, other = _without_brackets(own.text), _without_brackets(gold.text)
    changed = one != own.text or other != gold.text
    return changed and bool(one and other) and _form(one).content == _form(other).content


def _same_before_comma(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return _before_comma(own) == gold.content or _before_comma(gold) == own.content


def _vaguer_date(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    """One date leaves out parts of the other, or is one of its several dates."""
    mine, theirs = _dates(own, gold, asked)
    if len(mine) == len(theirs) == 1:
        one, other = mine[0].said().items(), theirs[0].said().items()
        return one < other or other < one
    return bool(mine and theirs) and (set(mine) < set(theirs) or set(theirs) < set(mine))


def _adds_question_words(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return gold.stems <= own.stems and not _news(own, gold, asked)


def _lacks_question_words(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return own.stems <= gold.stems and not _news(gold, own, asked)


def _surname(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return _is_one_name(own, gold, -1)


def _first_name(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return _is_one_name(own, gold, 0)


def _adds_words(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return gold.stems <= own.stems and not _turns(_news(own, gold, asked))


def _lacks_words(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return own.stems <= gold.stems and not _turns(_news(gold, own, asked))


def _misspelt(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    if own.numbers != gold.numbers or not 5 <= len(own.joined) <= LONGEST:
        return False
    cutoff = SPELLING_ERROR
    return DamerauLevenshtein.normalized_similarity(own.joined, gold.joined, score_cutoff=cutoff) >= cutoff


def _alike(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    if own.numbers != gold.numbers:
        return False
    return fuzz.token_set_ratio(" ".join(own.content), " ".join(gold.content)) >= ALIKE


def _within(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    return own.stems <= gold.stems or gold.stems <= own.stems


def _half_shared(own: _Form, gold: _Form, asked: Set[str]) -> bool:
    shared = (own.stems & gold.stems) - asked
    most = max(len(own.stems), len(gold.stems))
    return own.numbers == gold.numbers and bool(shared) and 2 * len(own.stems & gold.stems) >= most


RULES = (
    _Rule(0.89, "the same but for accents, spacing or punctuation", _equal),
    _Rule(0.97, "the same words in another form or order", _same_words),
    _Rule(0.86, "the same date", _same_date),
    _Rule(0.86, "the same amount", _same_amount),
    _Rule(0.92, "the same but for a title", _same_but_title),
    _Rule(0.92, "the same name with a nickname, initials or more names", _same_name),
    _Rule(0.50, "one is short for the other", _abbreviates),
    _Rule(0.84, "the same date, said more or less exactly", _vaguer_date),
    _Rule(0.99, "adds only words of the question", _adds_question_words),
    _Rule(0.64, "leaves out only words of the question", _lacks_question_words),
    _Rule(0.88, "the same but for what is in brackets", _same_but_brackets),
    _Rule(0.92, "the same up to the comma", _same_before_comma),
    _Rule(0.84, "the surname alone", _surname),
    _Rule(0.76, "the first name alone", _first_name),
    _Rule(0.67, "spelt almost the same", _misspelt),
    _Rule(0.97, "adds words", _adds_words),
    _Rule(0.90, "leaves out words", _lacks_words),
    _Rule(0.56, "adds or leaves out words that may change the meaning", _within),
    _Rule(0.70, "almost the same words", _alike),
    _Rule(0.46, "shares half of its words", _half_shared),
)
"""In the order in which they are asked."""


def _names(form: _Form) -> tuple[str, ...]:
    return tuple(word for word in form.content if word not in TITLES)


def _short_for(one: str, other: str) -> bool:
    if one == other or 1 in (len(one), len(other)):
        return one[0] == other[0]
    known = _nicknames()
    return one in known.nicknames_of(other) or other in known.nicknames_of(one)


def _is_one_name(own: _Form, gold: _Form, place: int) -> bool:
    one, all_ = _names(own), _names(gold)
    return len(one) == 1 and 2 <= len(all_) <= 3 and one[0] == all_[place] and not _turns(all_)


def _initials_of(short: _Form, long: _Form) -> bool:
    if not 2 <= len(short.joined) <= 6 or len(long.words) < 2:
        return False
    return short.joined in ("".join(w[0] for w in words) for words in (long.words, long.content))


def _without_brackets(text: str) -> str:
    return re.sub(r"\s*[(\[].*?[)\]]", "", text).strip()


def _before_comma(form: _Form) -> tuple[str, ...]:
    head, comma, _ = form.text.partition(",")
    return _form(head).content if comma else ()


def _dates(own: _Form, gold: _Form, asked: Set[str]) -> tuple[tuple, tuple]:
    """The dates of both; none where the answer says more than a date."""
    if not (own.numbers and gold.numbers):
        return (), ()
    mine, said = dates(own.text)
    theirs, known = dates(gold.text)
    if list(_new(set(said) - set(known), asked)):
        return (), ()
    return mine, theirs


def _news(one: _Form, other: _Form, asked: Set[str]) -> list[str]:
    """The words of one text that tell more than the other one and the question do."""
    return list(_new((word for word in one.content if stem(word) not in other.stems), asked))


def _new(words: Iterable[str], asked: Set[str]) -> Iterable[str]:
    return (w for w in words if w not in SMALL_WORDS and w not in HEDGES and stem(w) not in asked)


def _turns(words: Iterable[str]) -> bool:
    """Whether a word is a number or a negation: with it, an answer says something else."""
    return any(_is_number(word) or word in NEGATIONS for word in words)


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMERALS
