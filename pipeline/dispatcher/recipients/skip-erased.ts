import type { SkipReason } from '../../../events/messages/reasons.ts';
import type { ErasedRecipients } from '../../../platform/log/erased-recipients.ts';
import type { Decision, OpenChunkPorts } from '../worker/ports.ts';

const REASON: SkipReason = 'erased';
const SKIPPED: Decision = { kind: 'finish', status: 'skipped', reason: REASON, addressHash: '' };

/** Nothing is looked up about erased people, and nothing is sent to them (docs/erasure.md). */
export function skipErased(
  open: OpenChunkPorts,
  erased: Pick<ErasedRecipients, 'isErased'>,
): OpenChunkPorts {
  return async (context) => {
    const { prepare, ...others } = await open(context);
    return {
      ...others,
      prepare: async (recipients, of) => {
        const asked = recipients.filter((recipient) => !erased.isErased(of.chunk, recipient));
        if (asked.length === recipients.length) return prepare(recipients, of);
        const decided = asked.length > 0 ? await prepare(asked, of) : [];
        const decisions = new Map(asked.map((recipient, at) => [recipient, decided[at]]));
        return recipients.map((recipient) => decisions.get(recipient) ?? SKIPPED);
      },
    };
  };
}
