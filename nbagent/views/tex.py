"""TeX: which formulas of an answer a front end may typeset: those with no commands but of mathematics."""

from __future__ import annotations

import re

PROCESS = ("tex2jax_process", "mathjax_process")
"""The classes with which MathJax 2 and 3 typeset an element inside one that they ignore."""

_BLOCK = re.compile(r"\$\$([^$]+)\$\$")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_MOST = 2_000
"""Characters of a formula."""

_LETTERS = """\
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho
sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
ell hbar Re Im aleph imath jmath infty partial nabla emptyset varnothing forall exists nexists neg lnot top bot
angle triangle"""
_SIGNS = """\
cdot cdots ldots dots vdots ddots times div pm mp ast star circ bullet oplus otimes odot cup cap setminus wedge
vee land lor le leq ge geq ne neq ll gg equiv sim simeq approx cong propto in notin ni subset subseteq supset
supseteq mid nmid parallel perp to gets leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow
implies impliedby iff mapsto longrightarrow uparrow downarrow langle rangle lfloor rfloor lceil rceil lvert
rvert lVert rVert vert Vert prime dagger"""
_SHAPES = """\
frac dfrac tfrac binom sqrt sum prod coprod int iint iiint oint lim limsup liminf max min sup inf arg det dim
ker gcd exp log ln lg sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan Pr hat widehat bar overline
underline tilde widetilde vec dot ddot overbrace underbrace left right middle big Big bigg Bigg bigl bigr mathbb
mathbf mathcal mathfrak mathit mathrm mathsf boldsymbol text textbf textit operatorname limits nolimits quad
qquad pmod bmod displaystyle begin end"""
_KNOWN = frozenset(f"{_LETTERS} {_SIGNS} {_SHAPES}".split()) | frozenset("\\,;:! {}|%&#_")
_SURROUNDING = re.compile(r"\\(?:begin|end)\s*(?!\{(?:aligned|gathered|cases|[pbBvV]?matrix|array)\})")

_SIZED = re.compile(r"\\\\\s*\[|\*\s*\{")
"""A line that asks for a distance of its own, and columns that are counted: both may be of any size."""


def is_formula(text: str) -> bool:
    """Whether it is one block `$$…$$` that can be typeset: a command that is not known makes it a text. So none makes
    links, styles, classes, ids or macros."""
    found = _BLOCK.fullmatch(text.strip())
    if found is None or len(text) > _MOST or _SURROUNDING.search(text) or _SIZED.search(text):
        return False
    return all(command in _KNOWN for command in _COMMAND.findall(found[1]))
