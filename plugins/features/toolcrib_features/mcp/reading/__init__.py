"""The plugin that lets tools of trusted servers read unasked."""
