"""Tests of the codec: messages to the model of the solver and back."""
