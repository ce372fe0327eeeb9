"""What keeps an index whole: backups, repairs, copies, and vectors of another model."""
