"""ZIP and TAR archives and mailboxes: what is in them, and the bytes of their files."""
