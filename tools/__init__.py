"""What builds, locks, documents and times the project; nothing in `src` imports it."""
