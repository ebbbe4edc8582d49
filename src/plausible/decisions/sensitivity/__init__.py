"""How far a decision hangs on the numbers of its diagram, and why it is the best one."""
