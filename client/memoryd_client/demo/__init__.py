"""The life of a memory, played in a throwaway home."""
