#!/usr/bin/python3
"""Writes what libical answers to random recurrence rules, as JSON on standard output.

An independent implementation of RFC 5545 and RFC 7529, by ICU's calendars. Needs Debian's
gir1.2-ical-3.0 and python3-gi (libical 3.0.16, ICU 72). Made with:

    messaging/recurrence/testing/libical_answers.py 400 1 > messaging/recurrence/testing/libical-answers.json

Arguments: how many rules, and the seed. Times are wall-clock times.

Left out is where libical 3.0.16 is wrong, which day-by-day.ts covers:
- INTERVAL with RSCALE (it subtracts Persian from Gregorian years), and INTERVAL of weeks with
  BYDAY=SU alone (a week late);
- WKST other than Monday;
- negative BYMONTHDAY with FREQ=DAILY (never matches);
- FREQ=YEARLY with BYMONTHDAY and no BYMONTH (it takes the month of the start, and does not expand);
- BYDAY, or BYMONTH with FREQ=MONTHLY, where SKIP moves days (RFC 7529 moves them after BYMONTH and
  before BYDAY);
- COUNT where SKIP moves days (a day that two months yield counts twice; it stands once here);
- 2124 and later: ICU's year 1502 is a leap year, the equinox makes it 1503.
"""
import json
import random
import re
import sys

import gi

gi.require_version("ICalGLib", "3.0")
from gi.repository import ICalGLib  # noqa: E402

INSTANCES = 12
LAST = "2124"
WEEKDAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]


def some(values, most):
    values = list(values)
    return random.sample(values, random.randint(1, min(most, len(values))))


def by_day(with_ordinals, largest):
    days = []
    for day in some(WEEKDAYS, 3):
        if with_ordinals and random.random() < 0.6:
            ordinal = random.randint(1, largest)
            days.append(f"{random.choice([ordinal, -ordinal])}{day}")
        else:
            days.append(day)
    return ",".join(days)


def random_rule():
    frequency = random.choice(["DAILY", "WEEKLY", "MONTHLY", "MONTHLY", "YEARLY", "YEARLY"])
    parts = [f"FREQ={frequency}"]
    skip = "OMIT"
    calendar = random.choice([None, "GREGORIAN", "PERSIAN", "PERSIAN"])
    if calendar:
        parts.insert(0, f"RSCALE={calendar}")
        skip = random.choice(["OMIT", "BACKWARD", "FORWARD"])
        parts.append(f"SKIP={skip}")
    if random.random() < 0.5 and not calendar:
        parts.append(f"INTERVAL={random.randint(1, 6)}")
    moves = skip != "OMIT"
    by_month = not (moves and frequency == "MONTHLY") and random.random() < (0.5 if frequency == "YEARLY" else 0.25)
    if by_month:
        months = some(range(1, 13), 4)
        parts.append("BYMONTH=" + ",".join(map(str, months)))
    with_days = frequency != "WEEKLY" and (by_month or frequency != "YEARLY")
    with_days = with_days and random.random() < 0.55
    if with_days:
        days = [d for d in range(-31, 32) if d != 0] + [31, 30, 29, 1, -1, -30, -31] * 6
        days = [abs(d) if frequency == "DAILY" else d for d in days]
        parts.append("BYMONTHDAY=" + ",".join(map(str, sorted(set(some(days, 4))))))
    if random.random() < 0.4 and not moves:
        ordinals = frequency in ("MONTHLY", "YEARLY")
        largest = 5 if frequency == "MONTHLY" or by_month else 53
        parts.append("BYDAY=" + by_day(ordinals, largest))
    if random.random() < 0.2:
        parts.append("BYHOUR=" + ",".join(map(str, sorted(some(range(24), 3)))))
    if random.random() < 0.2:
        parts.append("BYMINUTE=" + ",".join(map(str, sorted(some(range(60), 3)))))
    end = random.random()
    if end < 0.15 and not moves:
        parts.append(f"COUNT={random.randint(1, 10)}")
    elif end < 0.3:
        parts.append(f"UNTIL={random.randint(2027, 2040)}0{random.randint(1, 9)}15T120000")
    return ";".join(parts)


def answers(rule, start):
    recurrence = ICalGLib.Recurrence.new_from_string(rule)
    try:
        iterator = ICalGLib.RecurIterator.new(recurrence, ICalGLib.Time.new_from_string(start))
    except TypeError:
        return []  # "no days match": it refuses rules that never have an instance
    found = []
    while len(found) < INSTANCES:
        instance = iterator.next()
        if instance is None or instance.is_null_time():
            break
        text = instance.as_ical_string()
        if text >= LAST:
            break
        if text not in found:
            found.append(text)
    return found


def random_start():
    # Ends of Persian and Gregorian months are likely.
    day = random.choice([*range(1, 29), 18, 19, 20, 21, 22, 28] * 2 + [29, 30, 31])
    month = random.choice([1, 3, 5, 7, 8, 10, 12] if day > 28 else range(1, 13))
    return f"{random.randint(2020, 2045)}{month:02}{day:02}T{random.randint(0, 23):02}{random.randint(0, 59):02}00"


def main():
    rules, seed = int(sys.argv[1]), int(sys.argv[2])
    random.seed(seed)
    lines = []
    while len(lines) < rules:
        rule, start = random_rule(), random_start()
        if "INTERVAL" in rule and re.search("WEEKLY.*BYDAY=SU($|;)", rule):
            continue
        lines.append(json.dumps({"rule": rule, "start": start, "instances": " ".join(answers(rule, start))}))
    print("[\n" + ",\n".join(lines) + "\n]")


main()
