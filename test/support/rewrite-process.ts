/**
 * Rewrites a topic of the stack under test: `node test/support/rewrite-process.ts TOPIC TEXT`
 * replaces the text in the bodies of events.raw by as many x; another topic is copied as it is.
 * With REMOVE it removes the former topic.
 */
import kafkajs from 'kafkajs';
import { removeFormerTopic } from '../../ops/log/rewrite/remove-former.ts';
import { rewriteTopic } from '../../ops/log/rewrite/rewrite.ts';
import type { Transform } from '../../ops/log/rewrite/copy-partition.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { readTopicNamesFrom } from '../../platform/kafka/topic-names.ts';
import { createLog } from '../../platform/log.ts';
import { topicNamesOf } from '../../platform/log/topic-names.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { decodeIfReadable, rawRecordCodec } from '../../schemas/codec.ts';
import { encodeRawBatch, recordsInBatch } from '../../schemas/raw-batch.ts';
import type { Topic } from '../../schemas/topology.ts';
import { stackKafka } from './read-topic.ts';
import { readyStack } from './stack.ts';

const [topic = '', text = ''] = process.argv.slice(2);
const log = createLog({ part: 'rewrite', level: 'warn', to: 'stderr' });
const settings = stackKafka();
const url = readyStack().database_url;
readTopicNamesFrom(() => topicNamesOf({ url, log }));
const database = connectPostgres({ url, log, name: 'ravand-rewrite' });
const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-rewrite')).admin();
await admin.connect();

const erased = (bytes: Buffer) =>
  Buffer.from(bytes.toString('latin1').replaceAll(text, 'x'.repeat(text.length)), 'latin1');
const erasedRecord = (value: Buffer): Buffer => {
  const record = decodeIfReadable(rawRecordCodec, value);
  return record ? rawRecordCodec.encode({ ...record, body: erased(record.body) }) : value;
};
const transform: Transform = ({ key, value }) => {
  if (value === null) return { key, value: Buffer.alloc(0) };
  const batch = recordsInBatch(value);
  if (!batch) return { key, value: erasedRecord(value) };
  const records = batch.map((one) => ({ ...one, value: erasedRecord(one.value) }));
  return { key, value: encodeRawBatch(records) };
};
const { signal } = new AbortController();
const report = (sentence: string) => console.log(sentence);
const request = { topic: topic as Topic, transform, signal, report, timeout: 120_000 };
const servers = { admin, database, settings, log };
const result =
  process.env['REMOVE'] === undefined
    ? await rewriteTopic(servers, request)
    : await removeFormerTopic(servers, request);
console.log(JSON.stringify(result));
await admin.disconnect();
await database.end();
