"""Parts of a `Store` in the tables of an SQL database, the same for every engine."""
