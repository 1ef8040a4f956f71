"""What the page says of the books: what it does not list is counted."""

from __future__ import annotations

from trimtab.report.accounting import accounting_of

REJECT = {"file": "logs/b/x.log", "line": 1, "reason": "no time", "text": "x"}


def test_rejects_that_the_books_do_not_carry_are_counted() -> None:
    books = {"lines": 40, "rejected": 27, "rejects": [REJECT] * 20}

    told = accounting_of({"accounting": books})

    assert told is not None
    assert (len(told["rejects"]), told["rejects_left_out"]) == (20, 7)


def test_of_rejects_that_are_all_listed_none_is_left_out() -> None:
    told = accounting_of({"accounting": {"lines": 1, "rejected": 1, "rejects": [REJECT]}})

    assert told is not None
    assert (len(told["rejects"]), told["rejects_left_out"]) == (1, 0)
