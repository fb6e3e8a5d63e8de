"""Docstrings as a terminal shows them: equations are in Unicode and not in LaTeX, and there is no reStructuredText."""

from __future__ import annotations

import re

SYMBOLS = {
    r"\alpha": "α",
    r"\beta": "β",
    r"\gamma": "γ",
    r"\delta": "δ",
    r"\epsilon": "ε",
    r"\lambda": "λ",
    r"\mu": "μ",
    r"\xi": "ξ",
    r"\phi": "φ",
    r"\psi": "ψ",
    r"\rho": "ρ",
    r"\sigma": "σ",
    r"\sum": "Σ",
    r"\dots": "…",
    r"\le": "≤",
    r"\ne": "≠",
    r"\cdot": "·",
    r"\|": "‖",
    r"\exp": "exp",
    r"\max": "max",
    r"\min": "min",
    r"\qquad": "  ",
    r"\quad": "  ",
    r"\ ": " ",
    r"\,": " ",
    r"\left": "",
    r"\right": "",
    r"\Big": "",
    r"\textstyle": "",
}
RAISED = str.maketrans("0123456789+-dijnpst", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵈⁱʲⁿᵖˢᵗ")
LOWERED = str.maketrans("0123456789+-aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
UP, DOWN = "\x01", "\x02"  # Marks that stand for ^ and _ of scripts that cannot be written, until all others are found.
COMMAND = re.compile(r"\\(?:[a-zA-Z]+|[^a-zA-Z])")
BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +.*)?)*)", re.M)


def readable(text: str) -> str:
    """A docstring without LaTeX and without marks of reStructuredText."""
    text = BLOCK.sub(lambda found: f"{found[1]}    {equation(' '.join(found[2].split()))}\n\n", text)
    text = re.sub(r":math:`([^`]*)`", lambda found: equation(found[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text)
    text = re.sub(r"\[(\d)\]_", r"[\1]", text)
    text = re.sub(r"^\.\. \[", "[", text, flags=re.M)
    text = re.sub(r" : \{(.*?)\}", r" : \1", text)  # the choices of a parameter lose their braces
    return text.replace("``", "")


def equation(tex: str) -> str:
    """LaTeX as Unicode."""
    tex = re.sub(r"\^\\top", "ᵀ", tex)
    tex = re.sub(r"\\tilde (\w)", "\\1\u0303", tex)
    tex = COMMAND.sub(lambda found: SYMBOLS.get(found[0], found[0]), tex)
    tex = re.sub(r"\\t?frac(\w)(\w)", r"\1/\2", tex)
    before = ""
    while tex != before:  # inner braces are handled first
        before = tex
        tex = re.sub(r"\\(?:operatorname|text)\{([^{}]*)\}", r"\1", tex)
        tex = re.sub(r"\\tag\{([^{}]*)\}", r"   (\1)", tex)
        tex = re.sub(
            r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: " / ".join(map(_in_brackets, found.groups())), tex
        )
        tex = re.sub(r"([_^])(?:\{([^{}]*)\}|([^\s{]))", lambda found: _moved(found[1], found[2] or found[3]), tex)
    return tex.replace(UP, "^").replace(DOWN, "_").strip()


def _in_brackets(part: str) -> str:
    return f"({part})" if " " in part.strip() else part


def _moved(mark: str, text: str) -> str:
    """A superscript or subscript, in small letters where Unicode has all of them."""
    letters, sign = (RAISED, UP) if mark == "^" else (LOWERED, DOWN)
    if all(ord(letter) in letters for letter in text):
        return text.translate(letters)
    return f"{sign}{text}" if len(text) == 1 or text.isalpha() else f"{sign}({text})"
