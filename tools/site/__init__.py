"""`make site`: the pages of docs/ as a site to click through, which needs no network."""
