import { idAt } from '../clock.ts';
import type { Entry } from '../entry.ts';
import { REPEATABLE_MS } from '../limits.ts';
import { postTo } from '../request.ts';
import { RESPONSE } from '../storage-keys.ts';
import { visitorOf } from './visitor.ts';

interface Response {
  campaign_id: number;
  answers: Record<string, string>;
}

/** What visitors wrote survives the page until the host has it. */
export function openResponses(entry: Entry) {
  /** @returns the status of the answer */
  const post = async (key: string, response: object): Promise<number> => {
    const { status } = await postTo(entry, '/v1/onsite/response', response);
    const isFinal = status > 0 && status < 500 && status !== 429;
    if (isFinal) entry.remove(key);
    return status;
  };
  return {
    /** @returns false: the host refuses the answers */
    async send(response: Response): Promise<boolean> {
      const message_id = idAt(Date.now());
      const kept = { ...response, ...visitorOf(entry), message_id };
      entry.set(RESPONSE + message_id, kept);
      return (await post(RESPONSE + message_id, kept)) !== 400;
    },
    /** Those of earlier pages, until the host cannot be reached. */
    async sendWaiting(): Promise<void> {
      const oldest = RESPONSE + idAt(Date.now() - REPEATABLE_MS);
      for (const key of entry.keys(RESPONSE)) {
        if (!entry.maySend()) return;
        if (key < oldest) entry.remove(key);
        else {
          const status = await post(key, JSON.parse(entry.get(key) ?? '{}') as object);
          if (status === 0 || status === 429 || status > 499) return;
        }
      }
    },
  };
}
