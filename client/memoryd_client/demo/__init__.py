"""The life of a memory, shown in a throwaway home."""
