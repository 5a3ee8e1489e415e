package registry

// Unknown returns the size of the negative cache.
func Unknown(c *Client) int {
	cache := c.cache.Load()
	cache.mu.Lock()
	defer cache.mu.Unlock()
	return len(cache.mu.unknown)
}
