/**
 * By hand a test that hangs should say so soon. In CI the machine may have a fraction of a core
 * left: that a service takes 110 s to start instead of 2 breaks no guarantee.
 */
const TIMES = process.env['CI'] ? 4 : 1;

/** How long a test waits before it fails, ms; `ms` by hand, four times as long in CI. */
export const testTimeout = (ms: number): number => ms * TIMES;
