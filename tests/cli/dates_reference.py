"""Periods of time stamps beside Python's datetime.

make TABLE PERIODS PERIOD: writes a table of random time stamps, and the same table with periods.
check TENSOR PERIODS: are the labels of mode 3 the periods of the table, in order of appearance?
"""
import csv
import random
import sys
from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
WORDS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def period(t, kind):
    year, week, day = t.isocalendar()
    return {
        "year": f"{t.year:04d}",
        "month": f"{t.year:04d}-{t.month:02d}",
        "week": f"{year:04d}-W{week:02d}",
        "day": t.date().isoformat(),
        "hour": t.date().isoformat() + f"T{t.hour:02d}",
        "weekday": WORDS[day - 1],
        "hour-of-day": f"{t.hour:02d}:00",
    }[kind]


def spell(t, rng):
    """One of the forms of a time stamp, and the time that it means."""
    form = rng.randrange(9)
    if form == 0:  # seconds
        whole = t.replace(microsecond=0)
        return str((whole - EPOCH) // timedelta(seconds=1)), whole
    if form == 1:  # parts of a second, rounded down
        half = t.replace(microsecond=250000)
        return repr((half - EPOCH) / timedelta(seconds=1)), half
    if form == 2:
        whole = t.replace(microsecond=0)
        return whole.strftime("%Y%m%dT%H%M%SZ").rjust(16, "0"), whole
    if form == 3:
        return t.replace(tzinfo=None).isoformat(sep=" "), t
    if form == 4:
        return t.replace(tzinfo=None).isoformat(timespec="minutes"), t
    if form == 5:
        return t.replace(tzinfo=None).isoformat(timespec="hours") + " UTC", t
    zone = timezone(timedelta(minutes=rng.randrange(-14 * 4, 14 * 4 + 1) * 15))
    there = t.astimezone(zone)
    if form == 6:
        return there.isoformat(), t
    if form == 7:
        return there.isoformat(sep=" ", timespec="seconds"), t
    return there.strftime("%Y-%m-%dT%H:%M%z").rjust(21, "0"), t


def times(rng):
    """Times of all years, of the last century, and at the edges of days and years."""
    for _ in range(600):
        yield datetime(rng.randrange(2, 2999), 1, 1, tzinfo=timezone.utc) + timedelta(
            seconds=rng.randrange(365 * 86400), microseconds=rng.randrange(1, 10**6)
        )
    for _ in range(600):
        yield EPOCH + timedelta(seconds=rng.randrange(-2 * 10**9, 2 * 10**9))
    for year in range(1890, 2110):
        for edge in (datetime(year, 1, 1), datetime(year, 3, 1), datetime(year, 12, 29)):
            edge = edge.replace(tzinfo=timezone.utc)
            for days in range(-3, 4):
                yield edge + timedelta(days=days, seconds=rng.choice([-1, 0, 1]))


def make(table, periods, kind):
    rng = random.Random(48)
    with open(table, "w") as raw, open(periods, "w") as spelt:
        for f in (raw, spelt):
            f.write("user,film,time,n\n")
        for n, t in enumerate(times(rng)):
            text, meant = spell(t, rng)
            row = f"u{n * 7 % 13},f{n * 5 % 11},"
            raw.write(f"{row}{text},{1 + n % 5}\n")
            spelt.write(f"{row}{period(meant, kind)},{1 + n % 5}\n")


def check(tensor, periods):
    import h5py

    with open(periods) as f:
        wanted = list(dict.fromkeys(row["time"] for row in csv.DictReader(f)))
    with h5py.File(tensor) as f:
        group = f["labels/mode_2"]
        text = group["bytes"][:].tobytes().decode()
        ends = group["offsets"][:]
    found = [text[a:b] for a, b in zip(ends, ends[1:])]
    if found != wanted:
        first = next(i for i, (a, b) in enumerate(zip(found, wanted)) if a != b)
        sys.exit(f"label {first} is {found[first]}, not {wanted[first]}")
    print(len(found), "labels agree")


{"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
