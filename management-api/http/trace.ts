export const TRACE_HEADER = 'x-service-trace';

/**
 * The value of X-Service-Trace for a request: the caller's own when it has 8 to 64 lowercase
 * hexadecimal characters, otherwise `made` (management 7.8).
 */
export function traceOf(sent: string | string[] | undefined, made: () => string): string {
  return typeof sent === 'string' && /^[0-9a-f]{8,64}$/.test(sent) ? sent : made();
}
