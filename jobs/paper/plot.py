"""Draws a table where there is no gnuplot: plot.py TABLE KIND FIRST LAST YLABEL TITLE FOOTER, as plot
of lib.sh."""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

path, kind, first, last, ylabel, title, footer = sys.argv[1:]
with open(path) as f:
    header, *rows = list(csv.reader(line for line in f if not line.startswith("#")))
columns = range(int(first) - 1, int(last))
value = lambda row, c: float(row[c])
fig, ax = plt.subplots(figsize=(10, 6.4))
if kind == "lines":
    for c in columns:
        ax.plot([float(r[0]) for r in rows], [value(r, c) for r in rows], "o-", label=header[c])
    ax.set_xticks([float(r[0]) for r in rows])
    ax.set_xlabel("ranks")
else:
    below = [0.0] * len(rows)
    width = 0.7 if kind == "stacked" else 0.8 / len(columns)
    for i, c in enumerate(columns):
        y = [value(r, c) for r in rows]
        if kind == "stacked":
            y = [0.0 if v != v else v for v in y]
            ax.bar(range(len(rows)), y, width, below, label=header[c])
            below = [a + b for a, b in zip(below, y)]
        else:
            ax.bar([x + (i - 0.5 * (len(columns) - 1)) * width for x in range(len(rows))], y, width, label=header[c])
    many = {"rotation": 25, "ha": "right"} if len(rows) > 6 else {}
    ax.set_xticks(range(len(rows)), [r[0] for r in rows], **many)
    if kind == "logbars":
        ax.set_yscale("log")
if kind != "logbars":
    ax.set_ylim(bottom=0)
ax.grid(axis="y")
ax.set_title(title)
ax.set_ylabel(ylabel)
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize="small")
fig.text(0.01, 0.01, footer, fontsize=6)
fig.tight_layout(rect=(0, 0.06, 1, 1))
for suffix in ("png", "svg"):
    fig.savefig(path[: -len("csv")] + suffix)
