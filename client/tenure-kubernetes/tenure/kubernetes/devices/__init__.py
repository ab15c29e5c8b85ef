"""Resource claims of pods: devices that are allocated already."""
