"""Draws a table where there is no gnuplot: plot.py TABLE KIND FIRST LAST YLABEL TITLE FOOTER STYLES, as plot
of lib.sh. STYLES has a line for each column: colour, line width, and dash and marker of gnuplot."""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

path, kind, first, last, ylabel, title, footer, styles = sys.argv[1:]
with open(path) as f:
    header, *rows = list(csv.reader(line for line in f if not line.startswith("#")))
value = lambda row, c: float(row[c])
columns = range(int(first) - 1, int(last))
style = dict(zip(columns, (line.split() for line in styles.splitlines())))
columns = [c for c in columns if any(r[c] != "nan" for r in rows)]
fig, ax = plt.subplots(figsize=(10, 6.4))
if kind.endswith("lines"):
    for c in columns:
        colour, width, dash, marker = style[c]
        ax.plot([float(r[0]) for r in rows], [value(r, c) for r in rows], label=header[c], color=colour,
                linewidth=float(width), linestyle="-" if dash == "1" else "--", marker="osDv^x+*"[int(marker) % 8])
    ax.set_xticks([float(r[0]) for r in rows])
    ax.set_xlabel(header[0])
else:
    below = [0.0] * len(rows)
    width = 0.7 if kind == "stacked" else 0.8 / len(columns)
    for i, c in enumerate(columns):
        y = [value(r, c) for r in rows]
        if kind == "stacked":
            y = [0.0 if v != v else v for v in y]
            ax.bar(range(len(rows)), y, width, below, label=header[c], color=style[c][0])
            below = [a + b for a, b in zip(below, y)]
        else:
            ax.bar([x + (i - 0.5 * (len(columns) - 1)) * width for x in range(len(rows))], y, width,
                   label=header[c], color=style[c][0])
    many = {"rotation": 25, "ha": "right"} if len(rows) > 6 else {}
    ax.set_xticks(range(len(rows)), [r[0] for r in rows], **many)
if kind.startswith("log"):
    ax.set_yscale("log")
else:
    ax.set_ylim(bottom=0)
ax.grid(axis="y")
ax.set_axisbelow(True)
ax.set_title(title)
ax.set_ylabel(ylabel)
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize="small")
fig.text(0.01, 0.01, footer, fontsize=6)
fig.tight_layout(rect=(0, 0.04 + 0.015 * len(footer.splitlines()), 1, 1))
for suffix in ("png", "svg"):
    fig.savefig(path[: -len("csv")] + suffix)
