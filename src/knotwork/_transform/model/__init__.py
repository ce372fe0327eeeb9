"""Extract entities and relations with a language model, in addition to the rules."""
