"""One model against one."""
