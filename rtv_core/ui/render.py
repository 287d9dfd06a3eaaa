"""Records to HTML: the only module that writes markup. Every string from data goes through `escape`.

What is drawn is bounded (passages, candidates, characters), and says so. Words for every state of a row are in
the markup and the style sheet shows the one that `data-state` names, so that moving tau changes attributes only.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from rtv_core.records import (
    EVIDENCE_SIZES,
    Candidate,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    Trace,
    Verdict,
)
from rtv_core.settings import VerifierSettings
from rtv_core.text import find_answer
from rtv_core.thresholds import judge
from rtv_core.ui.checks import EVIDENCE_LABELS, LABELS
from rtv_core.ui.marks import Row, gold_answers

__all__ = [
    "escape",
    "render_candidates",
    "render_empty_evidence",
    "render_evidence",
    "render_examples",
    "render_failure",
    "render_header",
    "render_judge",
    "render_keys",
    "render_mentions",
    "render_message",
    "render_notice",
    "render_passages",
    "render_progress",
    "render_saved",
    "render_summary",
    "render_undone",
    "render_welcome",
]

PASSAGES_DRAWN = 100
CANDIDATES_DRAWN = 200
EXAMPLES_DRAWN = 200
EXAMPLES_TO_START = 3
CHARACTERS_OF_A_PASSAGE = 3000
CHARACTERS_OF_AN_ANSWER = 200
SPELLINGS_DRAWN = 5
SNIPPET = 110

_UNSEEN = {i: 0x2400 + i for i in range(32) if chr(i) not in "\t\n\r"} | {0x7F: 0x2421}
_STATES = {
    "accepted": ("✓", "accepted"),
    "fallback": ("✓", "kept as the best: none is above tau"),
    "rejected": ("–", "rejected"),
    "repeat": ("=", "a repeat of a better candidate"),
    "unverified": ("·", "not verified yet"),
    "missed": ("?", "not among the candidates"),
}
_LABEL_WORDS = {
    "listed": "equals a gold answer",
    "variant": "a gold answer in other words",
    "unlisted": "right, but not in the gold",
    "invalid": "wrong",
    "unsure": "can't tell",
}
_EVIDENCE_WORDS = {
    "supports": ("q", "supports", "the passages show that the answer is right"),
    "insufficient": ("w", "insufficient", "the passages don't settle it"),
    "contradicts": ("e", "contradicts", "the passages show that the answer is wrong"),
    "other-entity": ("r", "other entity", "the passages are about something else of that name"),
}
_STAGES = (("retrieve", "retrieved"), ("recall", "recalled"), ("gather", "evidence"), ("verify", "verified"))
_ORDER = ("asked", "retrieved", "recalled", "gathered", "verified")


def escape(text: str, most: int | None = None) -> str:
    """Text for HTML: quotes too, control characters made visible, cut after `most` characters."""
    if most is not None and len(text) > most:
        text = text[:most] + "…"
    text = text.translate(_UNSEEN).encode("utf-8", "replace").decode("utf-8")
    return html.escape(text, quote=True)


def render_header(corpus: str, profile: str) -> str:
    """The line at the top: what is searched, and with which profile."""
    return (
        '<div class="rtv-brand"><b>RTV</b></div>'
        f'<p class="rtv-where">corpus <b>{escape(corpus, 80)}</b><span aria-hidden="true"> · </span>'
        f'profile <b data-profile="{escape(profile, 80)}">{escape(profile, 80)}</b></p>'
    )


def render_message(text: str, kind: str = "note") -> str:
    """One plain sentence. `kind` is "note", "busy" or "error"; an error is read out at once."""
    role = "alert" if kind == "error" else "status"
    sign = '<span class="sign" aria-hidden="true">✕</span> ' if kind == "error" else ""
    return f'<p class="rtv-message {escape(kind)}" role="{role}">{sign}{escape(text, 600)}</p>'


def render_notice(text: str) -> str:
    """A message above the page, or nothing."""
    return render_message(text) if text else ""


def render_examples(questions: Sequence[Question]) -> str:
    """The example questions, behind one button."""
    if not questions:
        return ""
    items = "".join(f"<li>{_example(q)}</li>" for q in questions[:EXAMPLES_DRAWN])
    return f'<details class="rtv-examples"><summary>Examples</summary><ul>{items}</ul></details>'


def render_welcome(questions: Sequence[Question]) -> str:
    """What stands in place of the stages before the first question: a few examples to start from."""
    few = "".join(_example(q) for q in questions[:EXAMPLES_TO_START])
    text = "Ask a question, or try" if few else "Ask a question to see every stage here."
    return f'<div class="rtv-progress idle"><p class="try"><span>{text}</span>{few}</p></div>'


def render_progress(trace: Trace, running: bool = False, stopped: bool = False, link: str = "") -> str:
    """The stages in one line: counts, a sign for what is done, seconds. `link` goes into the address."""
    done = _ORDER.index(trace.stage)
    counts = (
        f"{len(trace.hits)}",
        f"{len(trace.candidates)}",
        "",
        f"{len(trace.verdicts)}/{len(trace.candidates)}",
    )
    parts, active = [], False
    for place, ((timer, word), count) in enumerate(zip(_STAGES, counts, strict=True), start=1):
        finished = done >= place
        now = running and not finished and not active
        active = active or now
        state = "done" if finished else "now" if now else "waiting"
        shown = f" <b>{count}</b>" if count and (finished or now) else ""
        seconds = f' <span class="s">{trace.seconds[timer]:.2f} s</span>' if timer in trace.seconds else ""
        sign = {"done": "✓", "now": "…", "waiting": ""}[state]
        bar = _progress_bar(timer, trace) if now else ""
        parts.append(
            f'<li class="{state}"{_current(now)}>{word}{shown} <span class="sign" aria-hidden="true">{sign}</span>'
            f'<span class="sr">{state}</span>{bar}{seconds}</li>'
        )
    total = sum(trace.seconds.values())
    tail = f'<li class="total">{total:.2f} s in all</li>' if trace.complete else ""
    if stopped and not trace.complete:
        tail = '<li class="incomplete"><span aria-hidden="true">■</span> stopped: incomplete</li>'
    return (
        f'<div class="rtv-progress" data-running="{int(running)}" data-link="{escape(link)}" '
        f'data-question="{escape(trace.question.text)}">'
        f'<ol aria-label="Stages">{"".join(parts)}{tail}</ol></div>'
    )


def render_summary(trace: Trace | None, rows: Sequence[Row], settings: VerifierSettings) -> str:
    """How many answers stand above tau, and how much of the gold they are."""
    if trace is None or not trace.candidates:
        return '<p class="rtv-summary"></p>'
    states = _states(trace, settings)
    accepted = [row for row in rows if states.get(row.index) in ("accepted", "fallback")]
    gold = gold_answers(trace.question)
    found = len({i for row in accepted for i in row.gold})
    text = f'<b data-count="answers">{len(accepted)}</b> kept of {len(rows)}'
    if gold:
        text += (
            f'<span class="gap">·</span><span class="gold"><span aria-hidden="true">★</span> '
            f'<b data-count="gold">{found}</b> of {len(gold)} gold found</span>'
        )
    elif trace.question.answers:
        text += '<span class="gap">·</span><span class="gold">gold: no answer</span>'
    return f'<p class="rtv-summary" aria-live="polite">{text}</p>'


def render_candidates(
    trace: Trace | None,
    rows: Sequence[Row],
    extra: Sequence[Row],
    settings: VerifierSettings,
    running: bool = False,
) -> str:
    """The candidates with the tau line among them, then the answers that nobody recalled."""
    head = _column_head("Candidates", str(len(rows)) if rows else "", "validity score")
    if trace is None:
        return head + _empty(
            "The candidate answers will be listed here, best first, with the tau line between."
        )
    if not rows and not extra:
        return head + _no_candidates(trace, running)
    states = _states(trace, settings)
    lines, above = [], True
    for row in rows[:CANDIDATES_DRAWN]:
        if above and not (row.p_right and row.p_right[_at(settings.k)] > settings.tau):
            lines.append(_tau_line(settings.tau))
            above = False
        lines.append(_candidate(row, states.get(row.index, "unverified"), settings.k))
    if above and rows:
        lines.append(_tau_line(settings.tau))
    if (more := len(rows) - CANDIDATES_DRAWN) > 0:
        lines.append(f'<li class="more" role="presentation">{more:,} more candidates are not drawn.</li>')
    if extra:
        lines.append('<li class="between" role="presentation">Not among the candidates</li>')
        lines += [_candidate(row, "missed", settings.k) for row in extra[:CANDIDATES_DRAWN]]
    note = _no_candidates(trace, running) if not rows else ""
    return (
        f'{head}{note}<ol class="rtv-candidates" role="listbox" aria-label="Candidates, best first" '
        f'data-stage="{escape(trace.stage)}" data-running="{int(running)}" '
        f'data-tau="{settings.tau:.4f}" data-k="{settings.k}" data-single="{int(settings.single_answer)}" '
        f'style="--tau:{settings.tau:.4f}">{"".join(lines)}</ol>'
    )


def render_empty_evidence(trace: Trace | None, running: bool = False) -> str:
    """The evidence column before a candidate is chosen."""
    if trace is None:
        text = "Choose a candidate to see the passages behind its score."
    elif running:
        text = "The evidence of the chosen candidate appears here as soon as it is gathered."
    else:
        text = "Choose a candidate on the left, or press j, to see the passages behind its score."
    return _column_head("Evidence") + _empty(text)


def render_evidence(trace: Trace, row: Row, settings: VerifierSettings) -> str:
    """What stands behind one candidate: its score for each k, and the evidence passages, best first."""
    if row.index is None:
        raise ValueError("an answer that was not recalled has no gathered evidence; use render_mentions")
    candidate = trace.candidates[row.index]
    head = _evidence_head(row, _states(trace, settings).get(row.index, "unverified"), settings)
    if row.index >= len(trace.evidence):
        return head + _empty("Its evidence is not gathered yet.")
    passages = trace.evidence[row.index].passages
    verdict = trace.verdicts[row.index] if row.index < len(trace.verdicts) else None
    if not passages:
        return head + _empty("No passage was gathered for this candidate.")
    items = "".join(
        _evidence_passage(place, passage, candidate, verdict, settings.k)
        for place, passage in enumerate(passages)
    )
    caption = (
        '<p class="rtv-caption">Bars: share of the verifier\'s attention at k = 10, '
        "<b>model behaviour, not a cause</b>.</p>"
        if verdict is not None and verdict.weights
        else ""
    )
    return f'{head}{caption}<ol class="rtv-evidence" aria-label="Evidence passages, best first">{items}</ol>'


def render_mentions(row: Row, found: Sequence[tuple[Hit, tuple[str, ...]]], retrieved: int) -> str:
    """The evidence column of an answer that was not recalled: which retrieved passages mention it."""
    spellings = (row.answer, *row.spellings)
    head = _evidence_head(row, "missed", None)
    if not found:
        return head + _empty(
            f"None of the {retrieved} retrieved passages mentions it. A larger number of passages "
            "(under Advanced) may find one."
        )
    items = "".join(
        _passage_card(place, hit, rules, False, spellings, "")
        for place, (hit, rules) in enumerate(found[:10])
    )
    caption = (
        f'<p class="rtv-caption">{len(found)} of {retrieved} retrieved passages '
        f"mention{'s' if len(found) == 1 else ''} it.</p>"
    )
    return f'{head}{caption}<ol class="rtv-evidence" aria-label="Passages that mention it">{items}</ol>'


def render_passages(trace: Trace | None, running: bool = False) -> str:
    """The retrieved passages: rank, scores, title, text with the recalled spans marked."""
    if trace is None:
        return _column_head("Retrieved") + _empty(
            "The retrieved passages will be listed here, with their scores."
        )
    head = _column_head("Retrieved", str(len(trace.hits)) if trace.hits else "", "dense score")
    if not trace.hits:
        text = "Searching…" if running else "No passage was found. Ask again in other words."
        return head + _empty(text)
    readings = {r.passage_id: r for r in trace.readings}
    spans: dict[str, list[tuple[int, int]]] = {}
    for candidate in trace.candidates:
        for source in candidate.sources:
            spans.setdefault(source.passage_id, []).append((source.span.start, source.span.end))
    drawn = trace.hits[:PASSAGES_DRAWN]
    items = "".join(
        _retrieved(hit, spans.get(hit.passage.id, ()), readings[hit.passage.id].relevance)
        if hit.passage.id in readings
        else _retrieved(hit, (), None)
        for hit in drawn
    )
    ticks = "".join(f'<i data-rank="{hit.rank}"></i>' for hit in drawn)
    more = ""
    if len(trace.hits) > len(drawn):
        more = f'<p class="more">{len(trace.hits) - len(drawn):,} more passages are not drawn.</p>'
    return (
        f'{head}<div class="rtv-ticks" aria-hidden="true" title="ranks, left to right">{ticks}</div>'
        '<p class="rtv-caption rtv-chosen-count" data-default="● gave the chosen candidate · ○ is evidence for it">'
        "● gave the chosen candidate · ○ is evidence for it</p>"
        f'<ol class="rtv-passages" role="listbox" aria-label="Retrieved passages, by rank">{items}</ol>{more}'
    )


def render_judge(question: Question | None, row: Row | None) -> str:
    """The verdict buttons of the chosen candidate, with what was said before."""
    gold = gold_answers(question) if question else ()
    said = row.judgement if row else None
    off = "" if row else " disabled"
    verdicts = "".join(
        _verdict_button(i, label, said, off or (" disabled" if label in LABELS[:2] and not gold else ""))
        for i, label in enumerate(LABELS, start=1)
    )
    evidence = "".join(_evidence_button(label, said, off) for label in EVIDENCE_LABELS)
    return (
        f'<div class="rtv-judge" data-key="{row.key if row else ""}" data-label="{said.label if said else ""}" '
        f'data-evidence="{said.evidence if said else ""}">'
        f'<div class="line" role="group" aria-label="Is the answer right?"><span class="lead">Answer</span>{verdicts}'
        f"{_gold_select(gold, row, said)}</div>"
        f'<div class="line" role="group" aria-label="Does the evidence support it?">'
        f'<span class="lead">Evidence</span>{evidence}</div><p class="rtv-local" role="status"></p></div>'
    )


def render_saved(judgement: Judgement, clock: str, token: str) -> str:
    """Says that a judgement is saved, and offers to take it back."""
    evidence = f", evidence {_EVIDENCE_WORDS[judgement.evidence][1]}" if judgement.evidence else ""
    return (
        f'<p class="rtv-saved ok" role="status" data-token="{escape(token, 80)}">'
        f'<span class="sign" aria-hidden="true">✓</span> Saved {escape(clock)} · <b>{escape(judgement.label)}</b>'
        f'{evidence} · <button type="button" data-action="undo">Undo</button></p>'
    )


def render_undone(text: str, clock: str, again: bool) -> str:
    """Says what an undo or redo did."""
    button = ' · <button type="button" data-action="redo">Redo</button>' if again else ""
    return f'<p class="rtv-saved ok" role="status">{escape(text)} {escape(clock)}{button}</p>'


def render_failure(text: str, token: str = "") -> str:
    """A judgement that was not saved: stays until the next one."""
    return (
        f'<p class="rtv-saved bad" role="alert" data-token="{escape(token, 80)}">'
        f'<span class="sign" aria-hidden="true">✕</span> <b>Not saved.</b> {escape(text, 600)}</p>'
    )


def render_keys() -> str:
    """The dialog that lists the keys."""
    keys = (
        ("j k", "next and previous candidate"),
        *((str(i), f"{label}: {_LABEL_WORDS[label]}") for i, label in enumerate(LABELS, start=1)),
        *((key, f"evidence {word}: {title}") for key, word, title in _EVIDENCE_WORDS.values()),
        ("n", "write a note; Enter saves it"),
        ("z", "undo, shift z redo"),
        ("/", "go to the question"),
        ("Esc", "leave a field"),
        ("?", "show these keys"),
    )
    rows = "".join(
        f"<div><dt>{' '.join(f'<kbd>{k}</kbd>' for k in key.split())}</dt><dd>{escape(text)}</dd></div>"
        for key, text in keys
    )
    return (
        '<dialog class="rtv-keys" aria-labelledby="rtv-keys-title"><h2 id="rtv-keys-title">Keys</h2>'
        f'<dl>{rows}</dl><form method="dialog"><button autofocus>Close</button></form></dialog>'
    )


def _example(question: Question) -> str:
    text = escape(question.text, CHARACTERS_OF_AN_ANSWER)
    return f'<button type="button" data-example="{escape(question.text)}" title="{text}">{text}</button>'


def _progress_bar(timer: str, trace: Trace) -> str:
    done, of = {
        "recall": (len(trace.readings), len(trace.hits)),
        "verify": (len(trace.verdicts), len(trace.candidates)),
    }.get(timer, (0, 0))
    if not of:
        return ""
    return (
        f' <span class="bar" role="progressbar" aria-label="{timer}" aria-valuemin="0" aria-valuemax="{of}" '
        f'aria-valuenow="{done}"><i style="width:{100 * done / of:.0f}%"></i></span>'
    )


def _current(now: bool) -> str:
    return ' aria-current="step"' if now else ""


def _column_head(title: str, count: str = "", right: str = "") -> str:
    number = f' <span class="n">{escape(count)}</span>' if count else ""
    aside = f'<span class="aside">{escape(right)}</span>' if right else ""
    return f'<div class="rtv-head"><h2>{title}{number}</h2>{aside}</div>'


def _empty(text: str) -> str:
    return f'<p class="rtv-empty">{escape(text)}</p>'


def _no_candidates(trace: Trace, running: bool) -> str:
    if running:
        return _empty("Reading the passages…")
    if not trace.complete:
        return _empty("Stopped before a candidate was recalled. Press Ask to start again.")
    return _empty(
        "No answer: no passage gave a candidate. Lower the relevance threshold or raise the number of passages "
        "under Advanced and ask again, or add the answer you expected below."
    )


def _at(k: int) -> int:
    return EVIDENCE_SIZES.index(k)


def _states(trace: Trace, settings: VerifierSettings) -> dict[int | None, str]:
    states: dict[int | None, str] = {}
    for p in judge(trace, settings):
        above = p.p_right > settings.tau and not settings.single_answer
        states[p.index] = (
            "fallback" if p.fallback else "accepted" if p.accepted else "repeat" if above else "rejected"
        )
    return states


def _tau_line(tau: float) -> str:
    return (
        '<li class="tau-line" role="presentation"><span>tau <b data-tau-text>'
        f'{tau:.2f}</b></span><span class="none">none is above: the best is kept</span></li>'
    )


def _candidate(row: Row, state: str, k: int) -> str:
    p = f"{row.p_right[_at(k)]:.2f}" if row.p_right else ""
    scores = " ".join(f"{score:.6f}" for score in row.p_right)
    said = row.judgement
    spellings = _spellings(row.spellings)
    sources = len(row.ranks)
    gave = f"recalled from {sources} passage{'s' if sources != 1 else ''}"
    return (
        f'<li role="option" class="row" tabindex="-1" aria-selected="false" data-state="{state}" '
        f'data-key="{row.key}" data-answer="{escape(row.answer, CHARACTERS_OF_AN_ANSWER)}" '
        f'data-index="{"" if row.index is None else row.index}" data-p="{scores}" '
        f'data-places="{_numbers(row.places)}" data-keeps="{_numbers(map(int, row.keeps))}" '
        f'data-gold="{_numbers(row.gold)}" data-ranks="{_numbers(row.ranks)}" '
        f'data-evidence="{_numbers(row.evidence_ranks)}" style="--p:{p or 0}">'
        f"{_signs()}"
        f'<span class="name"><span class="answer"><bdi>{escape(row.answer, CHARACTERS_OF_AN_ANSWER)}</bdi></span>'
        f"{_gold_mark(row)}{_said_mark(said)}{spellings}</span>"
        f'<span class="bar" aria-hidden="true"><i></i></span>'
        f'<span class="score" title="validity score: how sure the verifier is that the answer is right">{p}</span>'
        f'<span class="sources" title="{gave}">{sources or ""}<span class="sr"> {gave}</span></span></li>'
    )


def _signs() -> str:
    return "".join(
        f'<span class="state {state}" title="{word}"><span aria-hidden="true">{sign}</span>'
        f'<span class="sr">{word}: </span></span>'
        for state, (sign, word) in _STATES.items()
    )


def _gold_mark(row: Row) -> str:
    return '<span class="tag gold" title="equals a gold answer">★ gold</span>' if row.gold else ""


def _said_mark(said: Judgement | None) -> str:
    if said is None:
        return ""
    return f'<span class="tag said" title="your verdict">you: {escape(said.label)}</span>'


def _spellings(spellings: Sequence[str]) -> str:
    if not spellings:
        return ""
    shown = " · ".join(
        f"<bdi>{escape(s, CHARACTERS_OF_AN_ANSWER)}</bdi>" for s in spellings[:SPELLINGS_DRAWN]
    )
    more = f" · {len(spellings) - SPELLINGS_DRAWN} more" if len(spellings) > SPELLINGS_DRAWN else ""
    return f'<span class="spellings">also {shown}{more}</span>'


def _numbers(values: Iterable[int]) -> str:
    return " ".join(str(value) for value in values)


def _evidence_head(row: Row, state: str, settings: VerifierSettings | None) -> str:
    title = f"<q><bdi>{escape(row.answer, CHARACTERS_OF_AN_ANSWER)}</bdi></q>"
    score, by_k = "", ""
    if settings is not None and row.p_right:
        score = f'<b class="score" title="validity score">{row.p_right[_at(settings.k)]:.2f}</b>'
        by_k = "".join(
            f'<span data-k="{k}"{_chosen(k == settings.k)}>k {k} <b>{p:.2f}</b></span>'
            for k, p in zip(EVIDENCE_SIZES, row.p_right, strict=True)
        )
        by_k = f'<span class="by-k" title="the score from the first 1, 5 and 10 passages">{by_k}</span>'
    words = "".join(f'<span class="word {s}">{word}</span>' for s, (_, word) in _STATES.items())
    return (
        f'<div class="rtv-head evidence" data-key="{row.key}" data-state="{state}" '
        f'data-complete="{int(bool(row.p_right) or row.index is None)}">'
        f'<h2><span class="lead">Evidence for</span> {title}</h2>'
        f'<p class="line">{score}<span class="words">{words}</span>{by_k}</p></div>'
    )


def _chosen(yes: bool) -> str:
    return ' class="chosen"' if yes else ""


def _evidence_passage(
    place: int, passage: EvidencePassage, candidate: Candidate, verdict: Verdict | None, k: int
) -> str:
    weight = ""
    if verdict is not None and place < len(verdict.weights):
        share = verdict.weights[place]
        weight = (
            f'<span class="weight" title="attention share at k = 10: model behaviour, not a cause">'
            f'<span class="sr">attention share </span><span class="bar" aria-hidden="true">'
            f'<i style="width:{100 * min(max(share, 0), 1):.1f}%"></i></span><b>{share:.2f}</b></span>'
        )
    similarity = f'<span title="similarity of the passage to question and candidate">sim <b>{passage.similarity:.2f}</b></span>'
    return _passage_card(
        place,
        passage.hit,
        passage.covers,
        passage.recalled,
        candidate.spellings,
        similarity + weight,
        place >= k,
    )


def _passage_card(
    place: int,
    hit: Hit,
    rules: Sequence[str],
    recalled: bool,
    spellings: Sequence[str],
    scores: str,
    unused: bool = False,
) -> str:
    rule = "strict" if "strict" in rules else "official"
    title_marks, text_marks = (
        _occurrences(text[:CHARACTERS_OF_A_PASSAGE], spellings, rule)
        for text in (hit.passage.title, hit.passage.text)
    )
    badges = _cover_badge(rules)
    if recalled:
        badges += (
            '<span class="tag recalled" title="the recaller took the candidate from here">↖ recalled</span>'
        )
    return (
        f'<li data-place="{place}" data-rank="{hit.rank}"{" data-unused" if unused else ""}>'
        f'<div class="top"><span class="no">{place + 1}</span>'
        f'<span class="title">{_title(hit.passage, title_marks)}</span>{badges}</div>'
        f'<p class="text">{_passage_text(hit.passage, text_marks)}</p>'
        f'<div class="meta"><button type="button" data-show-rank="{hit.rank}" title="show it among the retrieved">'
        f"rank {hit.rank}</button>{scores}</div></li>"
    )


def _cover_badge(rules: Sequence[str]) -> str:
    if not rules:
        return '<span class="tag no-cover" title="the passage does not hold the candidate">no cover</span>'
    names = " + ".join(escape(rule) for rule in rules)
    return f'<span class="tag covers" title="the passage covers the candidate under: {names}">covers · {names}</span>'


def _retrieved(hit: Hit, spans: Sequence[tuple[int, int]], relevance: float | None) -> str:
    read = (
        f'<span title="probability that the passage holds an answer">relevance <b>{relevance:.2f}</b></span>'
        if relevance is not None
        else ""
    )
    dense = _ranked("dense", f"{hit.dense:.2f}", hit.dense_rank)
    lexical = _ranked("words", f"{hit.lexical:.2f}", hit.lexical_rank)
    return (
        f'<li role="option" class="hit" tabindex="-1" aria-selected="false" data-rank="{hit.rank}"'
        f"{' data-gave' if spans else ''}>"
        f'<div class="top"><span class="no">{hit.rank}</span><span class="score">{hit.dense:.2f}</span>'
        f'<span class="title">{_title(hit.passage, ())}</span><span class="dot gave" title="gave the chosen candidate">'
        '●<span class="sr">gave the chosen candidate</span></span><span class="dot used" '
        'title="evidence for the chosen candidate">○<span class="sr">evidence for the chosen candidate</span></span>'
        f'</div><div class="meta">{dense}{lexical}{read}</div>'
        f'<p class="snippet">{_snippet(hit.passage, spans)}</p>'
        f'<p class="text">{_passage_text(hit.passage, spans)}</p></li>'
    )


def _snippet(passage: Passage, spans: Sequence[tuple[int, int]]) -> str:
    """A line or two around the first recalled span, or the passage's beginning."""
    start = max(min(s for s, _ in spans) - SNIPPET // 3, 0) if spans else 0
    start = passage.text.rfind(" ", 0, start) + 1
    text = passage.text[start : start + SNIPPET]
    marked = _marked(text, [(s - start, e - start) for s, e in spans if s >= start])
    more = "…" if start + SNIPPET < len(passage.text) else ""
    return f"<bdi>{'…' if start else ''}{marked}{more}</bdi>"


def _ranked(word: str, score: str, rank: int | None) -> str:
    place = f"#{rank}" if rank is not None else "not found"
    return f"<span>{word} <b>{score}</b> {place}</span>"


def _title(passage: Passage, marks: Sequence[tuple[int, int]]) -> str:
    if not passage.title:
        return '<i class="untitled">without title</i>'
    return f"<bdi>{_marked(passage.title[:CHARACTERS_OF_AN_ANSWER], marks)}</bdi>"


def _passage_text(passage: Passage, marks: Sequence[tuple[int, int]]) -> str:
    text = _marked(passage.text[:CHARACTERS_OF_A_PASSAGE], marks)
    if (more := len(passage.text) - CHARACTERS_OF_A_PASSAGE) > 0:
        text += f'<span class="cut">… {more:,} more characters are not shown.</span>'
    return f"<bdi>{text}</bdi>"


def _marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the spans in <mark>; overlapping spans are one."""
    out, at = [], 0
    for start, end in sorted(spans):
        start, end = max(start, at), min(end, len(text))
        if start < end:
            out += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
            at = end
    return "".join(out) + escape(text[at:])


def _occurrences(text: str, spellings: Sequence[str], rule: str) -> list[tuple[int, int]]:
    return [span for spelling in spellings for span in find_answer(text, spelling, rule)]


def _verdict_button(number: int, label: str, said: Judgement | None, off: str) -> str:
    pressed = str(bool(said and said.label == label)).lower()
    return (
        f'<button type="button" data-verdict="{label}" aria-pressed="{pressed}" aria-keyshortcuts="{number}" '
        f'title="{_LABEL_WORDS[label]}"{off}><kbd>{number}</kbd>{label}</button>'
    )


def _evidence_button(label: str, said: Judgement | None, off: str) -> str:
    key, word, title = _EVIDENCE_WORDS[label]
    pressed = str(bool(said and said.evidence == label)).lower()
    return (
        f'<button type="button" data-evidence-verdict="{label}" aria-pressed="{pressed}" aria-keyshortcuts="{key}" '
        f'title="{title}"{off}><kbd>{key}</kbd>{word}</button>'
    )


def _gold_select(gold: Sequence[Sequence[str]], row: Row | None, said: Judgement | None) -> str:
    if not gold or row is None:
        return ""
    chosen = next((i for i, known in enumerate(gold) if said and said.gold and said.gold in known), None)
    if chosen is None and (row.gold or len(gold) == 1):
        chosen = row.gold[0] if row.gold else 0
    options = "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{escape(known[0], 80)}</option>'
        for i, known in enumerate(gold[:CANDIDATES_DRAWN])
    )
    none = "" if chosen is not None else " selected"
    return (
        '<label class="of">of <select data-gold aria-label="The gold answer that it equals">'
        f'<option value=""{none}>which gold answer?</option>{options}</select></label>'
    )
