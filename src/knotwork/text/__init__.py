"""Text analysis for English and Chinese: terms, sentences, names, languages."""
