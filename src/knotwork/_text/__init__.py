"""Text analysis for English and Chinese: terms, sentences, names, dates, languages and tokens."""
