"""Where each kind of finding is and how its severity follows, for docs/gravity.md."""

from __future__ import annotations

from trimtab.diagnose.findings import FINDINGS
from trimtab.diagnose.wording import rows


def places() -> str:
    """Return the kinds as a table: place, whether once is grave, margin, what it may come of."""
    lines = [
        "| finding | place | once is grave | margin | comes of |",
        "| --- | --- | --- | --- | --- |",
    ]
    for code in sorted(FINDINGS):
        row = rows()[code]
        others = {name: each for name, each in row.items() if isinstance(each, dict)}
        reasons = dict.fromkeys(
            [*row.get("of", ()), *(it for each in others.values() for it in each.get("of", ()))]
        )
        margin = "; ".join(
            " over ".join(f"`{name}`" for name in of) for of in row.get("margin", ())
        )
        cells = (
            f"[{code}](findings/{code}.md)",
            row["place"],
            "yes" if row.get("grave_once") else "",
            margin,
            ", ".join(reasons),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
