"""What other tools and habits write into Markdown, read as what it says; each form in a module of its own."""
