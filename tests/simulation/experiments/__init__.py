"""Tests of the experiments: do the papers' shapes come out?"""
