"""Conversations with judged questions: their readers, and the measures of their evidence."""
