"""The shell of SQLite gives the same results in the enclave as the distribution's shell outside."""

from __future__ import annotations

import random
import subprocess

TABLES = """\
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER, town TEXT);
CREATE TABLE sales(id INTEGER PRIMARY KEY, person INTEGER REFERENCES people(id), item TEXT, price INTEGER);
CREATE TABLE birthdays(person INTEGER, before INTEGER, after INTEGER);
CREATE INDEX by_town ON people(town, age);
CREATE INDEX by_person ON sales(person);
CREATE TRIGGER aged AFTER UPDATE OF age ON people BEGIN INSERT INTO birthdays VALUES(new.id, old.age, new.age); END;
"""
QUESTIONS = """\
SELECT town, count(*), avg(age), min(name), max(name) FROM people GROUP BY town HAVING count(*) > 3 ORDER BY town;
SELECT count(*), sum(after - before) FROM birthdays;
SELECT upper(name), length(hex(name)), substr(name, 2, 3) FROM people WHERE name LIKE '%ab%' ORDER BY name;
WITH RECURSIVE numbers(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM numbers WHERE n < 60)
  SELECT n, b FROM numbers WHERE n % 10 = 0;
SELECT absent FROM people;
PRAGMA integrity_check;
"""
TOWNS = ["Oslo", "Lima", "Bonn", "Pune", "Kyiv"]


def script() -> str:
    """Returns a few hundred statements, the same in every run."""
    draw = random.Random(11)
    lines = []
    for number in range(1, 121):
        name = "".join(draw.choice("abcdefghij") for _ in range(8))
        lines.append(f"INSERT INTO people VALUES({number}, '{name}', {draw.randrange(90)}, '{draw.choice(TOWNS)}');")
    for number in range(1, 151):
        person, item, price = draw.randrange(1, 121), draw.randrange(20), draw.randrange(100_000)
        lines.append(f"INSERT INTO sales VALUES({number}, {person}, 'item {item}', {price});")
    lines += [f"UPDATE people SET age = age + 1 WHERE id = {draw.randrange(1, 121)};" for _ in range(40)]
    lines += [f"DELETE FROM sales WHERE id = {draw.randrange(1, 151)};" for _ in range(20)]
    lines += [
        "SELECT people.name, count(*), sum(sales.price) FROM people JOIN sales ON sales.person = people.id "
        f"WHERE people.town = '{town}' GROUP BY people.id ORDER BY 3 DESC, 1 LIMIT 5;"
        for town in TOWNS
    ]
    return TABLES + "\n".join(lines) + "\n" + QUESTIONS


def test_the_database_answers_as_outside(run, sqlite):
    statements = script()
    words = ["-init", "/dev/null", ":memory:"]
    outside = subprocess.run(["sqlite3", *words], input=statements, capture_output=True, text=True, check=False)
    inside = run(["--untrusted", "16MiB", "--resident", "160"], sqlite, ":memory:", input=statements)
    assert (inside.returncode, inside.stdout) == (outside.returncode, outside.stdout), inside.stderr
    # The shell continues although it cannot open its settings or the terminal. One statement is wrong on purpose.
    assert "no such column: absent" in outside.stderr and "no such column: absent" in inside.stderr
    assert "refused: openat" in inside.stderr
    assert outside.stdout.endswith("ok\n") and len(outside.stdout.splitlines()) > 40
