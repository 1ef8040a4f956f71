"""The rating of strategies: which runs it takes, where their numbers go, what is written."""
