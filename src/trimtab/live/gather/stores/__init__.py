"""Where a cluster's logs are kept: a selector and a time → the lines that Loki and others have."""
