"""What one record can move: sensitivities of the private rules, as corrected."""
