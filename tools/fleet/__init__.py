"""A made fleet of which the truth is known → what `explain` and `trends` say, held against it."""
