"""From a model to the file that ships: the search for the smallest flatbuffer that passes a gate."""
