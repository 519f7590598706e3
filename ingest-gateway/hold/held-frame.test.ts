import { expect, it } from 'vitest';
import type { LogRecord } from '../../ingest/log-record.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { heldRecord, releasedRecords } from './held-frame.ts';

it('a command that was held keeps its partition: the number of those never changes', () => {
  const record: LogRecord = {
    ...{ topic: TOPIC.channelCommands, partition: 7, key: null },
    ...{ value: Buffer.from('command'), accountId: 5, events: 0 },
  };
  expect(releasedRecords(heldRecord(record, 12), 4)).toEqual([record]);
  const outcome = { ...record, topic: TOPIC.outcomes };
  expect(releasedRecords(heldRecord(outcome, 12), 4)).toEqual([{ ...outcome, partition: 1 }]);
});
