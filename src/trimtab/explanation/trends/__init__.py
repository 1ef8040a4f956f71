"""The table of nights → what changed over clusters and weeks, and whether it helped."""
