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
  return (context) => {
    const { prepare, call } = open(context);
    return {
      call,
      prepare: async (recipients, chunk) => {
        const others = recipients.filter((recipient) => !erased.isErased(chunk, recipient));
        if (others.length === recipients.length) return prepare(recipients, chunk);
        const decided = others.length > 0 ? await prepare(others, chunk) : [];
        const decisions = new Map(others.map((recipient, at) => [recipient, decided[at]]));
        return recipients.map((recipient) => decisions.get(recipient) ?? SKIPPED);
      },
    };
  };
}
