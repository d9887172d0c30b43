"""Dreams: when, over what, with which result, and how to take one back."""
