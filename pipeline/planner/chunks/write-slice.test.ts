import { expect, it } from 'vitest';
import { personKey } from '../../../events/messages/message-id.ts';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import { writeSlice } from './write-slice.ts';

const recipient = (person_id: string, key = personKey(person_id)): ChunkRecipient => ({
  ...{ key, person_id, user_id: person_id, is_control: false },
});

it('an erased row keeps its place in a chunk, under a key that is no hash of the person', async () => {
  const rows = [recipient('ali'), recipient('', personKey('sara')), recipient('mina')];
  const sorted = rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const chunks: MessageChunk[] = [];
  const checkpoints: object[] = [];
  const outcome = await writeSlice(
    {
      ...{ id: 5, campaignId: 2, accountId: 1, fence: 1, freezeAttempt: 1, chunks: 0, lastKey: '' },
      definition: {},
      frozen: { people: 3, at: 9 },
    },
    {
      store: {
        checkpoint: (_, checkpoint) => {
          checkpoints.push(checkpoint);
          return Promise.resolve(true);
        },
      },
      async *readRecipients() {
        yield await Promise.resolve(sorted);
      },
      publish: (chunk) => Promise.resolve(void chunks.push(chunk)),
      sizes: { chunk: 500, slice: 2 },
    },
    new AbortController().signal,
  );
  expect(outcome).toBe('planned');
  expect(chunks[0]?.recipients.map(({ person_id }) => person_id)).toEqual(
    sorted.map(({ person_id }) => person_id),
  );
  expect(JSON.stringify(chunks)).not.toContain(personKey('sara'));
  expect(checkpoints).toEqual([{ chunks: 1, lastKey: sorted[2]?.key, isPlanned: true }]);
});
