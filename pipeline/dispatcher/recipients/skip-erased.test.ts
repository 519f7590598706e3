import { expect, it } from 'vitest';
import type { ChunkRecipient, MessageChunk } from '../../../schemas/records.ts';
import type { ChunkToSend, Decision } from '../worker/ports.ts';
import { skipErased } from './skip-erased.ts';

const CHUNK: MessageChunk = {
  ...{ account_id: 1, campaign_id: 2, run_id: 5, chunk: 0, planned_at: 1, first_key: '' },
  recipients: ['ali', 'sara', 'mina', ''].map((person_id, at) => ({
    ...{ key: `k${at}`, person_id, user_id: person_id, is_control: person_id === 'sara' },
  })),
};

function prepareWith(erased: readonly string[]) {
  const asked: string[][] = [];
  const open = skipErased(
    () =>
      Promise.resolve({
        facts: { templateId: 1, templateVersion: 1, category: 'service' },
        prepare: (recipients) => {
          asked.push(recipients.map(({ person_id }) => person_id));
          const wait = (_: ChunkRecipient, until: number): Decision => ({ kind: 'wait', until });
          return Promise.resolve(recipients.map(wait));
        },
        call: () => Promise.resolve({ kind: 'unknown' }),
      }),
    { isErased: (_, { person_id }) => erased.includes(person_id) },
  );
  const ports = open({} as ChunkToSend);
  return {
    asked,
    decisions: async () => (await ports).prepare(CHUNK.recipients, { chunk: CHUNK }),
  };
}

const skipped = { kind: 'finish', status: 'skipped', reason: 'erased', addressHash: '' };

it('erased people are skipped, also in the control group, and each other one gets their own decision', async () => {
  const { asked, decisions } = prepareWith(['sara', '']);
  expect(await decisions()).toEqual([
    { kind: 'wait', until: 0 },
    skipped,
    { kind: 'wait', until: 1 },
    skipped,
  ]);
  expect(asked).toEqual([['ali', 'mina']]);
});

it('a chunk of erased people only asks nobody', async () => {
  const { asked, decisions } = prepareWith(['ali', 'sara', 'mina', '']);
  expect(await decisions()).toEqual([skipped, skipped, skipped, skipped]);
  expect(asked).toEqual([]);
});
