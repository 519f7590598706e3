/**
 * Physical names of topics (log_layout.topics). All code uses logical names; the clients in this
 * folder translate them, so that a topic can be replaced by a rewritten one. One table for the
 * process, read once, before its first connection to Kafka: a change of the names restarts it.
 */
export interface TopicNames {
  /** Physical names by logical ones, where they differ. */
  topics: Readonly<Record<string, string>>;
  /** By logical name, the physical one that groups committed to before. */
  former: Readonly<Record<string, string>>;
}

let source: (() => Promise<TopicNames>) | undefined;
let known: Promise<void> | undefined;
const physical = new Map<string, string>();
const logical = new Map<string, string>();
const former = new Map<string, string>();

/** Sets where the names are read; without it every topic has its logical name. */
export function readTopicNamesFrom(read: () => Promise<TopicNames>): void {
  source = read;
  known = undefined;
}

/** Resolves when the names are known. Rejects when they cannot be read; the next call repeats. */
export function topicNamesKnown(): Promise<void> {
  known ??= read().catch((error: unknown) => {
    known = undefined;
    throw error;
  });
  return known;
}

async function read(): Promise<void> {
  const names = await source?.();
  physical.clear();
  logical.clear();
  former.clear();
  for (const [topic, name] of Object.entries(names?.former ?? {})) former.set(topic, name);
  for (const [topic, name] of Object.entries(names?.topics ?? {})) {
    if (topic === name) continue;
    physical.set(topic, name);
    logical.set(name, topic);
  }
}

/** The name of the topic in Kafka. */
export function physicalTopic(topic: string): string {
  return topic.startsWith(EXACT) ? topic.slice(EXACT.length) : (physical.get(topic) ?? topic);
}

const EXACT = '=';

/** Names a topic of Kafka, whatever logical name it has, to clients that translate. */
export function exactTopic(name: string): string {
  return `${EXACT}${name}`;
}

/** The topic that this one replaced, as long as it is kept; undefined: none. */
export function formerTopic(topic: string): string | undefined {
  return former.get(topic);
}

/** The name by which the code knows a topic of Kafka. */
export function logicalTopic(name: string): string {
  return logical.get(name) ?? name;
}

/** Records of a client with the logical names of their topics, in place. */
export function withLogicalTopics<M extends { topic: string }>(messages: M[]): M[] {
  if (logical.size > 0) for (const message of messages) message.topic = logicalTopic(message.topic);
  return messages;
}
