"""Tests of the codec, which converts messages to the model of the solver and back."""
