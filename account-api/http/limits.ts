/** Bodies (management 8.3), bytes. */
export const BODY = { most: 8 * 2 ** 20, query: 2 ** 20, message: 256 * 1024 };

/** How long handlers may take (management 8.4), ms. The listener closes reports earlier. */
export const TIMEOUT = { most: 30_000, report: 45_000 };
