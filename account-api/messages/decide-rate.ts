import type { Admission } from '../http/admission.ts';

/** Whether a request passes, and the headers of every answer (management 4.2, 7.3, 8.2). */
export function decideRate({ limit, used }: { limit: number; used: number }): Admission {
  const headers = {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, limit - used)),
  };
  if (used <= limit) return { headers };
  const message = `rate limit exceeded: ${limit} requests per minute`;
  return { headers, error: { code: 'message_rate_exceeded', message } };
}
