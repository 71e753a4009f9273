"""Reads the code of a capability without running any of it, and prints what is wrong as JSON.

Runs in a sandbox without a network: the parser of Python is no match for every text.
"""

import ast
import json
import os
import re
import sys
import warnings

ROOT = sys.argv[1]


def parse(path, problems):
    try:
        with open(os.path.join(ROOT, path), "rb") as file:
            return ast.parse(file.read(), path)
    except SyntaxError as error:
        problems.append("%s, line %s: %s." % (path, error.lineno or 1, (error.msg or "invalid syntax").rstrip(".")))
    except (ValueError, RecursionError, MemoryError) as error:
        problems.append("%s cannot be parsed: %s." % (path, str(error) or type(error).__name__))
    return None


def top_level(body):
    """Also what stands under a condition, as long as it is the module's own."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With)):
                yield from top_level(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from top_level(handler.body)


def binds_run(node):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name) == "run" for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "run" for target in targets)


def look_for_run(tree, problems):
    functions = [n for n in top_level(tree.body) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == "run"]
    if not functions:
        if any(isinstance(n, ast.ClassDef) and n.name == "run" for n in top_level(tree.body)):
            problems.append("main.py: run is a class, and must be a function: def run(args) or def run(args, context).")
        elif not any(binds_run(node) for node in top_level(tree.body)):
            problems.append("main.py has no function run: def run(args) or def run(args, context).")
        return
    given = functions[-1].args
    positional = given.posonlyargs + given.args
    needed = len(positional) - len(given.defaults)
    needs_names = any(default is None for default in given.kw_defaults)
    if needs_names or needed > 2 or (not positional and given.vararg is None):
        line = functions[-1].lineno
        problems.append("main.py, line %d: run takes one or two arguments: run(args) or run(args, context)." % line)


def main():
    warnings.simplefilter("ignore")
    given = json.load(sys.stdin)
    problems = []
    for path in given["files"]:
        tree = parse(path, problems)
        if tree is not None and path == "main.py":
            look_for_run(tree, problems)
    for number, pattern in given["patterns"]:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            problems.append("Example %d: the regular expression cannot be read: %s." % (number, error))
    print(json.dumps({"problems": problems}))


main()
