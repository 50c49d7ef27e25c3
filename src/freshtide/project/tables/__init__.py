"""Tables as users write them, in SQL or Python, and what is to be known of each before it can be updated.

Reading comes first (`sqlfile`, `pythonfile`, `decorators`, `properties`), then names are looked up (`sources`), and a
module for each kind of table says what becomes of it: `base`, `derived`, `latest`. How their rows are computed is in
`spark`, by the way of maintenance that is found here.
"""
