"""Declares operating points: the unfairness of each variant, the choice between all, and its page."""

from tfaudit.extensions import Extension

_HOME = "tfaudit.extensions.operating_points"

EXTENSION = Extension(
    name="operating_points",
    names={
        "operating_points": f"{_HOME}.operating_points:operating_points",
        "audits.trade_offs": f"{_HOME}.operating_points:trade_offs",
        "audits.operating_points": f"{_HOME}.operating_points:operating_points",
        "audits.pareto_shares": f"{_HOME}.operating_points:pareto_shares",
        "audits.OperatingPoints": f"{_HOME}.operating_points:OperatingPoints",
    },
    audits={"unfairness": f"{_HOME}.study_points:UNFAIRNESS"},
    joint_audits={"operating_points": f"{_HOME}.study_points:TRADE_OFFS"},
    pages={"operating_points": f"{_HOME}.page:PAGE"},
)
