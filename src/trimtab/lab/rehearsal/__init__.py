"""A rebuilt cluster and what is planned for it → the course that the same night would take."""
