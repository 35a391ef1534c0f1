"""The window: a robot in the browser, with sliders, screws and playback."""
