import type { Admin } from 'kafkajs';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { LogSnapshot, Offsets } from './high-watermark.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

/**
 * Reads the offsets in the order of LogSnapshot. Offsets that are read later can only be higher, so
 * the snapshot never overstates progress.
 */
export async function takeSnapshot(
  admin: Admin,
  now: number,
): Promise<LogSnapshot & { rawStarts: Offsets }> {
  const raw = await topicEnds(admin, TOPIC.raw);
  const rawEnds = new Map(raw.map(({ partition, high }) => [partition, high]));
  const rawStarts = new Map(raw.map(({ partition, low }) => [partition, low]));
  const normaliserCommits = await commits(admin, GROUP.normaliser, TOPIC.raw);
  const normalisedEnds = await ends(admin, TOPIC.normalised);
  const sinkCommits = await commits(admin, GROUP.events, TOPIC.normalised);
  return { at: now, rawStarts, rawEnds, normaliserCommits, normalisedEnds, sinkCommits };
}

async function ends(admin: Admin, topic: string): Promise<Offsets> {
  return new Map((await topicEnds(admin, topic)).map(({ partition, high }) => [partition, high]));
}

async function commits(admin: Admin, group: string, topic: string): Promise<Offsets> {
  return new Map(
    [...(await committedOffsets(admin, group, topic))].map(([partition, offset]) => [
      partition,
      offset ?? 0,
    ]),
  );
}
