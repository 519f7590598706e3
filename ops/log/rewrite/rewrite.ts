import { CommandError } from '../../../cli/command.ts';
import { delay, retry } from '../../../platform/backoff.ts';
import { topicEnds } from '../../../platform/kafka/admin.ts';
import { groupMembers } from '../../../platform/kafka/group-members.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import { readWriters } from '../../../platform/log/writers.ts';
import { CONSUMER_GROUPS, type Topic } from '../../../schemas/topology.ts';
import { requireAgreedLog } from '../agreed-log.ts';
import { layoutOf } from '../grow/read-view.ts';
import { CopyDiffers } from './append-at-offsets.ts';
import { ChangeRow, changeOf, type RewriteChange } from './change-row.ts';
import { copyPartition, type Transform } from './copy-partition.ts';
import { createCopy, finishCopy, isOpenCopy } from './copy-settings.ts';
import { nextStep, type RewriteView } from './plan.ts';
import { endsOf, openProducer, type RewriteServers } from './servers.ts';

export interface RewriteRequest {
  topic: Topic;
  /** Called once for each record, or again after a kill: it must answer the same. */
  transform: Transform;
  /** Writers hold at most so long, ms; then they go on, and the next command continues. */
  timeout: number;
  signal: AbortSignal;
  report: (sentence: string) => void;
}

const POLL = 250;

/**
 * Replaces a topic by a copy of it, in which every record is what `transform` makes of it, at the
 * same offset and with the same append time. The history is copied under load; then writers hold,
 * services end, the rest is copied, and the physical name in log_layout changes: services start
 * again, and groups go on from the offsets that they committed. The former topic stays until
 * `removeFormerTopic`. A killed rewrite is continued by the next call for the same topic; plan.ts
 * says why nothing is lost.
 */
export async function rewriteTopic(
  servers: RewriteServers,
  request: RewriteRequest,
): Promise<{ from: string; to: string; records: number }> {
  const row = new ChangeRow(servers.database);
  try {
    return await new Rewrite(servers, request, row).run();
  } catch (error) {
    await row.release().catch(() => undefined);
    throw error;
  } finally {
    row.close();
  }
}

class Rewrite {
  readonly #servers: RewriteServers;
  readonly #request: RewriteRequest;
  readonly #row: ChangeRow;
  #records = 0;
  #waitsSince: number | undefined;
  #reported = '';

  constructor(servers: RewriteServers, request: RewriteRequest, row: ChangeRow) {
    this.#servers = servers;
    this.#request = request;
    this.#row = row;
  }

  async run(): Promise<{ from: string; to: string; records: number }> {
    const { topic, signal } = this.#request;
    for (;;) {
      signal.throwIfAborted();
      const view = await this.#again(() => this.#view());
      const step = nextStep(view);
      if (step.step === 'wait') {
        await this.#wait(step.for);
        continue;
      }
      if (view.layout.phase === 'preparing') this.#waitsSince = undefined;
      if (step.step !== 'switch') {
        await this.#take(step.step, view);
        continue;
      }
      const change = changeOf(view.layout, topic);
      if (!(await this.#switch(change))) continue;
      const { from, to } = change;
      this.#say(`${topic} is ${to} now; ${from} is kept until it is removed`);
      return { from, to, records: this.#records };
    }
  }

  async #take(
    step: 'begin' | 'create' | 'copy' | 'hold' | 'stop',
    { layout }: RewriteView,
  ): Promise<void> {
    const { topic } = this.#request;
    switch (step) {
      case 'begin':
        await requireAgreedLog(this.#servers, [topic]);
        this.#say(`${topic} is copied`);
        return this.#row.begin(topic, layout.topics[topic] ?? topic);
      case 'create':
        return this.#again(() => createCopy(this.#servers.admin, changeOf(layout, topic)));
      case 'copy':
        return this.#copy(changeOf(layout, topic));
      case 'hold':
        this.#say('writers hold new records in their spools');
        return this.#row.setPhase('preparing', 'holding');
      case 'stop':
        this.#say('services end, and start again with the other topic');
        return this.#row.setPhase('holding', 'switching');
    }
  }

  async #wait(missing: readonly string[]): Promise<void> {
    const { timeout, signal } = this.#request;
    this.#waitsSince ??= performance.now();
    this.#say(`waiting for ${missing.join('; for ')}`);
    if (performance.now() - this.#waitsSince > timeout)
      throw new CommandError(
        `it waited too long for ${missing.join('; for ')}. Everything goes on; the same command continues`,
      );
    await delay(POLL, signal);
  }

  #say(sentence: string): void {
    if (sentence !== this.#reported) this.#request.report(sentence);
    this.#reported = sentence;
  }

  /** A server that does not answer for a moment does not end the command: steps may be repeated. */
  #again<T>(step: () => Promise<T>): Promise<T> {
    const { signal } = this.#request;
    const isFinal = (error: unknown) => error instanceof CommandError;
    return retry({ base: 500, cap: 5000, min: 250, attempts: 8, isFinal, signal }, step);
  }

  async #view(): Promise<RewriteView> {
    const { admin, database, settings } = this.#servers;
    const { topic, signal } = this.#request;
    let layout = await layoutOf(this.#servers);
    if (layout.phase === 'steady' && layout.formerTopics[topic])
      throw new CommandError(`the topic that ${topic} replaced is still there: remove it first`);
    if (layout.phase !== 'steady') {
      changeOf(layout, topic);
      await this.#row.take(signal);
      layout = await layoutOf(this.#servers);
    }
    const change = layout.phase === 'steady' ? undefined : changeOf(layout, topic);
    const isCreated = change !== undefined && (await admin.listTopics()).includes(change.to);
    const groups = CONSUMER_GROUPS.map(({ group }) => group);
    const members =
      layout.phase === 'switching' ? await groupMembers(admin, settings, groups) : undefined;
    return {
      layout,
      isCreated,
      writers: await readWriters(database),
      readers: groups.filter((group) => (members?.get(group)?.length ?? 0) > 0),
      left: isCreated ? await this.#left(change) : 0,
    };
  }

  async #left({ from, to }: RewriteChange): Promise<number> {
    const copied = await endsOf(this.#servers.admin, to);
    const ends = await endsOf(this.#servers.admin, from);
    // A copy may have more: it was made before the log went back.
    return [...ends].reduce(
      (sum, [partition, high]) => sum + Math.abs(high - (copied.get(partition) ?? 0)),
      0,
    );
  }

  /** Copies what the topic has now. */
  async #copy({ from, to }: RewriteChange): Promise<void> {
    const { admin, settings } = this.#servers;
    const { topic, transform, signal } = this.#request;
    const producer = await openProducer(this.#servers);
    try {
      if (!(await isOpenCopy(admin, to))) throw new CopyDiffers(`${to} is finished`);
      const copied = await endsOf(admin, to);
      for (const { partition, low, high } of await topicEnds(admin, exactTopic(from))) {
        const done = copied.get(partition) ?? 0;
        if (done > high)
          throw new CopyDiffers(`${from} went back: the copy of partition ${partition} has more`);
        await copyPartition({
          ...{ settings, producer, from, to, partition, low, high, transform, signal },
          copied: done,
          beforeAppend: () => this.#row.requireOwn(),
          progressed: (count) => (this.#records += count),
        });
      }
    } catch (error) {
      if (!(error instanceof CopyDiffers)) throw error;
      // A record of a killed command was appended after the end was read, or the log went back:
      // another copy is made, and meanwhile everything goes on.
      this.#say(`${topic} is copied again: ${error.message}`);
      await this.#row.copyAgain(topic);
      await admin.deleteTopics({ topics: [to] });
    } finally {
      await producer.close(1000);
    }
  }

  /**
   * The heads and settings of the copy are those of the topic, then it takes its place. False when
   * the topic got more records, or services were let go on, meanwhile.
   */
  async #switch(change: RewriteChange): Promise<boolean> {
    const { admin } = this.#servers;
    const { from, to, topic } = change;
    // Before the switch removes what shows that the topic went back.
    await requireAgreedLog(this.#servers, [topic]).catch((error: unknown) =>
      this.#abandon(change, error),
    );
    const heads = (await topicEnds(admin, exactTopic(from))).filter(({ low }) => low > 0);
    if (heads.length > 0)
      await admin.deleteTopicRecords({
        topic: to,
        partitions: heads.map(({ partition, low }) => ({ partition, offset: String(low) })),
      });
    await finishCopy(admin, change);
    if ((await this.#left(change)) > 0) return false;
    // What is behind these ends in the former topic is not copied yet.
    return this.#row.switchTo(change, Object.fromEntries(await endsOf(admin, to)));
  }

  /** Nothing has changed for anybody yet; ./ravand log advance-epoch can run. Always throws. */
  async #abandon({ to }: RewriteChange, error: unknown): Promise<never> {
    if (!(error instanceof CommandError)) throw error;
    await this.#row.abandon();
    await this.#servers.admin.deleteTopics({ topics: [to] });
    throw error;
  }
}
