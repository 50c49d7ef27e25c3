"""Tests of the campaign itself: an oracle that cannot fail proves nothing."""
