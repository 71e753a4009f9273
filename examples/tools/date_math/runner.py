"""Counts days. Reads its payload from the argument, as the contract has it, and prints one JSON object."""

import base64
import json
import sys
from datetime import date, timedelta
from html import escape


def read_date(text, name):
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{name} is no date such as 2026-02-20: {text}")


def spell(day):
    return f"{day:%A}, {day.day} {day:%B %Y}"


def count(number, unit="day"):
    return f"{abs(number)} {unit}{'' if abs(number) == 1 else 's'}"


def answer(params, telemetry):
    """What is asked for, as a headline and a line of explanation."""
    today = read_date(telemetry["time"][:10], "The time of the client") if telemetry.get("time") else date.today()
    start = read_date(params["start"], "start") if params.get("start") else today
    if params.get("end"):
        end = read_date(params["end"], "end")
        days = (end - start).days
        if days == 0:
            return "The same day", f"{spell(end)} is the same day as {spell(start)}."
        where = f"{count(days)} {'later' if days > 0 else 'earlier'}"
        weeks, rest = divmod(abs(days), 7)
        parts = [count(weeks, "week")] + ([count(rest)] if rest else [])
        more = f" That is {' and '.join(parts)}." if weeks else ""
        return where, f"{spell(end)} is {where} than {spell(start)}.{more}"
    if params.get("days") is not None:
        days = params["days"]
        try:
            found = start + timedelta(days=days)
        except OverflowError:
            raise ValueError(f"There is no date {count(days)} from {spell(start)}")
        return spell(found), f"{count(days)} {'after' if days >= 0 else 'before'} {spell(start)} is {spell(found)}."
    return f"{start:%A}", f"{start.isoformat()} is {spell(start)}, day {start.timetuple().tm_yday} of the year."


def main():
    payload = json.loads(base64.b64decode(sys.argv[1]))
    try:
        headline, text = answer(payload["params"], payload["telemetry"])
    except ValueError as problem:
        print(json.dumps({"error": str(problem)}))
        return 1
    html = (
        f'<div style="padding:12px"><div style="font-size:1.4rem;font-weight:600">{escape(headline)}</div>'
        f'<div style="color:#666">{escape(text)}</div></div>'
    )
    print(json.dumps({"text": text, "html": html}))
    return 0


sys.exit(main())
