"""The form that a clarification is answered with: its questions, and which answers fit."""
