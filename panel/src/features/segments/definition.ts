import type { Operator } from '../../../../audiences/conditions/condition.ts';
import type { FilterText } from '../../shared/report/condition.ts';

export type Value = string | number | boolean | (string | number)[];

export interface Times {
  op: Operator;
  value: number | [number, number];
}

/** What is meant without `times`. */
export const ONCE: Times = { op: 'gte', value: 1 };

export function isOnce({ op, value }: Times): boolean {
  return op === ONCE.op && value === ONCE.value;
}

/** Conditions of the audience language (docs/audiences.md), as the definition writes them. */
export interface TraitNode {
  trait: string;
  op: Operator;
  value?: Value;
}
export interface AttributeNode {
  attribute: string;
  op: Operator;
  value?: Value;
}
export interface EngagementNode {
  engagement: string;
  op?: Operator;
  value?: Value;
}
export interface EventNode {
  event: string;
  did: boolean;
  times?: Times;
  within_days?: number;
  where?: FilterText[];
}
export interface GroupNode {
  /** `all` or `any`, as the definition writes it. */
  all?: Node[];
  any?: Node[];
}
export interface NotNode {
  not: Node;
}
export type Node = TraitNode | AttributeNode | EngagementNode | EventNode | GroupNode | NotNode;

export type NodeKind = 'trait' | 'attribute' | 'engagement' | 'event' | 'group' | 'not';

export function kindOf(node: Node): NodeKind {
  if ('not' in node) return 'not';
  if ('event' in node) return 'event';
  if ('trait' in node) return 'trait';
  if ('attribute' in node) return 'attribute';
  return 'engagement' in node ? 'engagement' : 'group';
}

export function membersOf(group: GroupNode): { of: 'all' | 'any'; members: Node[] } {
  return group.any ? { of: 'any', members: group.any } : { of: 'all', members: group.all ?? [] };
}

export function groupOf(of: 'all' | 'any', members: Node[]): GroupNode {
  return { [of]: members };
}

/** A new condition of a kind. */
export function newNode(kind: Exclude<NodeKind, 'not'>): Node {
  switch (kind) {
    case 'event':
      return { event: '', did: true, within_days: 30 };
    case 'trait':
      return { trait: '', op: 'eq' };
    case 'attribute':
      return { attribute: 'city', op: 'eq' };
    case 'engagement':
      return { engagement: 'active' };
    case 'group':
      return { any: [] };
  }
}

/**
 * The definition without what is not complete yet: what is counted while one builds. Undefined:
 * nothing is complete.
 */
export function completeOf(node: Node): Node | undefined {
  if ('not' in node) {
    const inner = completeOf(node.not);
    return inner && { not: inner };
  }
  if ('event' in node) return node.event === '' ? undefined : node;
  if ('trait' in node) return node.trait === '' || !hasValue(node) ? undefined : node;
  if ('attribute' in node) return hasValue(node) ? node : undefined;
  if ('engagement' in node) return node.op === undefined || hasValue(node) ? node : undefined;
  const { of, members } = membersOf(node);
  const whole = members.flatMap((one) => completeOf(one) ?? []);
  return whole.length === 0 ? undefined : groupOf(of, whole);
}

function hasValue({ op, value }: { op?: Operator; value?: Value }): boolean {
  if (op === 'is_set' || op === 'is_not_set') return true;
  if (Array.isArray(value)) return value.length >= (op === 'between' ? 2 : 1);
  return value !== undefined && value !== '';
}

/** The definition of a URL or of a segment; anything that is none is an empty group. */
export function readDefinition(sent: unknown): GroupNode {
  const node = readNode(sent, 0);
  if (!node) return { all: [] };
  return kindOf(node) === 'group' ? (node as GroupNode) : { all: [node] };
}

const MAX_DEPTH = 8;

function readNode(sent: unknown, depth: number): Node | undefined {
  if (typeof sent !== 'object' || sent === null || depth > MAX_DEPTH) return undefined;
  const fields = sent as Record<string, unknown>;
  for (const of of ['all', 'any'] as const) {
    const members = fields[of];
    if (Array.isArray(members))
      return groupOf(
        of,
        members.flatMap((one) => readNode(one, depth + 1) ?? []),
      );
  }
  if ('not' in fields) {
    const inner = readNode(fields['not'], depth + 1);
    return inner && { not: inner };
  }
  const isCondition = ['event', 'trait', 'attribute', 'engagement'].some(
    (name) => typeof fields[name] === 'string',
  );
  if (!isCondition) return undefined;
  const node: unknown = 'event' in fields ? { ...fields, did: fields['did'] !== false } : fields;
  return node as Node;
}
