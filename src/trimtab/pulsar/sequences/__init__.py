"""A strategy's rounds as lines of JSON → what the class decides, and the story of it."""
