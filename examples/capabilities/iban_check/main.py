"""Checks an International Bank Account Number: its length for the country, and its check digits."""

import re

# How long an IBAN is, in the countries that people meet most.
LENGTHS = {
    "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
    "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SI": 19, "SK": 24, "TR": 26,
}  # fmt: skip


def run(args):
    iban = re.sub(r"[\s-]", "", args["iban"]).upper()
    problem = problem_of(iban)
    if problem:
        return {"valid": False, "problem": problem}
    groups = " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))
    return {"valid": True, "country": iban[:2], "account": iban[4:], "written": groups}


def problem_of(iban):
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}", iban):
        return "An IBAN has two letters, two digits, and then letters and digits."
    length = LENGTHS.get(iban[:2], len(iban))
    if len(iban) != length:
        return "An IBAN of %s has %d characters, and this one has %d." % (iban[:2], length, len(iban))
    # The first four go to the end, letters become numbers, and 97 must leave 1.
    digits = "".join(str(int(character, 36)) for character in iban[4:] + iban[:4])
    if int(digits) % 97 != 1:
        return "The check digits are wrong: something is mistyped."
    return None
