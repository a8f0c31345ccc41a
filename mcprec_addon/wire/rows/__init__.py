"""The rows of the table of model APIs: a module for each family of them."""
