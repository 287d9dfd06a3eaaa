"""The courses of the embedded reader, each from the weights of the one before, and one tried in vain.

recaller "first"   from the base model
verifier "first"   from that recaller
recaller "more"    from that reader: questions it has not seen, mostly SQuAD's
recaller "lists"   from that: answers that are lists, part by part, and more of SQuAD
recaller "rest"    from that: what is left of SQuAD
verifier "again"   from that: the second stage on other draws, with lists, and what was read rehearsed
verifier "doubt"   from that: questions on the same paragraphs, with an answer there and without; it was tried
                   and not taken, for it answers worse and is no more silent (benchmarks/README.md)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from rtv_core.training.loop import LoopSettings
from rtv_core.training.recaller import RecallerPlan
from rtv_core.training.verifier import SECOND_STAGE, VerifierPlan

__all__ = ["RECALLER_COURSES", "VERIFIER_COURSES", "Course", "Share"]

Share = tuple[int, int]
"""Which questions of a set, [from, to) in the order in which they are drawn (see `sample_sources`)."""

ALL = (0, 99_999)


@dataclass(frozen=True, slots=True)
class Course:
    """The questions that examples are made of, set by set; how they are read; how fast is learned."""

    shares: Mapping[str, Share]
    plan: RecallerPlan | VerifierPlan
    loop: LoopSettings = field(default_factory=LoopSettings)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", MappingProxyType(dict(self.shares)))

    def changed(self, **values: float | None) -> Course:
        """This course with other values in its plan; None leaves one as it is."""
        given = {name: value for name, value in values.items() if value is not None}
        return replace(self, plan=replace(self.plan, **given))


FIRST = {
    "squad": (0, 6000),
    "squad-2.0": (0, 2500),
    "nq": ALL,
    "quoref": (0, 1200),
    "multispanqa": ALL,
    "ambignq": ALL,
    "webquestions": ALL,
    "re-docred": (0, 2500),
}
GENTLE = LoopSettings(encoder_rate=1e-4, head_rate=4e-4)

RECALLER_COURSES = {
    "first": Course(FIRST, RecallerPlan()),
    "more": Course(
        {
            "squad": (6000, 26_000),
            "squad-2.0": (2500, ALL[1]),
            "quoref": (1200, ALL[1]),
            "nq": ALL,
            "multispanqa": ALL,
        },
        RecallerPlan(alpha_neg=0.3, repeats=(("multispanqa", 6),), seed=4),
        GENTLE,
    ),
    "lists": Course(
        {
            "squad-lists": ALL,
            "squad": (26_000, 34_000),
            "squad-2.0": (0, 1500),
            "quoref": (0, 425),  # those with several answers come first
            "nq": ALL,
            "multispanqa": ALL,
        },
        RecallerPlan(alpha_neg=0.3, repeats=(("multispanqa", 6), ("squad-lists", 2)), seed=6),
        GENTLE,
    ),
    "rest": Course(
        {"squad-lists": ALL, "squad": (34_000, ALL[1]), "nq": ALL, "multispanqa": ALL},
        RecallerPlan(alpha_neg=0.1, repeats=(("multispanqa", 6), ("nq", 2)), seed=8),
        LoopSettings(encoder_rate=1.2e-4, head_rate=4e-4),
    ),
}

VERIFIER_COURSES = {
    "first": Course(FIRST, VerifierPlan(), SECOND_STAGE),
    "again": Course(
        FIRST | {"squad": (0, 26_000), "squad-2.0": ALL, "quoref": ALL, "squad-lists": ALL},
        VerifierPlan(
            passages=11,
            shares=(
                ("ambignq", 500),
                ("multispanqa", 999),
                ("nq", 9999),
                ("quoref", 60),
                ("re-docred", 40),
                ("squad", 150),
                ("squad-2.0", 500),
                ("squad-lists", 900),
                ("webquestions", 100),
            ),
            repeats=(("multispanqa", 4),),
            rehearsed=8,
            seed=7,
        ),
        replace(SECOND_STAGE, encoder_rate=5e-5),
    ),
    "doubt": Course(
        {
            "squad": (26_000, 29_000),
            "squad-2.0": ALL,
            "squad-2.0-answered": ALL,
            "squad-lists": ALL,
            "nq": ALL,
            "quoref": (0, 425),
            "multispanqa": ALL,
            "ambignq": ALL,
            "webquestions": ALL,
            "re-docred": (0, 500),
        },
        VerifierPlan(
            passages=10,
            questions=4,
            shares=(
                ("ambignq", 300),
                ("multispanqa", 999),
                ("nq", 900),
                ("quoref", 40),
                ("re-docred", 40),
                ("squad", 50),
                ("squad-2.0", 2500),
                ("squad-2.0-answered", 1500),
                ("squad-lists", 400),
                ("webquestions", 100),
            ),
            repeats=(("multispanqa", 4),),
            fewer=(("squad-2.0", 4), ("squad-2.0-answered", 4)),
            rehearsed=6,
            seed=9,
        ),
        replace(SECOND_STAGE, encoder_rate=5e-5),
    ),
}
