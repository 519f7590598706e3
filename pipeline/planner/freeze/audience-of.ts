import type { Audience } from '../../../audiences/definition.ts';
import { readAudience } from '../../../audiences/read.ts';
import { isJsonObject } from '../../../events/json.ts';

/** The definition of a segment; undefined: the account has no such segment. */
export type FindSegment = (accountId: number, id: number) => Promise<unknown>;

/** Whom a run addresses, or why nobody can say, as a sentence for the account. */
export type AudienceOfRun =
  | { ok: true; audience: Audience; definition: unknown; percent: number }
  | { ok: false; message: string };

/** The audience of a run as it is now: its own definition, or that of its segment. */
export async function audienceOf(
  { accountId, definition }: { accountId: number; definition: unknown },
  findSegment: FindSegment,
): Promise<AudienceOfRun> {
  const fields = isJsonObject(definition) ? definition : {};
  const { segment_id: segmentId, audience: own, control_percent: percent = 0 } = fields;
  if (segmentId === undefined && own === undefined)
    return { ok: false, message: 'The campaign has neither a segment nor an audience.' };
  const sent = segmentId === undefined ? own : await findSegment(accountId, Number(segmentId));
  if (sent === undefined)
    return { ok: false, message: `The segment ${String(segmentId)} does not exist any more.` };
  const outcome = readAudience(sent);
  if (!outcome.ok)
    return { ok: false, message: `The audience cannot be computed: ${outcome.message}` };
  const { root } = outcome.audience;
  return { ok: true, audience: root, definition: sent, percent: Number(percent) };
}
