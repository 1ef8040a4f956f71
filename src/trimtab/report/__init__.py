"""A diagnosis or a comparison → one HTML file that needs no network; computes only layout."""
