"""A recording, or a broker.conf → what was wrong: findings, the page, one bundle's story, slips."""
