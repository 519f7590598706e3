import { quotaMonth } from '../../events/tehran-time.ts';
import { answer, type Answer } from '../errors.ts';
import type { MemberRequest, Services } from '../routes/route.ts';

/** GET /v1/usage: meters of the Jalali month and of earlier ones, allowances and announcements. */
export async function getUsage(
  { caller, now }: MemberRequest,
  { usage }: Services,
): Promise<Answer> {
  const { key, from, to } = quotaMonth(now);
  const read = await usage.read(caller.account.id);
  return answer({
    month: key,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...read,
  });
}
