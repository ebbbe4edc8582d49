"""What a diagram says before it is solved: who relies on whom, what can be spared, forgotten, counted."""
