"""Files of a recording → tables, with every line accounted for."""
