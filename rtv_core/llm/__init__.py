"""Language models: asked over an OpenAI-compatible server or in this process, counted, cached and parsed."""
