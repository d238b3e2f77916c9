"""What several of the builtin file tools share: text, encodings, file types and error words."""
