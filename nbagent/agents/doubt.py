"""Doubt: words that take a verdict back, or make none of it. English and Chinese; of other languages the commonest.

What they are looked for in is in lower case. A word too many costs a round of a reflection, one too few the answer.
"""

from __future__ import annotations

import re


def _words(*languages: str) -> str:
    """A pattern of whole words, in languages that write blanks between them."""
    return rf"\b(?:{'|'.join(' '.join(languages).split())})\b"


_BACK = (
    _words(
        "not cannot but however although though except unless until if once must should yet wait",
        "nicht aber jedoch wenn",
        "pas mais sauf",
        "pero salvo mas não ma",
        "не но если",
    ),
    r"n['’]t\b",
    "但|不[过過]|然而|可是|只是|除非|如果|若|假如|否[则則]|[尚仍未]|不是|[并並][非不]|[还還][没沒不有需要]|[应應][该該]|必[须須]",
    "しかし|ただし|まだ|もし",
    "않|아니|아직|하지만",
)
_MORE = (
    _words(
        r"no non never neither nor hardly barely almost nearly without far lacks? missing false fail\w* wrong when",
        "would could might may be becomes?",
        r"kein\w* noch nie",
        "sans sin sem nunca",
        "нет без",
    ),
    r"\bis it\b",
    "[不没沒无無非别別否勿莫难難拒错錯误誤]",  # denies
    "[吗嗎么麼呢谁誰哪]",  # asks
    "[如倘假除才就则則即只待等须須需必要]",  # sets a condition
    "[将將会會应應可能曾暂暫望求]",  # is past or to come, or only thought
    "[几幾近差缺少欠距离離似]",  # comes close
    "[还還而却卻虽雖]",  # sets against
    "ない|なし|ません|なら|たら|れば|けど|ほぼ|か",
    r"못|아닌|아닙|없|미|불|면|까|지만|거의|(?:^|\s)안\s",
)

TAKES_BACK = re.compile("|".join(_BACK))
"""What says, behind a verdict, that it does not hold. `No changes needed` says no such thing."""
DOUBT = re.compile("|".join((*_BACK, *_MORE)))
"""What makes no verdict of a signal that it leads to or surrounds."""
