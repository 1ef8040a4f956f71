"""Does trimtab do what it did?  Digests of all that its commands print and write."""
