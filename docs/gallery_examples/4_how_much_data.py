"""
How many images and members?
============================

Before anything is trained: how wide will the 95 % interval of a class's change be? Here 3 % of the images of a class
are expected to flip, and compressed models are made from the baseline's.
"""

import tfaudit.audits

spread = tfaudit.audits.guessed_spread(flips=0.03, paired=True)
plan = tfaudit.audits.plan(spread, half_width_pp=3)
plan_chart = plan.chart()
plan
