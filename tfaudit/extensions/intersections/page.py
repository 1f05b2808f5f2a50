"""The page of intersections, below that of groups."""

from tfaudit.app.viewer_page import ViewerPage
from tfaudit.extensions.intersections.declaration import INTERSECTIONS

PAGE = ViewerPage("audit_page", INTERSECTIONS.title, ("intersections",), "groups")
