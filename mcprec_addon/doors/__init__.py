"""All input and output: where traffic enters and files are written."""
